//! Random sequences over five tenants of one store. Each tenant is compared with an oracle of its
//! own, which knows nothing of the others: so whatever a tenant can notice of another one is a
//! difference.
//!
//! The clocks of the tenants show the same time, so that the same turns create users with the same
//! ids. Positions of the store's log count the events of all tenants; they are compared by their
//! rank among the events of the tenant.
#![expect(clippy::expect_used, reason = "this is how a difference is told")]

use std::{
    collections::BTreeSet,
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use roster_core::{
    Clock as _, Command, Erasure, EventsQuery, Head, Purged, Refusal, Rules, Store, TenantId,
    UserId,
    audit::tenant_subject,
    group::GroupQuery,
    tenant::{TenantAct, TenantCounts},
};
use serde_json::json;
use tokio::time::sleep;

use super::{Pair, one_tenant::OneTenant, positions::Positions};
use crate::{
    Oracle,
    arbitrary::{TenantTurn, Turn, TurnOfFive, Whose, Write},
    conformance::{
        Harness, Image,
        tenants::{change, create, find, name},
    },
};

/// The tenants besides the default one.
const NAMES: [&str; 4] = ["acme", "globex", "initech", "umbrella"];

/// Each tenant gets to know this many ids that only others have generated.
const FOREIGN_IDS: usize = 4;

/// The maximum duration of an erasure, which may wait for the sweep of an earlier purge.
const ERASURE_MAX: Duration = Duration::from_mins(1);

/// Executes these turns on an empty store with five tenants, and on an oracle for each of them, and
/// compares all results.
pub async fn compare_tenants(subject: Arc<dyn Store>, rules: Rules, turns: Vec<TurnOfFive>) {
    let mut five = Five::new(subject, rules).await;
    for turn in turns {
        match turn {
            TurnOfFive::Turn(turn) => five.execute(turn).await,
            TurnOfFive::Restore(index, rejected, turns) => {
                five.delete_and_restore(index, rejected, turns).await;
            }
            TurnOfFive::Purge(index, rejected, turns) => {
                five.purge_and_replace(index, rejected, turns).await;
            }
        }
    }
    five.compare_contents().await;
}

/// A tenant, and the oracle that executes the same commands.
struct Compared {
    id: TenantId,
    /// Its name; the default tenant has none.
    name: Option<&'static str>,
    pair: Pair,
    oracle: Arc<Oracle>,
    is_deleted: bool,
    /// How many ids of other tenants it knows.
    foreign: usize,
}

impl Compared {
    async fn execute(&mut self, turn: Turn) {
        if !self.is_deleted {
            return self.pair.execute(turn).await;
        }
        match turn {
            Turn::Writes(writes) => self.reject(writes).await,
            Turn::Group(step, mark) => {
                let command = self.pair.group_command(*step, mark).await;
                self.reject_commands(command.into_iter().collect()).await;
            }
            // The interfaces read nothing of a deleted tenant.
            Turn::Try(_)
            | Turn::Declare(_)
            | Turn::Elapse(_)
            | Turn::Forget(..)
            | Turn::Walk(_)
            | Turn::WalkDeleted(_)
            | Turn::Pull(_)
            | Turn::TryGroup(_)
            | Turn::WalkGroups(_) => {}
        }
    }

    /// Asserts that writes are rejected, because the tenant was deleted.
    async fn reject(&mut self, writes: Vec<Write>) {
        let commands = self.pair.commands(writes).await;
        self.reject_commands(commands).await;
    }

    async fn reject_commands(&self, commands: Vec<Command>) {
        let answers = self.pair.subject.execute(commands.clone()).await;
        for (answer, command) in answers.into_iter().zip(commands) {
            assert_eq!(answer, Err(Refusal::TenantNotFound), "{command:#?}");
        }
    }

    /// The numbers of users and groups that the oracle has.
    async fn counts(&self) -> TenantCounts {
        let Head { active, suspended, deleted, .. } = self.pair.oracle.head().await;
        let groups = self.pair.oracle.walk_groups(GroupQuery::first(100)).await.len();
        let groups = i64::try_from(groups).unwrap_or(i64::MAX);
        TenantCounts { users: active + suspended, deleted_users: deleted, groups }
    }

    /// Asserts that a purged tenant has only events without records.
    async fn assert_erased(&self) {
        let Image { head, events, users, deleted } = self.pair.subject.image().await;
        assert_eq!((head.active, head.suspended, head.deleted), (0, 0, 0));
        assert_eq!((users, deleted), (Vec::new(), Vec::new()));
        assert!(events.iter().all(|(_, event)| event.record.is_empty()), "{events:#?}");
        assert_eq!(self.pair.subject.walk_groups(GroupQuery::first(100)).await, []);
        for id in &self.pair.known {
            assert_eq!(self.pair.subject.get(*id).await, None);
            assert_eq!(self.pair.subject.get_deleted(*id).await, None);
        }
        let groups = self.pair.subject.groups_of_many(self.pair.known.clone()).await;
        assert!(groups.is_empty(), "{groups:#?}");
    }
}

/// A store with five tenants.
struct Five {
    rules: Rules,
    store: Harness,
    positions: Arc<Positions>,
    tenants: [Compared; 5],
    /// The oracle of a tenant that is purged and not yet erased: its rows are still there.
    purged: Option<Arc<Oracle>>,
}

impl Five {
    async fn new(subject: Arc<dyn Store>, rules: Rules) -> Self {
        let (store, positions) = (Harness::new(subject), Arc::new(Positions::default()));
        let [one, two, three, four] = NAMES;
        let new = async |name| new_tenant(&store, rules, &positions, name).await;
        let tenants = [
            tenant(&store, rules, &positions, (TenantId::DEFAULT, None)).await,
            new(one).await,
            new(two).await,
            new(three).await,
            new(four).await,
        ];
        let five = Self { rules, store, positions, tenants, purged: None };
        five.note_audit_events().await;
        five
    }

    /// Lets the positions know of the events about tenants, which no oracle has.
    async fn note_audit_events(&self) {
        let page = self.store.events_page(EventsQuery::after(0, 10_000)).await;
        assert_eq!(page.reached, page.head, "the whole log");
        let mut events = page.events;
        events.retain(|(_, event)| event.kind.is_audit());
        self.positions.add(TenantId::DEFAULT, &events);
    }

    async fn execute(&mut self, TenantTurn { whose, turn }: TenantTurn) {
        match (turn, whose) {
            // The time and the age of what is kept are those of the whole store.
            (Turn::Elapse(millis), _) => {
                self.store.clock.step(millis);
                for tenant in &self.tenants {
                    tenant.pair.oracle.clock.step(millis);
                }
            }
            (Turn::Forget(keys, events), _) => self.forget(keys, events).await,
            (turn, Whose::One(index)) => self.tenant(index).execute(turn).await,
            (turn, Whose::All) => {
                let [one, two, three, four, five] = &mut self.tenants;
                tokio::join!(
                    one.execute(turn.clone()),
                    two.execute(turn.clone()),
                    three.execute(turn.clone()),
                    four.execute(turn.clone()),
                    five.execute(turn),
                );
            }
        }
        self.share_ids();
    }

    fn tenant(&mut self, index: usize) -> &mut Compared {
        self.tenants.get_mut(index).expect("there are five tenants")
    }

    /// Deletes expired data of all tenants. The log is deleted from its start, up to the first
    /// event of any tenant that is kept.
    async fn forget(&self, keys: i64, events: i64) {
        let before = Pair::outlived(self.store.clock.now(), keys, events);
        let (last, mut expected) = self.positions.forget(before.events_before);
        let oracles = self.tenants.iter().map(|tenant| &tenant.oracle).chain(&self.purged);
        for oracle in oracles {
            expected += oracle.forget_keys(before.keys_before);
        }
        for tenant in &self.tenants {
            tenant.oracle.forget_events(self.positions.rank(tenant.id, last));
        }
        assert_eq!(self.store.forget(before).await, expected);
    }

    /// Lets the tenants know ids of each other, so that commands and queries name them.
    fn share_ids(&mut self) {
        let all: BTreeSet<UserId> =
            self.tenants.iter().flat_map(|tenant| &tenant.pair.known).copied().collect();
        for Compared { pair, foreign, .. } in &mut self.tenants {
            let new = all.iter().filter(|id| !pair.known.contains(id));
            let new: Vec<UserId> = new.take(FOREIGN_IDS - *foreign).copied().collect();
            *foreign += new.len();
            pair.known.extend(new);
        }
    }

    async fn delete_and_restore(
        &mut self,
        index: usize,
        rejected: Vec<Write>,
        turns: Vec<TenantTurn>,
    ) {
        self.delete(index, rejected).await;
        for turn in turns {
            self.execute(turn).await;
        }
        let tenant = self.tenant(index);
        tenant.is_deleted = false;
        let act = TenantAct::Restore(name(tenant.name.unwrap_or_default()));
        change(&self.store, act).await.expect("it is deleted");
        self.note_audit_events().await;
        self.compare_contents().await;
    }

    async fn delete(&mut self, index: usize, rejected: Vec<Write>) {
        let tenant = self.tenant(index);
        tenant.is_deleted = true;
        let act = TenantAct::Delete(name(tenant.name.unwrap_or_default()));
        change(&self.store, act).await.expect("it is there");
        self.note_audit_events().await;
        self.tenant(index).reject(rejected).await;
    }

    /// Purges a tenant, creates another one of the same name, and then erases the old one.
    async fn purge_and_replace(
        &mut self,
        index: usize,
        rejected: Vec<Write>,
        turns: Vec<TenantTurn>,
    ) {
        let (deleted, after) = rejected.split_at(rejected.len() / 3);
        self.delete(index, deleted.to_vec()).await;
        let called = self.tenant(index).name.unwrap_or_default();
        change(&self.store, TenantAct::Purge(name(called))).await.expect("it is deleted");
        self.note_audit_events().await;
        let (purged, erased) = after.split_at(after.len() / 2);
        self.tenant(index).reject(purged.to_vec()).await;
        let mut new = new_tenant(&self.store, self.rules, &self.positions, called).await;
        self.note_audit_events().await;
        let old = self.tenant(index);
        new.pair.known.clone_from(&old.pair.known);
        new.foreign = FOREIGN_IDS;
        let mut old = mem::replace(old, new);
        self.purged = Some(Arc::clone(&old.oracle));
        for turn in turns {
            self.execute(turn).await;
        }
        self.compare_contents().await;
        self.erase(old.id).await;
        self.purged = None;
        old.reject(erased.to_vec()).await;
        old.assert_erased().await;
        self.compare_contents().await;
    }

    async fn erase(&self, tenant: TenantId) {
        let store = self.store.store();
        let pending = store.pending_erasures().await.expect("the store answers");
        let about = Purged { tenant: TenantId::DEFAULT, user: Some(tenant_subject(tenant)) };
        let purged = [about, Purged { tenant, user: None }];
        assert_eq!(pending, purged);
        let began = Instant::now();
        for purged in purged {
            while store.erase(purged).await.expect("the store answers") != Erasure::Done {
                assert!(began.elapsed() < ERASURE_MAX, "{purged:?} takes too long");
                sleep(Duration::from_millis(1)).await;
            }
        }
        assert_eq!(store.pending_erasures().await.expect("the store answers"), []);
    }

    /// Compares the complete contents of all tenants, and the counters of the store.
    async fn compare_contents(&self) {
        let position = self.positions.last_without_gap();
        let mut totals = Head { position, active: 0, suspended: 0, deleted: 0 };
        for tenant in &self.tenants {
            tenant.pair.compare_contents().await;
            let head = tenant.pair.oracle.head().await;
            totals.active += head.active;
            totals.suspended += head.suspended;
            totals.deleted += head.deleted;
            if let Some(name) = tenant.name {
                let (found, counts) = find(&self.store, name).await.expect("it is there");
                assert_eq!((found.id, counts), (tenant.id, tenant.counts().await), "{name}");
            }
        }
        assert_eq!(self.store.store().totals().await.expect("the store answers"), totals);
    }
}

async fn new_tenant(
    store: &Harness,
    rules: Rules,
    positions: &Arc<Positions>,
    name: &'static str,
) -> Compared {
    let id = create(store, json!({"name": name})).await.id;
    tenant(store, rules, positions, (id, Some(name))).await
}

/// A tenant that has the groups that filters name, and no users.
async fn tenant(
    store: &Harness,
    rules: Rules,
    positions: &Arc<Positions>,
    (id, name): (TenantId, Option<&'static str>),
) -> Compared {
    let handle = store.store().of_tenant(id).await.expect("the store answers");
    let subject = Arc::new(OneTenant::new(handle, id, Arc::clone(positions)));
    let oracle = Arc::new(Oracle::new(rules));
    let mut pair = Pair::with(subject, Arc::clone(&oracle));
    pair.oracle.clock.set(store.clock.now());
    pair.create_groups().await;
    Compared { id, name, pair, oracle, is_deleted: false, foreign: 0 }
}
