//! Idempotency keys: a repeated request gets the stored result if the first one succeeded.
//!
//! The record of a key is written in the transaction of the request, so it exists only if the
//! request is committed. Housekeeping deletes it after 24 hours, and a purge of its user does. As
//! long as it exists it is used: the clock of the process that answers does not matter, because it
//! may be wrong. A refusal is not stored: a repeated request is decided again.

use bytes::Bytes;
use roster_core::{Effect, EventKind, Idempotency, Refusal, StoreError, Stored, Timestamp};

use crate::{
    database::{Values, corrupt},
    write::executed::{Executed, LogPosition},
};

/// The effect of a request that changed nothing, as stored in its record.
pub(crate) const UNCHANGED: &str = "unchanged";

/// The stored result of a request.
#[derive(Clone, Debug)]
pub struct IdempotencyRecord {
    /// A digest of the request without its key.
    pub fingerprint: [u8; 32],
    /// The time of the request; 0 if its user is purged and the record is still to be erased.
    pub at: Timestamp,
    /// The effect of the request.
    pub effect: Effect,
    /// The user or group after it. `None` if the log no longer holds it: the request is then
    /// executed again.
    pub stored: Option<Stored>,
    /// The log position of the result.
    pub position: LogPosition,
}

impl IdempotencyRecord {
    /// The key and the record of a row of `idempotency_keys`. The last value is the record of the
    /// user or group.
    pub fn of_row(row: &Values) -> Result<([u8; 32], Self), StoreError> {
        let digest = |index, place| -> Result<[u8; 32], StoreError> {
            row.bytes(index, place)?[..].try_into().map_err(|_| corrupt(place))
        };
        let effect = match row.text(6, "idempotency_keys.effect")? {
            UNCHANGED => Effect::Unchanged,
            kind => {
                let kind = EventKind::parse(kind);
                Effect::Changed(kind.ok_or_else(|| corrupt("idempotency_keys.effect"))?)
            }
        };
        let id = row.id(3, "idempotency_keys.user_id")?;
        let version = row.number(4, "idempotency_keys.version")?;
        let stored = |record: &Bytes| Stored { id, version, record: record.clone() };
        let record = Self {
            fingerprint: digest(1, "idempotency_keys.fingerprint")?,
            at: row.moment(2, "idempotency_keys.at")?,
            effect,
            stored: row.bytes(7, "").ok().map(stored),
            position: LogPosition::Committed(row.number(5, "idempotency_keys.position")?),
        };
        Ok((digest(0, "idempotency_keys.key")?, record))
    }

    /// The result of a repeated request: `None` if the record is erased, a refusal if the key was
    /// used for another request.
    pub(crate) fn replay(&self, idempotency: &Idempotency) -> Result<Option<Executed>, Refusal> {
        if self.at.as_millis() == 0 {
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
