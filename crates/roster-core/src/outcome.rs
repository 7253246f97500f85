//! What a command came to.

use std::pin::Pin;

use crate::{event::EventKind, user::Stored};

/// The result of an engine, once it is there.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What became true by a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Everything was as it was asked to be.
    Unchanged,
    /// A change, which its event tells.
    Changed(EventKind),
    /// Another user holds the name or address, and the caller asked to pass over it.
    Skipped,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What became true.
    pub effect: Effect,
    /// The user after it; of a deleted one, the record that left the collection; of a purged
    /// one, an empty record; of one that was passed over, the user who holds the name.
    pub stored: Stored,
    /// The log position that reflects it.
    pub position: i64,
    /// Whether the same request happened before and this is what it came to then.
    pub replayed: bool,
}
