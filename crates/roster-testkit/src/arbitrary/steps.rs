//! Random turns: batches of writes, dry runs, changes of the clock, and queries in between.

use proptest::{
    arbitrary::any,
    collection::vec,
    option, prop_oneof,
    sample::{Index, select},
    strategy::{BoxedStrategy, Just, Strategy},
};
use roster_core::{Idempotency, Json, MatchBy, OnConflict, Upsert, limits::IDEMPOTENCY_KEEP_MS};

use super::{
    bodies::{body, newcomer},
    groups::{GroupQuestion, GroupStep, group_question, group_step},
    preconditions::{Held, held},
    questions::{
        DeletedQuestion, EventsQuestion, Question, deleted_question, events_question, question,
    },
    schema::schema,
};

/// The user that a write changes.
#[derive(Clone, Debug)]
pub enum Whom {
    /// One of the users that the write can apply to (live or deleted), as an index into them.
    There(Index),
    /// Any id that was ever generated, as an index into them.
    Anybody(Index),
}

/// A write of a user.
#[derive(Clone, Debug)]
pub enum Step {
    /// Create a user.
    Create(Json, Upsert),
    /// Replace a user.
    Replace(Whom, Json, Held),
    /// Patch a user.
    Patch(Whom, Json, Held),
    /// Delete a user.
    Delete(Whom, Held),
    /// Restore a deleted user.
    Restore(Whom, Held),
    /// Purge a deleted user.
    Purge(Whom, Held),
}

/// A random write of a user.
pub fn step() -> BoxedStrategy<Step> {
    let on_conflict = prop_oneof![
        2 => Just(OnConflict::Fail),
        1 => Just(OnConflict::Skip),
        2 => Just(OnConflict::Replace),
        2 => Just(OnConflict::Merge),
    ];
    let match_by = prop_oneof![2 => Just(MatchBy::Unique), 1 => Just(MatchBy::ExternalId)];
    let upsert = (on_conflict, match_by)
        .prop_map(|(on_conflict, match_by)| Upsert { on_conflict, match_by });
    let whom = || {
        prop_oneof![
            8 => any::<Index>().prop_map(Whom::There),
            1 => any::<Index>().prop_map(Whom::Anybody),
        ]
    };
    prop_oneof![
        6 => (newcomer(), upsert).prop_map(|(body, upsert)| Step::Create(body, upsert)),
        3 => (whom(), body(), held()).prop_map(|(whom, body, h)| Step::Replace(whom, body, h)),
        3 => (whom(), body(), held()).prop_map(|(whom, body, h)| Step::Patch(whom, body, h)),
        2 => (whom(), held()).prop_map(|(whom, held)| Step::Delete(whom, held)),
        1 => (whom(), held()).prop_map(|(whom, held)| Step::Restore(whom, held)),
        1 => (whom(), held()).prop_map(|(whom, held)| Step::Purge(whom, held)),
    ]
    .boxed()
}

/// An idempotency key with the fingerprint of its request. There are few keys, and most share one
/// fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    key: u8,
    fingerprint: u8,
}

impl From<Mark> for Idempotency {
    fn from(Mark { key, fingerprint }: Mark) -> Self {
        Self { key: [key; 32], fingerprint: [fingerprint; 32] }
    }
}

/// A write, perhaps with an idempotency key.
#[derive(Clone, Debug)]
pub struct Write {
    /// The write.
    pub step: Step,
    /// Its idempotency key.
    pub mark: Option<Mark>,
}

fn mark() -> BoxedStrategy<Option<Mark>> {
    let mark = (0_u8..6, prop_oneof![4 => Just(0_u8), 1 => Just(1)])
        .prop_map(|(key, fingerprint)| Mark { key, fingerprint });
    prop_oneof![2 => Just(None), 1 => mark.prop_map(Some)].boxed()
}

/// A write, perhaps with an idempotency key.
pub fn write() -> BoxedStrategy<Write> {
    (step(), mark()).prop_map(|(step, mark)| Write { step, mark }).boxed()
}

/// One step of a sequence.
#[derive(Clone, Debug)]
pub enum Turn {
    /// Writes in one batch.
    Writes(Vec<Write>),
    /// The schema of users is replaced, and its indexes are built.
    Declare(serde_json::Value),
    /// A dry run of a write.
    Try(Box<Write>),
    /// The clock moves by this many milliseconds, perhaps back.
    Elapse(i64),
    /// Delete idempotency records older than the first number of milliseconds, and events older
    /// than both numbers together: events are kept longer than records.
    Forget(i64, i64),
    /// All pages of a list are read.
    Walk(Box<Question>),
    /// All pages of the deleted users are read.
    WalkDeleted(DeletedQuestion),
    /// The change log is read.
    Pull(EventsQuestion),
    /// A write of a group, perhaps with an idempotency key.
    Group(Box<GroupStep>, Option<Mark>),
    /// A dry run of a write of a group.
    TryGroup(Box<GroupStep>),
    /// All pages of a list of groups are read.
    WalkGroups(GroupQuestion),
}

/// A sequence of turns.
pub fn turns() -> BoxedStrategy<Vec<Turn>> {
    vec(turn(), 1..32).boxed()
}

/// A random turn.
pub(super) fn turn() -> BoxedStrategy<Turn> {
    let day = IDEMPOTENCY_KEEP_MS;
    let millis = prop_oneof![
        12 => 0_i64..50,
        3 => -100_i64..0,
        1 => select(vec![day - 10, day + 10]),
    ];
    let age = prop_oneof![3 => 0_i64..50, 1 => day..day + 50];
    let events = option::of(0_i64..50).prop_map(move |extra| extra.unwrap_or(100 * day));
    prop_oneof![
        16 => vec(write(), 1..6).prop_map(Turn::Writes),
        4 => write().prop_map(Box::new).prop_map(Turn::Try),
        1 => schema().prop_map(Turn::Declare),
        6 => millis.prop_map(Turn::Elapse),
        1 => (age, events).prop_map(|(keys, events)| Turn::Forget(keys, events)),
        8 => question().prop_map(Box::new).prop_map(Turn::Walk),
        2 => deleted_question().prop_map(Turn::WalkDeleted),
        2 => events_question().prop_map(Turn::Pull),
        10 => (group_step(), mark()).prop_map(|(step, mark)| Turn::Group(Box::new(step), mark)),
        2 => group_step().prop_map(Box::new).prop_map(Turn::TryGroup),
        3 => group_question().prop_map(Turn::WalkGroups),
    ]
    .boxed()
}
