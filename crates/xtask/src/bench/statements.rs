//! The statements of the engine's bare loop: what a change writes at the least, and no more.

use anyhow::Result;
use rusqlite::{Transaction, params};
use uuid::Uuid;

use super::{engine::Act, people};

/// The texts of an event beside its record.
#[derive(Clone, Default)]
pub(super) struct EventTexts {
    /// Who did it.
    pub(super) actor: String,
    /// By which request.
    pub(super) request_id: String,
    /// The members that changed.
    pub(super) changed: String,
}

/// One user to be written.
pub(super) struct Change {
    /// Who.
    pub(super) id: Uuid,
    /// The number that the keys follow from.
    pub(super) number: u64,
    /// The record afterwards.
    pub(super) record: String,
    /// What the log tells beside the record.
    pub(super) event: EventTexts,
    /// Words that it is found by from now on.
    pub(super) added: Vec<String>,
    /// Words that it was found by until now.
    pub(super) dropped: Vec<String>,
    /// When, in milliseconds since 1970.
    pub(super) now_ms: i64,
}

/// Everything that a change writes, but for the head of the log.
pub(super) fn write(
    transaction: &Transaction<'_>,
    act: Act,
    change: &Change,
    position: i64,
) -> Result<()> {
    match act {
        Act::Insert | Act::Marked | Act::Bulk => insert(transaction, change)?,
        Act::Update => update(transaction, change)?,
        Act::Delete => delete(transaction, change)?,
    }
    index(transaction, change)?;
    match (act, people::further_email(change.number)) {
        (Act::Insert | Act::Marked | Act::Bulk, Some(key)) => add_key(transaction, change, &key)?,
        (Act::Delete, Some(key)) => drop_key(transaction, change, &key)?,
        (Act::Update, Some(_)) | (_, None) => {}
    }
    if matches!(act, Act::Marked) {
        remember(transaction, change, position)?;
    }
    append(transaction, act, change, position)
}

fn append(transaction: &Transaction<'_>, act: Act, change: &Change, position: i64) -> Result<()> {
    let kind = match act {
        Act::Insert | Act::Marked | Act::Bulk => "user.created",
        Act::Update => "user.updated",
        Act::Delete => "user.deleted",
    };
    let Change { id, record, now_ms, event, .. } = change;
    let EventTexts { actor, request_id, changed } = event;
    transaction
        .prepare_cached(
            "INSERT INTO events (position, kind, at, actor, request_id, subject_id, version, \
             changed, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8)",
        )?
        .execute(params![
            position,
            kind,
            now_ms,
            actor,
            request_id,
            id.as_bytes(),
            changed,
            record
        ])?;
    Ok(())
}

/// The words of a change.
fn index(transaction: &Transaction<'_>, change: &Change) -> Result<()> {
    let id = change.id.as_bytes();
    if !change.dropped.is_empty() {
        let mut drop =
            transaction.prepare_cached("DELETE FROM words WHERE word = ?1 AND id = ?2")?;
        for word in &change.dropped {
            drop.execute(params![word, id])?;
        }
    }
    if !change.added.is_empty() {
        let mut add = transaction.prepare_cached("INSERT INTO words (word, id) VALUES (?1, ?2)")?;
        for word in &change.added {
            add.execute(params![word, id])?;
        }
    }
    Ok(())
}

fn add_key(transaction: &Transaction<'_>, change: &Change, key: &str) -> Result<()> {
    transaction
        .prepare_cached("INSERT INTO further_keys (kind, key, id) VALUES (0, ?1, ?2)")?
        .execute(params![key, change.id.as_bytes()])?;
    Ok(())
}

fn drop_key(transaction: &Transaction<'_>, change: &Change, key: &str) -> Result<()> {
    transaction
        .prepare_cached("DELETE FROM further_keys WHERE kind = 0 AND key = ?1 AND id = ?2")?
        .execute(params![key, change.id.as_bytes()])?;
    Ok(())
}

/// What a request came to that may come twice: under digests, which look random.
fn remember(transaction: &Transaction<'_>, change: &Change, position: i64) -> Result<()> {
    let digest = |of: u64| {
        let mut digest = [0_u8; 32];
        for (to, part) in digest.chunks_mut(8).zip(0..) {
            to.copy_from_slice(&people::mix(of ^ (part << 56)).to_be_bytes());
        }
        digest
    };
    let (key, fingerprint) = (digest(change.number), digest(!change.number));
    transaction
        .prepare_cached(
            "INSERT INTO idempotency_keys (key, fingerprint, at, user_id, version, position, \
             effect, record) VALUES (?1, ?2, ?3, ?4, 1, ?5, 'user.created', NULL)",
        )?
        .execute(params![key, fingerprint, change.now_ms, change.id.as_bytes(), position])?;
    Ok(())
}

/// A new user.
fn insert(transaction: &Transaction<'_>, change: &Change) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO users (id, version, status, updated_at, username_key, email_key, \
             family_name_key, name_key, record) VALUES (?1, 1, 0, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            change.id.as_bytes(),
            change.now_ms,
            people::username(change.number),
            people::email(change.number),
            people::family_name(change.number, 0).to_lowercase(),
            people::name(change.number).to_lowercase(),
            change.record
        ])?;
    Ok(())
}

/// A change of the family name, which is indexed.
fn update(transaction: &Transaction<'_>, change: &Change) -> Result<()> {
    transaction
        .prepare_cached(
            "UPDATE users SET version = version + 1, updated_at = ?2, family_name_key = ?3, \
             record = ?4 WHERE id = ?1",
        )?
        .execute(params![
            change.id.as_bytes(),
            change.now_ms,
            people::family_name(change.number, change.number).to_lowercase(),
            change.record
        ])?;
    Ok(())
}

/// The user goes over to the deleted ones.
fn delete(transaction: &Transaction<'_>, change: &Change) -> Result<()> {
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
            change.now_ms,
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
