//! Rounds of housekeeping, with a clock that the test sets.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use roster::housekeeping::{Housekeeping, Retention, Round};
use roster_core::{
    Directory, Draft, Event, EventKind, EventsQuery, Guard, Idempotency, Mode, Preconditions,
    Rules, TenantName, Terms, UserId,
    access::{AuditView, ReadDeletedUsers},
    json,
    list::DeletedQuery,
    tenant::{TenantAct, TenantDraft},
};
use roster_http::{Duty, HousekeepingMetrics};
use roster_testkit::{Oracle, TestClock};

use super::{
    failing::Failing,
    store::{caller, may, terms},
};

const DAY: Duration = Duration::from_hours(24);

/// A directory on a store that can fail, and its clock.
pub(crate) struct Harness {
    pub(crate) directory: Directory,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) store: Arc<Failing>,
}

impl Harness {
    pub(crate) fn new(rules: Rules) -> Self {
        let clock = Arc::new(TestClock::new());
        let store = Arc::new(Failing::new(Oracle::new(rules)));
        let directory = Directory::new(store.clone(), clock.clone());
        Self { directory, clock, store }
    }

    /// Housekeeping after its first round.
    pub(crate) async fn housekeeping(&self, deleted: Option<Duration>) -> Housekeeping {
        let keep = Retention { deleted, events: Some(10 * DAY) };
        self.keeping(keep, HousekeepingMetrics::default()).await
    }

    /// Housekeeping with these retention times, after its first round.
    pub(crate) async fn keeping(
        &self,
        keep: Retention,
        metrics: HousekeepingMetrics,
    ) -> Housekeeping {
        let mut housekeeping = Housekeeping::new(self.directory.clone(), keep, metrics);
        assert_eq!(housekeeping.round().await, Round::default());
        housekeeping
    }

    pub(crate) fn elapse(&self, time: Duration) {
        self.clock.elapse(time);
    }

    pub(crate) async fn create(&self, username: &str) -> UserId {
        let body = format!(r#"{{"username":"{username}"}}"#);
        let draft = Draft::parse(json::read(body.as_bytes()).unwrap());
        self.directory.create(may(), draft, terms()).await.unwrap().stored.id
    }

    pub(crate) async fn delete(&self, id: UserId) {
        let version = self.directory.get(may(), id).await.unwrap().unwrap().version;
        let mut terms = terms();
        terms.preconditions.if_match = Some(roster_core::Tags::Versions(vec![version]));
        self.directory.delete(may(), id, terms).await.unwrap();
    }

    pub(crate) async fn deleted(&self) -> Vec<UserId> {
        let page = self
            .directory
            .list_deleted(may::<ReadDeletedUsers>(), DeletedQuery::first(2000))
            .await
            .unwrap();
        page.items.into_iter().map(|deleted| deleted.stored.id).collect()
    }

    pub(crate) async fn events(&self) -> Vec<Event> {
        let page = self
            .directory
            .events(may(), AuditView::Nothing, EventsQuery::after(0, 10_000))
            .await
            .unwrap();
        page.events.into_iter().map(|(_, event)| event).collect()
    }
}

fn purged(purged: u64) -> Round {
    Round { purged, ..Round::default() }
}

#[tokio::test]
async fn deleted_users_are_purged_when_their_time_is_over_and_not_before() {
    let harness = Harness::new(Rules::default());
    let (ada, eve, kept) =
        (harness.create("ada").await, harness.create("eve").await, harness.create("kept").await);
    harness.delete(eve).await;
    harness.elapse(DAY);
    harness.delete(ada).await;
    let mut housekeeping = harness.housekeeping(Some(3 * DAY)).await;
    harness.elapse(2 * DAY);
    assert_eq!(housekeeping.round().await, purged(0), "three days are over at their end");
    harness.elapse(Duration::from_millis(1));
    assert_eq!(housekeeping.round().await, purged(1));
    assert_eq!(harness.deleted().await, [ada]);
    harness.elapse(DAY);
    assert_eq!(housekeeping.round().await, purged(1));
    assert_eq!(housekeeping.round().await, purged(0));
    assert!(harness.deleted().await.is_empty());
    assert!(harness.directory.get(may(), kept).await.unwrap().is_some());

    let events = harness.events().await;
    let purges: Vec<&Event> =
        events.iter().filter(|event| event.kind == EventKind::Purged).collect();
    let ids: Vec<UserId> = purges.iter().map(|event| event.user_id).collect();
    assert_eq!(ids, [eve, ada], "the first to leave goes first");
    for event in purges {
        assert_eq!((event.actor.as_str(), event.request_id.as_str()), ("system", "housekeeping"));
    }
    for event in events {
        assert_eq!(event.record.is_empty(), event.user_id != kept, "their history is emptied");
    }
}

#[tokio::test]
async fn what_is_kept_for_good_is_never_purged() {
    let harness = Harness::new(Rules::default());
    let ada = harness.create("ada").await;
    harness.delete(ada).await;
    let keep = Retention { deleted: None, events: None };
    let mut housekeeping = harness.keeping(keep, HousekeepingMetrics::default()).await;
    harness.elapse(100_000 * DAY);
    assert_eq!(housekeeping.round().await, Round::default());
    assert_eq!(harness.deleted().await, [ada]);
    assert_eq!(harness.events().await.len(), 2);
}

#[tokio::test]
async fn a_guard_on_deletes_does_not_keep_housekeeping_out() {
    let harness = Harness::new(Rules { delete: Guard::On, ..Rules::default() });
    let ada = harness.create("ada").await;
    harness.delete(ada).await;
    let mut housekeeping = harness.housekeeping(Some(DAY)).await;
    harness.elapse(2 * DAY);
    assert_eq!(housekeeping.round().await, purged(1));
}

#[tokio::test]
async fn a_round_purges_so_many_and_the_next_goes_on() {
    let harness = Harness::new(Rules::default());
    let mut ids = Vec::new();
    for n in 0..1100 {
        ids.push(harness.create(&format!("u{n}")).await);
    }
    for id in &ids {
        harness.delete(*id).await;
        harness.elapse(Duration::from_millis(1));
    }
    let mut housekeeping = harness.housekeeping(Some(DAY)).await;
    harness.elapse(2 * DAY);
    assert_eq!(housekeeping.round().await, Round { is_more_due: true, ..purged(1000) });
    let mut left = harness.deleted().await;
    left.reverse();
    assert_eq!(left, ids[1000..]);
    assert_eq!(housekeeping.round().await, purged(100));
}

#[tokio::test]
async fn deleted_users_of_every_tenant_are_purged() {
    let harness = Harness::new(Rules::default());
    let mut tenants = vec![harness.directory.clone()];
    for name in ["acme", "empty", "globex"] {
        let name = TenantName::parse(name);
        let act = TenantAct::Create(TenantDraft { name, ..TenantDraft::default() });
        let created = harness.directory.change_tenant(
            may(),
            act,
            Preconditions::default(),
            Mode::Write,
            caller(),
        );
        let id = created.await.unwrap().tenant.id;
        tenants.push(harness.directory.of_tenant(id).await.unwrap());
    }
    tenants.remove(2);
    for tenant in &tenants {
        for n in 0..400 {
            let body = format!(r#"{{"username":"u{n}"}}"#);
            let draft = Draft::parse(json::read(body.as_bytes()).unwrap());
            let id = tenant.create(may(), draft, terms()).await.unwrap().stored.id;
            tenant.delete(may(), id, terms()).await.unwrap();
        }
    }
    let mut housekeeping = harness.housekeeping(Some(DAY)).await;
    harness.elapse(2 * DAY);
    // This is half of the users of the last tenant.
    assert_eq!(housekeeping.round().await, Round { is_more_due: true, ..purged(1000) });
    assert_eq!(housekeeping.round().await, purged(200));
    for tenant in tenants {
        let page = tenant.list_deleted(may::<ReadDeletedUsers>(), DeletedQuery::first(10)).await;
        assert!(page.unwrap().items.is_empty());
    }
}

#[tokio::test]
async fn rounds_follow_each_other_while_users_are_due() {
    let harness = Harness::new(Rules::default());
    for n in 0..2500 {
        let id = harness.create(&format!("u{n}")).await;
        harness.delete(id).await;
    }
    let housekeeping = harness.housekeeping(Some(DAY)).await;
    harness.elapse(2 * DAY);
    let began = Instant::now();
    let task = tokio::spawn(housekeeping.run());
    while !harness.deleted().await.is_empty() {
        // The interval between two rounds is a minute if nothing more is due.
        assert!(began.elapsed() < Duration::from_secs(50), "a round waits for the next minute");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    task.abort();
}

#[tokio::test]
async fn events_and_idempotency_keys_are_forgotten_when_their_time_is_over() {
    let harness = Harness::new(Rules::default());
    let draft = || Draft::parse(json::read(br#"{"username":"ada"}"#).unwrap());
    let twice =
        Terms { idempotency: Some(Idempotency { key: [1; 32], fingerprint: [2; 32] }), ..terms() };
    let created = harness.directory.create(may(), draft(), twice.clone()).await.unwrap();
    let mut housekeeping = harness.housekeeping(None).await;
    harness.elapse(Duration::from_hours(23));
    assert_eq!(housekeeping.round().await, Round::default());
    assert!(harness.directory.create(may(), draft(), twice.clone()).await.unwrap().replayed);
    harness.elapse(Duration::from_hours(1) + Duration::from_millis(1));
    assert_eq!(housekeeping.round().await, Round { forgotten: 1, ..Round::default() });
    assert!(
        harness.directory.create(may(), draft(), twice).await.is_err(),
        "the name is taken by now"
    );

    harness.elapse(5 * DAY);
    harness.create("eve").await;
    harness.elapse(4 * DAY);
    assert_eq!(housekeeping.round().await, Round { forgotten: 1, ..Round::default() });
    let page = harness
        .directory
        .events(may(), AuditView::Nothing, EventsQuery::after(0, 10))
        .await
        .unwrap();
    assert_eq!((page.oldest, page.head), (2, 2));
    assert!(harness.directory.get(may(), created.stored.id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_store_that_fails_ends_neither_the_round_nor_the_task() {
    let harness = Harness::new(Rules::default());
    let ada = harness.create("ada").await;
    harness.delete(ada).await;
    let mut housekeeping = harness.housekeeping(Some(Duration::from_secs(1))).await;
    harness.elapse(Duration::from_hours(12));
    harness.store.fail(true);
    let failed = Round { failed: 2, ..Round::default() };
    assert_eq!(housekeeping.round().await, failed, "both duties are tried");
    // The task itself, which runs every second for such short retention times.
    let task = tokio::spawn(housekeeping.run());
    let begun = harness.store.failures();
    while harness.store.failures() < begun + 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(harness.deleted().await, [ada]);
    harness.store.fail(false);
    while !harness.deleted().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!task.is_finished());
    task.abort();
}

#[tokio::test]
async fn a_user_whose_purge_fails_is_skipped_and_tried_again() {
    let harness = Harness::new(Rules::default());
    let mut ids = Vec::new();
    for name in ["ada", "eve", "bob"] {
        let id = harness.create(name).await;
        harness.delete(id).await;
        harness.elapse(Duration::from_millis(1));
        ids.push(id);
    }
    let (keep, metrics) = (Some(DAY), HousekeepingMetrics::default());
    let keep = Retention { deleted: keep, events: Some(DAY) };
    let mut housekeeping = harness.keeping(keep, metrics.clone()).await;
    harness.store.damage([ids[0]]);
    harness.elapse(DAY + Duration::from_secs(90));
    let round = housekeeping.round().await;
    assert_eq!(round, Round { forgotten: 6, failed: 1, ..purged(2) }, "all duties are done");
    assert_eq!(harness.deleted().await, [ids[0]]);
    assert_eq!(metrics.failures(Duty::DeletedUsers), 1);
    assert_eq!((metrics.lag(Duty::DeletedUsers), metrics.lag(Duty::Events)), (90, 0));
    harness.store.damage([]);
    assert_eq!(housekeeping.round().await, purged(1));
    assert_eq!(metrics.lag(Duty::DeletedUsers), 0);
}

#[tokio::test]
async fn many_users_whose_purge_fails_do_not_hold_up_those_behind_them() {
    let harness = Harness::new(Rules::default());
    let mut ids = Vec::new();
    for n in 0..40 {
        let id = harness.create(&format!("u{n}")).await;
        harness.delete(id).await;
        harness.elapse(Duration::from_millis(1));
        ids.push(id);
    }
    let mut housekeeping = harness.housekeeping(Some(DAY)).await;
    harness.store.damage(ids[..25].iter().copied());
    harness.elapse(2 * DAY);
    let mut purges = Vec::new();
    for _ in 0..4 {
        let Round { purged, failed, .. } = housekeeping.round().await;
        purges.push((purged, failed));
    }
    assert_eq!(purges, [(0, 10), (0, 10), (15, 5), (0, 10)], "the fourth begins at the oldest");
}
