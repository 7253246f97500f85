//! The uniqueness policy of a store, and its change, also while a process serves the directory.
//!
//! The change is one transaction of SQLite, which the serving process does not need to know of: it
//! reads the policy in each of its transactions.

use std::{path::Path, time::Duration};

use roster_core::{
    PolicyKey, Rules, SharedKeys, Sharing,
    policy::{SHARED_KEYS_LISTED_MAX, SHARING_USERS_LISTED_MAX},
};
use roster_engine::corrupt;
use rusqlite::{Connection, TransactionBehavior, params, types::Value};

use crate::{
    columns::id_of,
    connection,
    failure::ReadResult,
    key_file::has_store,
    lock::DirectoryLock,
    open_error::OpenError,
    settings::Settings,
    stored_setting::{WRITE_SETTING, setting},
};

/// The longest wait for the transactions of the serving process.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// The policy of a store.
pub fn read_policy(directory: &Path) -> Result<Vec<(PolicyKey, Sharing)>, OpenError> {
    let (_lock, connection) = open(directory)?;
    let policy = |key: &PolicyKey| Ok((*key, of(&connection, *key)?.ok_or(OpenError::NoStore)?));
    PolicyKey::ALL.iter().map(policy).collect()
}

/// Changes the policy of a key; false if that is the policy already. Fails if users share keys that
/// are to be unique. Writes of a serving process wait for the search for such users.
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
    let Some(stored) = setting::<String>(connection, key.stored_name())? else { return Ok(None) };
    Sharing::parse_stored(stored.as_bytes())
        .map(Some)
        .ok_or_else(|| OpenError::Damaged(key.stored_name().to_owned()))
}

/// These rules with the stored policy.
pub(crate) fn in_force(connection: &Connection, rules: Rules) -> ReadResult<Rules> {
    PolicyKey::ALL.iter().copied().try_fold(rules, |rules, key| {
        let stored = setting::<String>(connection, key.stored_name())?;
        let sharing = stored.and_then(|stored| Sharing::parse_stored(stored.as_bytes()));
        Ok(rules.with_sharing(key, sharing.ok_or_else(|| corrupt(key.stored_name()))?))
    })
}

/// Stores the policy of a key, unless users violate it.
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
    let count: i64 = connection.query_row(&count_shared(key), [], |row| row.get(0))?;
    if count == 0 {
        return Ok(());
    }
    let column = column(key);
    let mut shared = connection.prepare(&format!("{} LIMIT ?1", shared(key, column)))?;
    let users_of = format!("SELECT id FROM users WHERE {column} = ?1 ORDER BY id LIMIT ?2");
    let mut users_of = connection.prepare(&users_of)?;
    let damaged = |_| OpenError::Damaged("users.id".to_owned());
    let mut users = Vec::new();
    for key in shared.query_map([SHARED_KEYS_LISTED_MAX], |row| row.get::<_, Value>(0))? {
        let ids = users_of.query_and_then(params![key?, SHARING_USERS_LISTED_MAX], |row| {
            id_of(row, 0, "users.id").map_err(damaged)
        })?;
        users.push(ids.collect::<Result<_, _>>()?);
    }
    Err(OpenError::Shared(SharedKeys { key, count: count.unsigned_abs(), users }))
}

/// The statement that counts the keys that belong to more than one user.
pub(crate) fn count_shared(key: PolicyKey) -> String {
    format!("SELECT count(*) FROM ({})", shared(key, "1"))
}

/// The statement that selects once for each key that belongs to more than one user.
fn shared(key: PolicyKey, select: &str) -> String {
    let condition = match key {
        // An absent address is no text.
        PolicyKey::Email => "email_key >= '' AND email_key < x''",
        PolicyKey::ExternalId => "external_id IS NOT NULL",
    };
    let column = column(key);
    format!("SELECT {select} FROM users WHERE {condition} GROUP BY {column} HAVING count(*) > 1")
}

/// The column of a key.
pub(crate) const fn column(key: PolicyKey) -> &'static str {
    match key {
        PolicyKey::Email => "email_key",
        PolicyKey::ExternalId => "external_id",
    }
}

/// Opens the database of a directory that holds one. The lock is absent if another process has it.
fn open(directory: &Path) -> Result<(Option<DirectoryLock>, Connection), OpenError> {
    let settings = Settings::new(directory.to_owned(), Rules::default());
    if !has_store(directory) {
        return Err(OpenError::NoStore);
    }
    match DirectoryLock::take(directory) {
        Ok(lock) => Ok((Some(lock), connection::open_writer(&settings)?)),
        Err(OpenError::Locked(path)) => match connection::open_served(&settings, BUSY_WAIT)? {
            Some(connection) => Ok((None, connection)),
            None => Err(OpenError::Locked(path)),
        },
        Err(error) => Err(error),
    }
}
