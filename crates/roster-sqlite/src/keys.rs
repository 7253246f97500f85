//! The keys of callers: all of them are read at once, one is written.
//!
//! The rules are [`decide_keys`]'s; here stands only how a key lies in its row. A moment of 0 and
//! an empty secret are none.

use std::collections::BTreeMap;

use roster_core::{
    Timestamp,
    access::{
        ApiKey, FormerSecret, KeyChange, KeyDecision, KeyFailure, KeyId, Keyring, Scopes,
        SecretDigest, decide_keys,
    },
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    columns::corrupt,
    failure::{ReadError, ReadResult},
};

pub(crate) const GENERATION: &str = "SELECT generation FROM keys_head WHERE id = 1";

pub(crate) const KEYS: &str = "SELECT id, name, scopes, created_at, created_by, expires_at, \
     revoked_at, rotated_at, last_used_at, secret, former_secret, former_until FROM keys \
     WHERE id >= '' ORDER BY id";

pub(crate) const PUT: &str = "INSERT OR REPLACE INTO keys (id, name, scopes, created_at, \
     created_by, expires_at, revoked_at, rotated_at, last_used_at, secret, former_secret, \
     former_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

pub(crate) const DROP: &str = "DELETE FROM keys WHERE id = ?1";

pub(crate) const COUNT: &str = "INSERT INTO keys_head (id, generation) VALUES (1, 1) \
     ON CONFLICT (id) DO UPDATE SET generation = generation + 1";

pub(crate) const NOTE_USE: &str =
    "UPDATE keys SET last_used_at = ?2 WHERE id = ?1 AND last_used_at < ?2";

/// All keys, if they changed since that generation.
pub(crate) fn read(connection: &Connection, known: Option<i64>) -> ReadResult<Option<Keyring>> {
    // Asked first: what was changed between the two statements is read again next time.
    let generation = generation(connection)?;
    if known == Some(generation) {
        return Ok(None);
    }
    Ok(Some(Keyring { generation, keys: keys(connection)? }))
}

/// Changes the keys, inside a transaction.
pub(crate) fn change(
    connection: &Connection,
    change: &KeyChange,
) -> rusqlite::Result<Result<ApiKey, KeyFailure>> {
    let keys = match keys(connection) {
        Ok(keys) => keys,
        Err(ReadError::Sqlite(error)) => return Err(error),
        Err(ReadError::Store(error)) => return Ok(Err(error.into())),
    };
    let keyring = Keyring { generation: generation(connection)?, keys };
    let KeyDecision { key, displaced, changes } = match decide_keys(&keyring, change) {
        Ok(decision) => decision,
        Err(refusal) => return Ok(Err(refusal.into())),
    };
    if changes {
        put(connection, &key)?;
        if let Some(displaced) = displaced {
            connection.prepare_cached(DROP)?.execute([displaced.as_str()])?;
        }
        connection.prepare_cached(COUNT)?.execute([])?;
    }
    Ok(Ok(key))
}

/// Notes when keys were used, inside a transaction.
pub(crate) fn note_use(
    connection: &Connection,
    uses: &[(KeyId, Timestamp)],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(NOTE_USE)?;
    uses.iter().try_for_each(|(id, at)| {
        statement.execute(params![id.as_str(), at.as_millis()]).map(|_| ())
    })
}

fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached(GENERATION)?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?.unwrap_or_default())
}

fn keys(connection: &Connection) -> ReadResult<BTreeMap<KeyId, ApiKey>> {
    let mut statement = connection.prepare_cached(KEYS)?;
    let key = |row: &Row<'_>| {
        let key = of_row(row)?.ok_or_else(|| corrupt("keys"))?;
        Ok((key.id, key))
    };
    statement.query_and_then([], key)?.collect()
}

fn of_row(row: &Row<'_>) -> rusqlite::Result<Option<ApiKey>> {
    let Some(id) = KeyId::parse(row.get_ref(0)?.as_str()?) else { return Ok(None) };
    let scopes = Scopes::of_words(row.get_ref(2)?.as_str()?);
    let former: Option<[u8; 32]> = row.get_ref(10)?.as_blob()?.try_into().ok();
    let until = Timestamp::from_millis(row.get(11)?);
    Ok(Some(ApiKey {
        id,
        name: row.get(1)?,
        scopes,
        created_at: Timestamp::from_millis(row.get(3)?),
        created_by: row.get(4)?,
        expires_at: moment(row.get(5)?),
        revoked_at: moment(row.get(6)?),
        rotated_at: moment(row.get(7)?),
        last_used_at: moment(row.get(8)?),
        secret: SecretDigest(row.get(9)?),
        former: former.map(|secret| FormerSecret { secret: SecretDigest(secret), until }),
    }))
}

fn put(connection: &Connection, key: &ApiKey) -> rusqlite::Result<()> {
    let former = key.former;
    let former_secret = former.as_ref().map_or(&[][..], |former| &former.secret.0[..]);
    connection.prepare_cached(PUT)?.execute(params![
        key.id.as_str(),
        key.name,
        key.scopes.to_string(),
        key.created_at.as_millis(),
        key.created_by,
        millis(key.expires_at),
        millis(key.revoked_at),
        millis(key.rotated_at),
        millis(key.last_used_at),
        key.secret.0,
        former_secret,
        millis(former.map(|former| former.until)),
    ])?;
    Ok(())
}

fn moment(millis: i64) -> Option<Timestamp> {
    (millis != 0).then_some(Timestamp::from_millis(millis))
}

fn millis(moment: Option<Timestamp>) -> i64 {
    moment.map_or(0, Timestamp::as_millis)
}
