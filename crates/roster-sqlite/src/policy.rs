//! The uniqueness policy of a store, and its change while no process serves the directory.

use std::path::Path;

use roster_core::{
    PolicyKey, Rules, SharedKeys, Sharing, UserId,
    policy::{SHARED_KEYS_LISTED_MAX, SHARING_USERS_LISTED_MAX},
};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params, types::Value};

use crate::{
    columns::id_of,
    connection,
    establish::{COUNT_SHARED_EMAILS, COUNT_SHARED_EXTERNAL_IDS, READ_SETTING, WRITE_SETTING},
    lock::DirectoryLock,
    open_error::OpenError,
    settings::Settings,
};

const SHARED_EMAILS: &str = "SELECT email_key FROM users \
     WHERE email_key >= '' AND email_key < x'' GROUP BY email_key HAVING count(*) > 1 LIMIT ?1";
const SHARED_EXTERNAL_IDS: &str = "SELECT external_id FROM users \
     WHERE external_id IS NOT NULL GROUP BY external_id HAVING count(*) > 1 LIMIT ?1";

const USERS_OF_EMAIL: &str = "SELECT id FROM users WHERE email_key = ?1 ORDER BY id LIMIT ?2";
const USERS_OF_EXTERNAL_ID: &str =
    "SELECT id FROM users WHERE external_id = ?1 ORDER BY id LIMIT ?2";

/// The policy of a store that no process serves.
pub fn read_policy(directory: &Path) -> Result<Vec<(PolicyKey, Sharing)>, OpenError> {
    let (_lock, connection) = open(directory)?;
    let policy = |key: &PolicyKey| Ok((*key, of(&connection, *key)?.ok_or(OpenError::NoStore)?));
    PolicyKey::ALL.iter().map(policy).collect()
}

/// Changes the policy of a key; false where it was so. Refused where users share keys that are to
/// be unique.
pub fn change_policy(
    directory: &Path,
    key: PolicyKey,
    sharing: Sharing,
) -> Result<bool, OpenError> {
    let (_lock, mut connection) = open(directory)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let stored = of(&transaction, key)?.ok_or(OpenError::NoStore)?;
    if stored == sharing {
        return Ok(false);
    }
    set(&transaction, key, sharing)?;
    transaction.commit()?;
    Ok(true)
}

/// The policy of a key, where one was decided.
pub(crate) fn of(connection: &Connection, key: PolicyKey) -> Result<Option<Sharing>, OpenError> {
    let stored: Option<String> =
        connection.query_row(READ_SETTING, [key.stored_name()], |row| row.get(0)).optional()?;
    let Some(stored) = stored else { return Ok(None) };
    Sharing::parse_stored(stored.as_bytes())
        .map(Some)
        .ok_or_else(|| OpenError::Damaged(key.stored_name().to_owned()))
}

/// Writes the policy of a key down, unless users break it.
pub(crate) fn set(
    connection: &Connection,
    key: PolicyKey,
    sharing: Sharing,
) -> Result<(), OpenError> {
    if sharing == Sharing::Unique {
        refuse_shared(connection, key)?;
    }
    connection.execute(WRITE_SETTING, params![key.stored_name(), sharing.stored()])?;
    Ok(())
}

/// Refuses users who share a key that is to be unique, and lists some.
fn refuse_shared(connection: &Connection, key: PolicyKey) -> Result<(), OpenError> {
    let (count, shared, users_of) = match key {
        PolicyKey::Email => (COUNT_SHARED_EMAILS, SHARED_EMAILS, USERS_OF_EMAIL),
        PolicyKey::ExternalId => {
            (COUNT_SHARED_EXTERNAL_IDS, SHARED_EXTERNAL_IDS, USERS_OF_EXTERNAL_ID)
        }
    };
    let count: i64 = connection.query_row(count, [], |row| row.get(0))?;
    if count == 0 {
        return Ok(());
    }
    let mut shared = connection.prepare(shared)?;
    let keys = shared.query_map([SHARED_KEYS_LISTED_MAX], |row| row.get::<_, Value>(0))?;
    let mut users = Vec::new();
    for key in keys {
        let mut statement = connection.prepare_cached(users_of)?;
        let mut rows = statement.query(params![key?, SHARING_USERS_LISTED_MAX])?;
        let mut ids: Vec<UserId> = Vec::new();
        while let Some(row) = rows.next()? {
            let damaged = |_| OpenError::Damaged("users.id".to_owned());
            ids.push(id_of(row.get_ref(0)?, "users.id").map_err(damaged)?);
        }
        users.push(ids);
    }
    Err(OpenError::Shared(SharedKeys { key, count: count.unsigned_abs(), users }))
}

/// Opens the database of a directory that holds one.
fn open(directory: &Path) -> Result<(DirectoryLock, Connection), OpenError> {
    let settings = Settings::new(directory.to_owned(), Rules::default());
    if !connection::path(&settings).exists() {
        return Err(OpenError::NoStore);
    }
    let lock = DirectoryLock::take(directory)?;
    Ok((lock, connection::open_writer(&settings)?))
}
