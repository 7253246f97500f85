//! Requests that may come twice and must happen once.
//!
//! What a marked request came to is kept in the transaction of its change, so that it is there
//! exactly if the change is. Refusals are not kept: they are judged anew. Of a changed user the
//! event has the record; an unchanged one's is kept here, for its event may be of any age.

use bytes::Bytes;
use roster_core::{
    Effect, EventKind, Idempotency, Outcome, Refusal, Stored, Timestamp,
    limits::IDEMPOTENCY_KEEP_MS,
};
use rusqlite::{Connection, Result, params};

use super::{judge::Halt, rows::text, sql};
use crate::columns::{corrupt, id_of, text_of};

const UNCHANGED: &str = "unchanged";

/// What the same request came to before, if it came and is remembered at that moment.
pub(super) fn recall(
    connection: &Connection,
    mark: &Idempotency,
    at: Timestamp,
) -> std::result::Result<Option<Outcome>, Halt> {
    let mut statement = connection.prepare_cached(sql::REMEMBERED)?;
    let mut rows = statement.query([mark.key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let came: i64 = row.get(1)?;
    if at.as_millis().saturating_sub(came) > IDEMPOTENCY_KEEP_MS {
        return Ok(None);
    }
    let fingerprint: [u8; 32] = row.get(0)?;
    if fingerprint != mark.fingerprint {
        return Err(Refusal::KeyReused.into());
    }
    let id = id_of(row.get_ref(2)?, "idempotency_keys.user_id")?;
    let (version, position) = (row.get(3)?, row.get(4)?);
    let effect: String = row.get(5)?;
    let (effect, record) = if effect == UNCHANGED {
        let record = text_of(row.get_ref(6)?, "idempotency_keys.record")?;
        (Effect::Unchanged, Bytes::copy_from_slice(record))
    } else {
        let kind = EventKind::parse(&effect).ok_or_else(|| corrupt("idempotency_keys.effect"))?;
        // Events outlive keys; where the log was cut all the same, nothing is remembered.
        let Some(record) = record_at(connection, position)? else { return Ok(None) };
        (Effect::Changed(kind), record)
    };
    let stored = Stored { id, version, record };
    Ok(Some(Outcome { effect, stored, position, replayed: true }))
}

/// Keeps what a request came to.
pub(super) fn remember(
    connection: &Connection,
    mark: &Idempotency,
    at: Timestamp,
    outcome: &Outcome,
) -> Result<()> {
    let Outcome { effect, stored, position, .. } = outcome;
    let (effect, record) = match effect {
        Effect::Unchanged => (UNCHANGED, Some(text(&stored.record)?)),
        Effect::Changed(kind) => (kind.as_str(), None),
        // No request with a mark asks to be passed over.
        Effect::Skipped => return Ok(()),
    };
    connection.prepare_cached(sql::REMEMBER)?.execute(params![
        mark.key,
        mark.fingerprint,
        at.as_millis(),
        stored.id.as_bytes(),
        stored.version,
        position,
        effect,
        record,
    ])?;
    Ok(())
}

fn record_at(connection: &Connection, position: i64) -> std::result::Result<Option<Bytes>, Halt> {
    let mut statement = connection.prepare_cached(sql::EVENT_RECORD)?;
    let mut rows = statement.query([position])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Bytes::copy_from_slice(text_of(row.get_ref(0)?, "events.record")?)))
}
