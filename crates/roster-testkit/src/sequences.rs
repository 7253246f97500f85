//! Random sequences: a store and the oracle execute the same turns and must return the same.
//!
//! The comparison covers each outcome and refusal, every page with its position and total, and at
//! the end the complete contents: head, log and users. The log must replay to the users.
#![expect(clippy::missing_panics_doc, reason = "a difference panics; that is its purpose")]

use std::{collections::BTreeSet, sync::Arc};

use roster_core::{
    Clock as _, Command, Draft, EventsPage, EventsQuery, GroupId, Json, Outlived, Preconditions,
    Rules, SchemaDraft, Store, Stored, Tags, Target, Timestamp, UserAct, UserId, UserSchema,
    group::{GroupAct, GroupDraft, StatedKinds},
    list::{DeletedQuery, PageQuery},
};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::{
    Oracle,
    arbitrary::{GROUP_IDS, GROUP_NAMES, Held, Step, Turn, Whom, Write},
    conformance::{
        Harness, Image,
        groups::assert_replays,
        harness::{Conditional, deleting, only_if, purging, restoring, tree},
    },
    replay::replay,
};

mod groups;
mod one_tenant;
mod positions;
pub mod tenants;

/// Executes these turns on an empty store and on the oracle, and compares all results.
pub async fn compare(subject: Arc<dyn Store>, rules: Rules, turns: Vec<Turn>) {
    let mut pair = Pair::new(subject, rules);
    for turn in turns {
        pair.execute(turn).await;
    }
    pair.compare_contents().await;
}

/// A store and the oracle, which execute the same commands.
pub struct Pair {
    /// The commands of both use the clock of this harness.
    oracle: Harness,
    subject: Harness,
    known: Vec<UserId>,
    groups: Vec<GroupId>,
}

impl Pair {
    /// An empty store and an empty oracle.
    pub fn new(subject: Arc<dyn Store>, rules: Rules) -> Self {
        Self::with(subject, Arc::new(Oracle::new(rules)))
    }

    fn with(subject: Arc<dyn Store>, oracle: Arc<Oracle>) -> Self {
        Self {
            oracle: Harness::new(oracle),
            subject: Harness::new(subject),
            known: Vec::new(),
            groups: Vec::new(),
        }
    }

    async fn execute(&mut self, turn: Turn) {
        match turn {
            Turn::Writes(writes) => self.write(writes).await,
            Turn::Declare(body) => self.declare(&body, true).await,
            Turn::Try(write) => self.preview(*write).await,
            Turn::Elapse(millis) => self.oracle.clock.step(millis),
            Turn::Forget(keys, events) => self.forget(keys, events).await,
            Turn::Walk(question) => {
                self.walk(question.query(&self.known, &self.schema())).await;
            }
            Turn::WalkDeleted(question) => self.walk_deleted(question.query(&self.known)).await,
            Turn::Pull(question) => self.pull(question.query(&self.known)).await,
            Turn::Group(step, mark) => self.write_group(*step, mark).await,
            Turn::TryGroup(step) => self.preview_group(*step).await,
            Turn::WalkGroups(question) => self.walk_groups(&question).await,
        }
    }

    /// Creates the groups that filters name, each with some of the users.
    pub(crate) async fn create_groups(&mut self) {
        for (nth, (id, name)) in GROUP_IDS.iter().zip(GROUP_NAMES).enumerate() {
            let id = GroupId::from_bytes(*id);
            self.groups.push(id);
            let draft = Box::new(GroupDraft::of(Some((*name).to_owned()), None));
            let some = self.known.iter().skip(nth).step_by(nth + 2).copied();
            let mut members = BTreeSet::new();
            for user in some {
                members.extend(self.oracle.get(user).await.map(|user| user.id));
            }
            let command = self.oracle.command(GroupAct::Create {
                id,
                draft,
                members,
                kinds: StatedKinds::new(),
                otherwise: None,
            });
            for harness in [&self.oracle, &self.subject] {
                let outcomes = harness.execute(vec![command.clone()]).await;
                assert!(matches!(*outcomes, [Ok(_)]), "{outcomes:?}");
            }
        }
    }

    /// The schema of the subject. The oracle has the same, but other statuses of its indexes.
    pub(crate) fn schema(&self) -> Arc<UserSchema> {
        self.subject.store().schema()
    }

    /// Replaces the schema of users in both, and builds its indexes. If they need not be complete,
    /// only the first steps are executed, unless a value must be unique: then the results of writes
    /// would depend on the steps.
    pub(crate) async fn declare(&self, body: &Value, is_complete: bool) {
        // So that both give new indexes the same numbers.
        self.subject.build_indexes(usize::MAX).await;
        let command = self.oracle.command(SchemaDraft::parse(tree(body)));
        let answers = self.subject.execute(vec![command.clone()]).await;
        assert_eq!(answers, self.oracle.execute(vec![command]).await, "{body}");
        self.oracle.build_indexes(usize::MAX).await;
        let is_complete = is_complete || self.schema().indexes.iter().any(|index| index.unique);
        self.subject.build_indexes(if is_complete { usize::MAX } else { 2 }).await;
        if is_complete {
            let [subject, oracle] = [&self.subject, &self.oracle].map(|one| one.store().schema());
            assert_eq!(subject, oracle, "{body}");
        }
    }

    /// All ids that were ever generated.
    pub fn known(&self) -> &[UserId] {
        &self.known
    }

    /// Executes the same batch on both.
    pub async fn write(&mut self, writes: Vec<Write>) {
        let commands = self.commands(writes).await;
        let answers = self.subject.execute(commands.clone()).await;
        let expected = self.oracle.execute(commands.clone()).await;
        assert_eq!(answers, expected, "{commands:#?}");
        self.compare_users().await;
    }

    /// Compares every user that has or had an id, read at the same time.
    async fn compare_users(&self) {
        let read = |id: UserId| {
            let subject = self.subject.clone();
            async move { (id, subject.get(id).await, subject.get_deleted(id).await) }
        };
        let reads: JoinSet<_> = self.known.iter().map(|id| read(*id)).collect();
        for (id, live, deleted) in reads.join_all().await {
            assert_eq!(live, self.oracle.get(id).await, "{id}");
            assert_eq!(deleted, self.oracle.get_deleted(id).await, "{id}");
        }
    }

    async fn preview(&mut self, write: Write) {
        if let Some(command) = self.command(write).await {
            self.preview_command(command).await;
        }
    }

    async fn preview_command(&self, command: Command) {
        let answer = self.subject.preview_command(command.clone()).await;
        let expected = self.oracle.preview_command(command.clone()).await;
        assert_eq!(answer, expected, "{command:#?}");
        assert_eq!(self.subject.head().await, self.oracle.head().await, "nothing is stored");
    }

    async fn forget(&self, keys: i64, events: i64) {
        let before = Self::outlived(self.oracle.clock.now(), keys, events);
        assert_eq!(self.subject.forget(before).await, self.oracle.forget(before).await);
    }

    /// The times before which records, and events, have expired if they are kept so long.
    fn outlived(now: Timestamp, keys: i64, events: i64) -> Outlived {
        let now = now.as_millis();
        Outlived {
            keys_before: Timestamp::from_millis(now - keys),
            events_before: Timestamp::from_millis(now - keys - events),
        }
    }

    async fn commands(&mut self, writes: Vec<Write>) -> Vec<Command> {
        let mut commands = Vec::with_capacity(writes.len());
        for write in writes {
            commands.extend(self.command(write).await);
        }
        commands
    }

    async fn command(&mut self, Write { step, mark }: Write) -> Option<Command> {
        let act = self.act(step).await?;
        Some(Command { idempotency: mark.map(Into::into), ..self.oracle.command(act) })
    }

    async fn act(&mut self, step: Step) -> Option<Conditional> {
        let draft = |body: Json| Box::new(Draft::parse(body));
        Some(match step {
            Step::Create(body, upsert) => {
                let id = self.oracle.new_id();
                self.known.push(id);
                let draft = Box::new(Draft::parse_mergeable(body));
                UserAct::Create { id, draft, upsert }.into()
            }
            Step::Replace(whom, body, preconditions) => {
                let (id, preconditions) = self.whom(Target::Live, whom, preconditions).await?;
                only_if(UserAct::Replace { id, draft: draft(body) }, preconditions)
            }
            Step::Patch(whom, body, preconditions) => {
                let (id, preconditions) = self.whom(Target::Live, whom, preconditions).await?;
                only_if(UserAct::Patch { id, patch: Arc::new(body) }, preconditions)
            }
            Step::Delete(whom, preconditions) => {
                let (id, preconditions) = self.whom(Target::Live, whom, preconditions).await?;
                only_if(deleting(id), preconditions)
            }
            Step::Restore(whom, preconditions) => {
                let (id, preconditions) = self.whom(Target::Deleted, whom, preconditions).await?;
                only_if(restoring(id), preconditions)
            }
            Step::Purge(whom, preconditions) => {
                let (id, preconditions) = self.whom(Target::Deleted, whom, preconditions).await?;
                only_if(purging(id), preconditions)
            }
        })
    }

    /// The user of a step and its precondition; `None` while there are no users.
    async fn whom(
        &self,
        target: Target,
        whom: Whom,
        preconditions: Held,
    ) -> Option<(UserId, Preconditions)> {
        let mut there = Vec::new();
        for id in &self.known {
            there.extend(self.stored(target, *id).await.map(|stored| stored.id));
        }
        let (index, ids) = match whom {
            Whom::There(index) if !there.is_empty() => (index, &there),
            Whom::There(index) | Whom::Anybody(index) => (index, &self.known),
        };
        if ids.is_empty() {
            return None;
        }
        let id = *index.get(ids);
        let version = self.stored(target, id).await.map_or(1, |stored| stored.version);
        Some((id, Self::preconditions_at(version, preconditions)))
    }

    fn preconditions_at(version: i64, preconditions: Held) -> Preconditions {
        let versions = |version| Some(Tags::Versions(vec![version]));
        let (if_match, if_none_match) = match preconditions {
            Held::Nothing => (None, None),
            Held::Current => (versions(version), None),
            Held::Stale => (versions(version - 1), None),
            Held::Any => (Some(Tags::Any), None),
            Held::NotCurrent => (None, versions(version)),
        };
        Preconditions { if_match, if_none_match }
    }

    async fn stored(&self, target: Target, id: UserId) -> Option<Stored> {
        match target {
            Target::New => None,
            Target::Live => self.oracle.get(id).await,
            Target::Deleted => self.oracle.get_deleted(id).await.map(|deleted| deleted.stored),
        }
    }

    /// Reads a list from both, page by page. Returns how many users it has.
    pub async fn walk(&self, mut query: PageQuery) -> usize {
        if query.limit > 0 {
            let (examined_max, bytes_max, comparisons_max) = (3, 700, 30);
            let short = PageQuery { examined_max, bytes_max, comparisons_max, ..query.clone() };
            let users = self.subject.walk(short).await;
            assert_eq!(
                users,
                self.oracle.walk(query.clone()).await,
                "with few examined rows: {query:?}"
            );
        }
        let mut shown = 0;
        loop {
            let page = self.subject.page(query.clone()).await;
            assert_eq!(page, self.oracle.page(query.clone()).await, "{query:?}");
            shown += page.items.len();
            match page.next {
                Some(next) => query.after = Some(next),
                None => return shown,
            }
        }
    }

    async fn walk_deleted(&self, mut query: DeletedQuery) {
        loop {
            let page = self.subject.deleted_page(query.clone()).await;
            assert_eq!(page, self.oracle.deleted_page(query.clone()).await, "{query:?}");
            match page.next {
                Some(next) => query.after = Some(next),
                None => return,
            }
        }
    }

    /// Reads the log from both. How far a page reaches may differ between engines, as long as no
    /// event is omitted. So the first page is compared, and then all events together.
    async fn pull(&self, query: EventsQuery) {
        let page = self.subject.events_page(query.clone()).await;
        let expected = self.oracle.events_page(query.clone()).await;
        let EventsPage { head, oldest, .. } = expected;
        assert_eq!((page.head, page.oldest), (head, oldest), "{query:?}");
        assert_eq!(page.events, expected.events, "{query:?}");
        let short = EventsQuery { examined_max: 2, ..query.clone() };
        for query in [query, short] {
            let events = pulled(&self.subject, query.clone()).await;
            assert_eq!(events, pulled(&self.oracle, query.clone()).await, "{query:?}");
        }
    }

    /// Compares the complete contents of both.
    pub async fn compare_contents(&self) {
        self.compare_users().await;
        self.compare_groups().await;
        let image = self.subject.image().await;
        assert_eq!(image, self.oracle.image().await, "head, log and users");
        let Image { events, users, head, .. } = image;
        // A log whose first events were deleted replays to fewer users.
        let whole = events.iter().map(|(position, _)| *position).eq(1..=head.position);
        if whole {
            assert_replays(&self.subject).await;
            let replayed = replay(events.into_iter().map(|(_, event)| event));
            let replayed: Vec<_> = replayed.into_values().collect();
            assert_eq!(replayed, users, "the log replays to the users");
        }
    }
}

async fn pulled(harness: &Harness, mut query: EventsQuery) -> Vec<(i64, roster_core::Event)> {
    let mut events = Vec::new();
    loop {
        let page = harness.events_page(query.clone()).await;
        events.extend(page.events);
        if page.reached == page.head {
            return events;
        }
        assert!(page.reached > query.after, "a page makes progress: {query:?}");
        query.after = page.reached;
    }
}
