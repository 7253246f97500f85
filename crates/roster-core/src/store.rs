//! What the directory asks of an engine.
//!
//! An engine keeps users, groups, the change log and one secret. Each command is its own atomic
//! step; a result is given only once its transaction is on disk. No transaction and no stream ever
//! crosses this trait. The rules are not the engine's: it loads, calls [`crate::decide()`], and
//! writes what was decided.

use std::fmt;

use crate::{
    access::KeyStore,
    clock_mark::{ClockMark, ClockReading},
    command::{Command, Rules},
    erasure::Erasure,
    event::{EventsPage, EventsQuery},
    failure::{Failure, StoreError},
    group::GroupStore,
    id::UserId,
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    outcome::{Answer, Outcome},
    timestamp::Timestamp,
    user::{Deleted, Status, Stored},
    walk::WalkStore,
};

/// Most pending erasures that are returned at once.
pub const PENDING_ERASURES_MAX: usize = 1000;

/// An engine.
pub trait Store: KeyStore + GroupStore {
    /// Carries out commands in order, each its own atomic step, sharing commits where it can.
    /// The results stand in the order of the commands; a successful one is durable.
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>>;

    /// What a command would come to: the same judgement, and nothing is stored. The position is
    /// that of the log as it is.
    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>>;

    /// The live user of that id.
    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>>;

    /// The deleted user of that id, while it is kept.
    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>>;

    /// One page of the live users, with the log position it reflects, read in one snapshot.
    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>>;

    /// One page of the deleted users.
    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>>;

    /// Where the log stands, and the kept counters.
    fn head(&self) -> Answer<'_, Result<Head, StoreError>>;

    /// Events of the log in its order, read in one snapshot.
    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>>;

    /// Forgets what is kept for a time only: a bounded step at a time, the oldest first. Tells
    /// how much it forgot; nothing once all is done.
    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>>;

    /// The purged users whose history is still to be erased, in the order of ids: up to
    /// [`PENDING_ERASURES_MAX`] of them.
    fn pending_erasures(&self) -> Answer<'_, Result<Vec<UserId>, StoreError>>;

    /// Erases the next step of the history of a purged user.
    fn erase(&self, id: UserId) -> Answer<'_, Result<Erasure, StoreError>>;

    /// Advances the clock mark by what a process measured; creates it if there is none.
    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>>;

    /// Whether the last commit succeeded and writes go on. Writes nothing.
    fn health(&self) -> Answer<'_, Result<(), StoreError>>;

    /// The rules in force: the policy of the store, with the guards that it was opened with.
    /// Another process may change the policy.
    fn rules(&self) -> Rules;

    /// Bytes of the write-ahead log's file, where the engine has one of its own.
    fn wal_bytes(&self) -> Option<u64> {
        None
    }

    /// The secret that cursors are encrypted with: made once, the same for all who serve this
    /// store.
    fn secret(&self) -> Secret;

    /// The log that this store's positions belong to.
    fn log_id(&self) -> LogId;

    /// The ends of walks' pages, where several processes serve this store; `None` where this
    /// process has it for itself.
    fn walks(&self) -> Option<&dyn WalkStore>;
}

/// Key material. Never printed.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The identity of a change log; a restored backup gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogId(pub [u8; 8]);

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A place in a change log: how many events it holds up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Which log.
    pub log: LogId,
    /// How many events.
    pub number: i64,
}

impl Position {
    /// Reads a position as it is printed.
    pub fn parse(text: &str) -> Option<Self> {
        let (log, number) = text.split_once('-')?;
        let log = u64::from_str_radix(log, 16).ok()?.to_be_bytes();
        let position = Self { log: LogId(log), number: number.parse().ok()? };
        (position.number >= 0 && position.to_string() == text).then_some(position)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.log, self.number)
    }
}

/// Where the log stands, and the kept counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The position of the last event.
    pub position: i64,
    /// How many users are active.
    pub active: i64,
    /// How many users are suspended.
    pub suspended: i64,
    /// How many deleted users are kept.
    pub deleted: i64,
}

impl Head {
    /// How many users the collection holds.
    pub const fn live(&self) -> i64 {
        self.active + self.suspended
    }

    /// The value of a counter.
    pub const fn count(&self, counter: Counter) -> u64 {
        let count = match counter {
            Counter::Live => self.live(),
            Counter::Status(Status::Active) => self.active,
            Counter::Status(Status::Suspended) => self.suspended,
        };
        count.unsigned_abs()
    }
}

/// A number of live users that every engine keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// All of them.
    Live,
    /// Those of a status.
    Status(Status),
}

/// What has outlived its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlived {
    /// Idempotency keys that came before this moment.
    pub keys_before: Timestamp,
    /// Events that happened before this moment.
    pub events_before: Timestamp,
}
