//! The rows of search keys: words, and the keys of further addresses and numbers.

use roster_core::{SearchKeys, UserId};
use rusqlite::{Connection, Result, params};

use super::sql;

/// The number of an e-mail address's kind in `further_keys`.
const EMAIL: i64 = 0;
/// The number of a telephone number's kind in `further_keys`.
const PHONE_NUMBER: i64 = 1;

pub(crate) fn add(connection: &Connection, id: UserId, keys: &SearchKeys) -> Result<()> {
    write(connection, [sql::ADD_WORD, sql::ADD_KEY], id, keys)
}

pub(super) fn remove(connection: &Connection, id: UserId, keys: &SearchKeys) -> Result<()> {
    write(connection, [sql::DROP_WORD, sql::DROP_KEY], id, keys)
}

fn write(
    connection: &Connection,
    [for_word, for_key]: [&str; 2],
    id: UserId,
    keys: &SearchKeys,
) -> Result<()> {
    let id = id.as_bytes();
    if !keys.words.is_empty() {
        let mut statement = connection.prepare_cached(for_word)?;
        keys.words.iter().try_for_each(|word| statement.execute(params![word, id]).map(drop))?;
    }
    for (kind, key) in further(keys) {
        connection.prepare_cached(for_key)?.execute(params![kind, key, id])?;
    }
    Ok(())
}

/// The further keys, each with the number of its kind.
pub(crate) fn further(keys: &SearchKeys) -> impl Iterator<Item = (i64, &String)> {
    let emails = keys.emails.iter().map(|key| (EMAIL, key));
    emails.chain(keys.phone_numbers.iter().map(|key| (PHONE_NUMBER, key)))
}
