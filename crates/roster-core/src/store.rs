//! What the directory asks of an engine.
//!
//! An engine keeps users, the change log and one secret. Each command is its own atomic step; a
//! result is given only once its transaction is on disk. No transaction and no stream ever
//! crosses this trait. The rules are not the engine's: it loads, calls [`crate::decide()`], and
//! writes what was decided.

use std::{fmt, future::Future, pin::Pin};

use crate::{
    command::Command,
    event::Event,
    failure::{Failure, StoreError},
    id::UserId,
    list::{Page, PageQuery},
    user::Stored,
};

/// An answer that is on its way.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An engine.
pub trait Store: Send + Sync + 'static {
    /// Carries out commands in order, each its own atomic step, sharing commits where it can.
    /// The results stand in the order of the commands; a successful one is durable.
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>>;

    /// The live user of that id.
    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>>;

    /// One page of the live users, with the log position it reflects, read in one snapshot.
    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>>;

    /// Where the log stands, and the kept counters.
    fn head(&self) -> Answer<'_, Result<Head, StoreError>>;

    /// The events after a position, at most `limit`, with their positions.
    fn events_after(
        &self,
        position: i64,
        limit: usize,
    ) -> Answer<'_, Result<Vec<(i64, Event)>, StoreError>>;

    /// Whether the last commit succeeded and writes go on. Writes nothing.
    fn health(&self) -> Answer<'_, Result<(), StoreError>>;

    /// The secret that cursors are encrypted with: made once, the same for all who serve this
    /// store.
    fn secret(&self) -> Secret;

    /// The log that this store's positions belong to.
    fn log_id(&self) -> LogId;
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
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The user after it; of a deleted one, the record that left the collection.
    pub stored: Stored,
    /// The log position that reflects it.
    pub position: i64,
}
