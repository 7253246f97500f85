//! The uniqueness policy of a store, and its change, also while a process serves the directory.
//!
//! The change is one transaction of SQLite, which the serving process does not need to know of: it
//! reads the policy in each of its transactions.

use std::{path::Path, time::Duration};

use roster_core::{
    PolicyKey, Rules, SharedKeys, Sharing, TenantId, Timestamp,
    policy::{SHARED_KEYS_LISTED_MAX, SHARING_USERS_LISTED_MAX},
};
use roster_engine::{append_policy, corrupt, rows, stored_policy, whole_policy};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::{
    backup::{BackupError, open_store},
    connection::{self, has_store},
    failure::{ReadError, ReadResult},
    lock::StoreLock,
    open_error::OpenError,
    reads::rows::{Rows, run},
    settings::Settings,
};

pub(crate) const WRITE_SETTING: &str = "INSERT INTO settings (tenant, name, value) \
     VALUES (?1, ?2, ?3) ON CONFLICT (tenant, name) DO UPDATE SET value = ?3 WHERE value <> ?3";

/// The longest wait for the transactions of the serving process.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// The policy of a store. Changes nothing.
pub fn read_policy(directory: &Path) -> Result<Vec<(PolicyKey, Sharing)>, BackupError> {
    let connection = open_store(directory)?;
    let policy = run(whole_policy(Rows::of_store(&connection)))?;
    policy.ok_or_else(|| BackupError::NoStore(directory.to_owned()))
}

/// Changes the policy of a key, and appends the event. Returns false if the key has this policy
/// already. Fails if users share keys that are to be unique. Writes of a serving process wait for
/// the search for such users.
pub fn change_policy(
    directory: &Path,
    key: PolicyKey,
    sharing: Sharing,
    at: Timestamp,
) -> Result<bool, OpenError> {
    let (_lock, mut connection) = open(directory)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let stored =
        run(stored_policy(Rows::of_store(&transaction), key))?.ok_or(OpenError::NoStore)?;
    if stored == sharing {
        return Ok(false);
    }
    set(&transaction, key, sharing)?;
    run(append_policy(Rows::of_store(&transaction), at))?;
    transaction.commit()?;
    Ok(true)
}

/// These rules with the stored policy.
pub(crate) fn in_force(connection: &Connection, rules: Rules) -> ReadResult<Rules> {
    let policy =
        run(whole_policy(Rows::of_store(connection)))?.ok_or_else(|| corrupt("settings"))?;
    Ok(policy.into_iter().fold(rules, |rules, (key, stored)| rules.with_sharing(key, stored)))
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
    connection.execute(
        WRITE_SETTING,
        params![TenantId::DEFAULT.number(), key.stored_name(), sharing.stored()],
    )?;
    Ok(())
}

/// Fails if users share a key that is to be unique. The error lists some of them.
fn refuse_shared(connection: &Connection, key: PolicyKey) -> Result<(), OpenError> {
    let count: i64 = connection.query_row(&count_shared(key), [], |row| row.get(0))?;
    if count == 0 {
        return Ok(());
    }
    let column = column(key);
    let listed = shared(key, &format!("tenant, {column}"));
    let listed = format!("{listed} LIMIT {SHARED_KEYS_LISTED_MAX}");
    let users_of = format!(
        "SELECT id FROM users WHERE tenant = $1 AND {column} = $2 ORDER BY id \
         LIMIT {SHARING_USERS_LISTED_MAX}"
    );
    let mut users = Vec::new();
    for shared in run(rows(Rows::of_store(connection), &listed, &[]))? {
        let rows = run(rows(Rows::of_store(connection), &users_of, &shared.0))?;
        let ids = rows.iter().map(|row| row.id(0, "users.id"));
        users.push(ids.collect::<Result<_, _>>().map_err(ReadError::from)?);
    }
    Err(OpenError::Shared(SharedKeys { key, count: count.unsigned_abs(), users }))
}

/// The statement that counts the keys that belong to more than one user of a tenant.
pub(crate) fn count_shared(key: PolicyKey) -> String {
    format!("SELECT count(*) FROM ({})", shared(key, "1"))
}

/// The statement that evaluates `select` once for each key that belongs to more than one user of a
/// tenant.
fn shared(key: PolicyKey, select: &str) -> String {
    let condition = match key {
        // An absent address is stored as a blob, which this range of texts excludes.
        PolicyKey::Email => "email_key >= '' AND email_key < x''",
        PolicyKey::ExternalId => "external_id IS NOT NULL",
    };
    let column = column(key);
    format!(
        "SELECT {select} FROM users WHERE {condition} \
         GROUP BY tenant, {column} HAVING count(*) > 1"
    )
}

pub(crate) const fn column(key: PolicyKey) -> &'static str {
    match key {
        PolicyKey::Email => "email_key",
        PolicyKey::ExternalId => "external_id",
    }
}

/// Opens the database of a directory. Fails if there is none. The lock is absent if another process
/// has it.
fn open(directory: &Path) -> Result<(Option<StoreLock>, Connection), OpenError> {
    let settings = Settings::new(directory.to_owned(), Rules::default());
    if !has_store(directory)? {
        return Err(OpenError::NoStore);
    }
    match StoreLock::take(directory, false) {
        Ok(lock) => Ok((Some(lock), connection::open_writer(&settings)?)),
        Err(OpenError::Locked(path)) => match connection::open_served(&settings, BUSY_WAIT)? {
            Some(connection) => Ok((None, connection)),
            None => Err(OpenError::Locked(path)),
        },
        Err(error) => Err(error),
    }
}
