//! Idempotency keys: a request that succeeded is answered with its stored result when it is
//! repeated.
//!
//! The record of a key is written in the transaction of the request, so it exists only if the
//! request is committed. It is deleted after 24 hours, and when its user is purged. A refusal is
//! not stored: a repeated request is decided again.

use roster_core::{Effect, Idempotency, Refusal, Stored, Timestamp, limits::IDEMPOTENCY_KEEP_MS};

use crate::batch::Executed;

/// The effect of a request that changed nothing, as its record spells it.
pub const UNCHANGED: &str = "unchanged";

/// The stored result of a request.
#[derive(Clone, Debug)]
pub struct IdempotencyRecord {
    /// A digest of the request without its key.
    pub fingerprint: [u8; 32],
    /// When the request came.
    pub at: Timestamp,
    /// What it did.
    pub effect: Effect,
    /// The user or group after it. `None` if the log no longer holds it: the request is then
    /// executed again.
    pub stored: Option<Stored>,
    /// The log position of the result.
    pub position: LogPosition,
}

/// A position of the change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPosition {
    /// A committed position.
    Committed(i64),
    /// The number of events of this batch up to the result. The positions of the batch's events are
    /// known when it is written.
    InBatch(i64),
}

impl IdempotencyRecord {
    /// The result of a repeated request: `None` if the record has expired, a refusal if the key was
    /// used for another request.
    pub(crate) fn replay(
        &self,
        idempotency: &Idempotency,
        at: Timestamp,
    ) -> Result<Option<Executed>, Refusal> {
        if at.as_millis().saturating_sub(self.at.as_millis()) > IDEMPOTENCY_KEEP_MS {
            return Ok(None);
        }
        if self.fingerprint != idempotency.fingerprint {
            return Err(Refusal::KeyReused);
        }
        Ok(self.stored.clone().map(|stored| Executed {
            effect: self.effect,
            stored,
            position: self.position,
            replayed: true,
        }))
    }
}
