//! The result of a successful command.

use std::pin::Pin;

use crate::{user::Stored, write::event::EventKind};

/// A boxed future with the result of an engine.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The effect of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The requested state existed already.
    Unchanged,
    /// A change, with the kind of its event.
    Changed(EventKind),
    /// Nothing: another user has the name or address, and the request has `on_conflict=skip`.
    Skipped,
}

/// The result of a successful command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The effect.
    pub effect: Effect,
    /// The user after the command. For a deleted user, its last record; for a purged user, an empty
    /// record; for a skipped create, the user that has the name.
    pub stored: Stored,
    /// The log position that includes the effect.
    pub position: i64,
    /// Whether this is the stored outcome of an earlier request with the same idempotency key.
    pub replayed: bool,
}
