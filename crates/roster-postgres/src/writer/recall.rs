//! What a request came to when it came before, asked beside the writers.
//!
//! Whoever changes something has it looked up in the transaction of the change. This is for those
//! who are refused before one begins: what they meet may be what the same request left.

use roster_core::{Failure, Idempotency, Outcome, Refusal, Timestamp, limits::IDEMPOTENCY_KEEP_MS};

use super::{
    facts::{Mark, Place},
    fetch::known,
};
use crate::{
    connect::Connection,
    pool::{Miss, Question},
};

/// Asks what the request of a mark came to, if that is remembered at a moment.
pub(crate) struct Recall {
    pub(crate) mark: Idempotency,
    pub(crate) at: Timestamp,
}

impl Question for Recall {
    type Answer = Result<Option<Outcome>, Failure>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        Ok(self.told(known(connection, self.mark.key).await?))
    }
}

impl Recall {
    fn told(&self, known: Option<Mark>) -> Result<Option<Outcome>, Failure> {
        let age = |known: &Mark| self.at.as_millis().saturating_sub(known.at.as_millis());
        let Some(known) = known.filter(|known| age(known) <= IDEMPOTENCY_KEEP_MS) else {
            return Ok(None);
        };
        if known.fingerprint != self.mark.fingerprint {
            return Err(Refusal::KeyReused.into());
        }
        // Events outlive keys; where the log was cut all the same, nothing is remembered.
        let (Some(stored), Place::At(position)) = (known.stored, known.position) else {
            return Ok(None);
        };
        Ok(Some(Outcome { effect: known.effect, stored, position, replayed: true }))
    }
}
