//! The stored result of a request, read without a write.
//!
//! A request that changes something has its idempotency record read in the transaction of the
//! change. This is for a request that is refused before it reaches a writer: it may be a repeated
//! one that succeeded.

use roster_core::{Failure, Idempotency, Outcome, Timestamp};
use roster_engine::{Facts as _, recall};

use super::{
    facts::Fetched,
    fetch::{Lock, fetch},
};
use crate::{
    connect::Connection,
    pool::{Miss, Question},
};

/// Asks for the stored result of a request.
pub(crate) struct Recall {
    pub(crate) idempotency: Idempotency,
    pub(crate) at: Timestamp,
}

impl Question for Recall {
    type Answer = Result<Option<Outcome>, Failure>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        let mut facts = Fetched::default();
        let Recall { idempotency, at } = self;
        if facts.idempotency_record(&idempotency.key).is_err() {
            fetch(connection, Lock::Nothing, &mut facts).await?;
        }
        let record = facts.idempotency.remove(&idempotency.key).flatten();
        Ok(recall(record.as_ref(), idempotency, *at).map_err(Failure::from))
    }
}
