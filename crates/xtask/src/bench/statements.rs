//! The statements of the engine's bare loop: what a change writes at the least, and no more.

use anyhow::Result;
use rusqlite::{Transaction, params};
use uuid::Uuid;

use super::{engine::Act, people};

/// One user to be written.
pub(super) struct Change {
    /// Who.
    pub(super) id: Uuid,
    /// The number that the keys follow from.
    pub(super) number: u64,
    /// The record afterwards.
    pub(super) record: String,
    /// Words that it is found by from now on.
    pub(super) added: Vec<String>,
    /// Words that it was found by until now.
    pub(super) dropped: Vec<String>,
}

/// The event of a change.
pub(super) fn append(
    transaction: &Transaction<'_>,
    act: Act,
    change: &Change,
    position: i64,
    now_ms: i64,
) -> Result<()> {
    let kind = match act {
        Act::Insert | Act::Bulk => "user.created",
        Act::Update => "user.updated",
        Act::Delete => "user.deleted",
    };
    let id = change.id.as_bytes();
    transaction
        .prepare_cached(
            "INSERT INTO events (position, kind, at, actor, request_id, user_id, version, \
             changed, record) VALUES (?1, ?2, ?3, '', '', ?4, 1, 'family_name', ?5)",
        )?
        .execute(params![position, kind, now_ms, id, change.record])?;
    Ok(())
}

/// The words of a change.
pub(super) fn index(transaction: &Transaction<'_>, change: &Change) -> Result<()> {
    let id = change.id.as_bytes();
    for word in &change.dropped {
        transaction
            .prepare_cached("DELETE FROM words WHERE word = ?1 AND id = ?2")?
            .execute(params![word, id])?;
    }
    for word in &change.added {
        transaction
            .prepare_cached("INSERT INTO words (word, id) VALUES (?1, ?2)")?
            .execute(params![word, id])?;
    }
    Ok(())
}

/// A new user.
pub(super) fn insert(transaction: &Transaction<'_>, change: &Change, now_ms: i64) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO users (id, version, status, updated_at, username_key, email_key, \
             family_name_key, name_key, record) VALUES (?1, 1, 0, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            change.id.as_bytes(),
            now_ms,
            people::username(change.number),
            people::email(change.number),
            people::family_name(change.number, 0).to_lowercase(),
            people::name(change.number).to_lowercase(),
            change.record
        ])?;
    Ok(())
}

/// A change of the family name, which is indexed.
pub(super) fn update(transaction: &Transaction<'_>, change: &Change, now_ms: i64) -> Result<()> {
    transaction
        .prepare_cached(
            "UPDATE users SET version = version + 1, updated_at = ?2, family_name_key = ?3, \
             record = ?4 WHERE id = ?1",
        )?
        .execute(params![
            change.id.as_bytes(),
            now_ms,
            people::family_name(change.number, change.number).to_lowercase(),
            change.record
        ])?;
    Ok(())
}

/// The user goes over to the deleted ones.
pub(super) fn delete(transaction: &Transaction<'_>, change: &Change, now_ms: i64) -> Result<()> {
    transaction
        .prepare_cached("DELETE FROM users WHERE id = ?1")?
        .execute([change.id.as_bytes()])?;
    transaction
        .prepare_cached(
            "INSERT INTO deleted_users (id, version, deleted_at, username_key, email_key, record) \
             VALUES (?1, 2, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            change.id.as_bytes(),
            now_ms,
            people::username(change.number),
            people::email(change.number),
            change.record
        ])?;
    Ok(())
}

/// An id like the service's: a UUIDv7 of that moment.
pub(super) fn id_at(ms: i64, number: u64) -> Uuid {
    let random = people::mix(number).to_be_bytes();
    let mut bits = [0; 10];
    for (to, from) in bits.iter_mut().zip(random) {
        *to = from;
    }
    uuid::Builder::from_unix_timestamp_millis(ms.unsigned_abs(), &bits).into_uuid()
}
