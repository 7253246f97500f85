//! The keys of callers: all of them are read at once, one is written.
//!
//! [`decide_keys`] has the rules. A change updates the one row of `keys_head` first, so that
//! changes follow one another. A change that is committed, but whose result is lost, changes
//! nothing when it runs again.

use std::sync::Arc;

use std::collections::BTreeMap;

use roster_core::{
    Timestamp,
    access::{
        ApiKey, FormerSecret, KeyChange, KeyDecision, KeyId, KeyRefusal, Keyring, Scopes,
        SecretDigest, decide_keys,
    },
};
use tokio_postgres::{Row, types::ToSql};

use crate::{
    columns::{column, corrupt},
    connect::Connection,
    query_error::QueryResult,
};

pub(crate) const GENERATION: &str = "SELECT generation FROM keys_head WHERE id = 1";

pub(crate) const KEYS: &str = "SELECT id, name, scopes, created_at, created_by, expires_at, \
     revoked_at, rotated_at, last_used_at, secret, former_secret, former_until FROM keys \
     WHERE id >= '' ORDER BY id";

pub(crate) const PUT: &str = "INSERT INTO keys (id, name, scopes, created_at, created_by, \
     expires_at, revoked_at, rotated_at, last_used_at, secret, former_secret, former_until) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO UPDATE SET \
     revoked_at = excluded.revoked_at, rotated_at = excluded.rotated_at, \
     secret = excluded.secret, former_secret = excluded.former_secret, \
     former_until = excluded.former_until";

pub(crate) const DROP: &str = "DELETE FROM keys WHERE id = $1";

pub(crate) const COUNT: &str = "INSERT INTO keys_head (id, generation) VALUES (1, 1) \
     ON CONFLICT (id) DO UPDATE SET generation = keys_head.generation + 1 \
     RETURNING generation";

pub(crate) const NOTE_USE: &str = "UPDATE keys SET last_used_at = used.at \
     FROM unnest($1::text[], $2::bigint[]) AS used (id, at) \
     WHERE keys.id = used.id AND keys.last_used_at < used.at";

/// All keys, if they changed since generation `known`.
pub(crate) async fn keyring(
    connection: Arc<Connection>,
    known: Option<i64>,
) -> QueryResult<Option<Keyring>> {
    // A change between the two statements is read again next time.
    let generation = match connection.query_opt(GENERATION, &[]).await? {
        Some(row) => column(&row, 0, "keys_head.generation")?,
        None => 0,
    };
    if known == Some(generation) {
        return Ok(None);
    }
    Ok(Some(Keyring { generation, keys: keys(&connection).await? }))
}

/// Decides a change of the keys, and applies it.
pub(crate) async fn change(
    connection: Arc<Connection>,
    change: &KeyChange,
) -> QueryResult<Result<ApiKey, KeyRefusal>> {
    let client = connection.client();
    client.batch_execute("BEGIN").await?;
    let count = connection.query_one(COUNT, &[]).await?;
    let generation = column(&count, 0, "keys_head")?;
    let keyring = Keyring { generation, keys: keys(&connection).await? };
    let decided = decide_keys(&keyring, change);
    let mut end = "ROLLBACK";
    if let Ok(KeyDecision { key, displaced, changes: true }) = &decided {
        put(&connection, key).await?;
        if let Some(displaced) = displaced {
            connection.execute(DROP, &[&displaced.as_str()]).await?;
        }
        end = "COMMIT";
    }
    client.batch_execute(end).await?;
    Ok(decided.map(|decision| decision.key))
}

/// Notes when keys were used.
pub(crate) async fn note_use(
    connection: Arc<Connection>,
    uses: &[(KeyId, Timestamp)],
) -> QueryResult<()> {
    let ids: Vec<&str> = uses.iter().map(|(id, _)| id.as_str()).collect();
    let moments: Vec<i64> = uses.iter().map(|(_, at)| at.as_millis()).collect();
    connection.execute(NOTE_USE, &[&ids, &moments]).await?;
    Ok(())
}

async fn keys(connection: &Connection) -> QueryResult<BTreeMap<KeyId, ApiKey>> {
    let rows = connection.query(KEYS, &[]).await?;
    rows.iter().map(|row| of_row(row).map(|key| (key.id, key))).collect()
}

fn of_row(row: &Row) -> QueryResult<ApiKey> {
    let moment = |index| -> QueryResult<Option<Timestamp>> {
        let millis: i64 = column(row, index, "keys")?;
        Ok((millis != 0).then_some(Timestamp::from_millis(millis)))
    };
    let digest = |index| -> QueryResult<Option<SecretDigest>> {
        let bytes: &[u8] = column(row, index, "keys.secret")?;
        Ok(bytes.try_into().ok().map(SecretDigest))
    };
    let scopes: &str = column(row, 2, "keys.scopes")?;
    let until = moment(11)?;
    Ok(ApiKey {
        id: KeyId::parse(column(row, 0, "keys.id")?).ok_or_else(|| corrupt("keys.id"))?,
        name: column(row, 1, "keys.name")?,
        scopes: Scopes::of_words(scopes),
        created_at: Timestamp::from_millis(column(row, 3, "keys.created_at")?),
        created_by: column(row, 4, "keys.created_by")?,
        expires_at: moment(5)?,
        revoked_at: moment(6)?,
        rotated_at: moment(7)?,
        last_used_at: moment(8)?,
        secret: digest(9)?.ok_or_else(|| corrupt("keys.secret"))?,
        former: digest(10)?.zip(until).map(|(secret, until)| FormerSecret { secret, until }),
    })
}

async fn put(connection: &Connection, key: &ApiKey) -> QueryResult<()> {
    let millis = |moment: Option<Timestamp>| moment.map_or(0, Timestamp::as_millis);
    let former = key.former;
    let former_secret = former.as_ref().map_or(&[][..], |former| &former.secret.0[..]);
    let parameters: [&(dyn ToSql + Sync); 12] = [
        &key.id.as_str(),
        &key.name,
        &key.scopes.to_string(),
        &key.created_at.as_millis(),
        &key.created_by,
        &millis(key.expires_at),
        &millis(key.revoked_at),
        &millis(key.rotated_at),
        &millis(key.last_used_at),
        &&key.secret.0[..],
        &former_secret,
        &millis(former.map(|former| former.until)),
    ];
    connection.execute(PUT, &parameters).await?;
    Ok(())
}
