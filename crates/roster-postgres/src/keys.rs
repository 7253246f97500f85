//! The keys of callers: all of them are read at once, one is written.
//!
//! The rules are [`decide_keys`]'s; here stands only how a key lies in its row. Whoever changes
//! keys moves the one row of `keys_head` first: changes follow one another. A change that was
//! carried out and not answered comes to nothing the second time.

use std::collections::BTreeMap;

use roster_core::{
    Timestamp,
    access::{
        ApiKey, FormerSecret, KeyChange, KeyDecision, KeyId, KeyRefusal, Keyring, Scopes,
        SecretDigest, decide_keys,
    },
};
use tokio_postgres::Row;

use crate::{
    columns::{column, corrupt},
    connect::Connection,
    pool::{Miss, Question},
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

/// All keys, if they changed since that generation.
#[derive(Debug)]
pub(crate) struct KeysSince(pub(crate) Option<i64>);

impl Question for KeysSince {
    type Answer = Option<Keyring>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        // Asked first: what was changed between the two statements is read again next time.
        let statement = connection.prepare(GENERATION).await?;
        let row = connection.client().query_opt(&statement, &[]).await?;
        let generation = match row {
            Some(row) => column(&row, 0, "keys_head.generation")?,
            None => 0,
        };
        if self.0 == Some(generation) {
            return Ok(None);
        }
        Ok(Some(Keyring { generation, keys: keys(connection).await? }))
    }
}

impl Question for KeyChange {
    type Answer = Result<ApiKey, KeyRefusal>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        let client = connection.client();
        client.batch_execute("BEGIN").await?;
        let decided = change(connection, self).await?;
        let changes = matches!(decided, Ok(KeyDecision { changes: true, .. }));
        client.batch_execute(if changes { "COMMIT" } else { "ROLLBACK" }).await?;
        Ok(decided.map(|decision| decision.key))
    }
}

async fn change(
    connection: &Connection,
    change: &KeyChange,
) -> Result<Result<KeyDecision, KeyRefusal>, Miss> {
    let client = connection.client();
    let count = connection.prepare(COUNT).await?;
    let generation: i64 = column(&client.query_one(&count, &[]).await?, 0, "keys_head")?;
    let keyring = Keyring { generation, keys: keys(connection).await? };
    let decided = decide_keys(&keyring, change);
    if let Ok(KeyDecision { key, displaced, changes: true }) = &decided {
        put(connection, key).await?;
        if let Some(displaced) = displaced {
            let drop = connection.prepare(DROP).await?;
            client.execute(&drop, &[&displaced.as_str()]).await?;
        }
    }
    Ok(decided)
}

/// When keys were used.
#[derive(Debug)]
pub(crate) struct KeyUses(pub(crate) Vec<(KeyId, Timestamp)>);

impl Question for KeyUses {
    type Answer = ();

    async fn ask(&self, connection: &Connection) -> Result<(), Miss> {
        let ids: Vec<&str> = self.0.iter().map(|(id, _)| id.as_str()).collect();
        let moments: Vec<i64> = self.0.iter().map(|(_, at)| at.as_millis()).collect();
        let statement = connection.prepare(NOTE_USE).await?;
        connection.client().execute(&statement, &[&ids, &moments]).await?;
        Ok(())
    }
}

async fn keys(connection: &Connection) -> Result<BTreeMap<KeyId, ApiKey>, Miss> {
    let statement = connection.prepare(KEYS).await?;
    let rows = connection.client().query(&statement, &[]).await?;
    let mut keys = BTreeMap::new();
    for row in &rows {
        let key = of_row(row)?;
        keys.insert(key.id, key);
    }
    Ok(keys)
}

fn of_row(row: &Row) -> Result<ApiKey, Miss> {
    let moment = |index| -> Result<Option<Timestamp>, Miss> {
        let millis: i64 = column(row, index, "keys")?;
        Ok((millis != 0).then_some(Timestamp::from_millis(millis)))
    };
    let digest = |index| -> Result<Option<SecretDigest>, Miss> {
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

async fn put(connection: &Connection, key: &ApiKey) -> Result<(), Miss> {
    let millis = |moment: Option<Timestamp>| moment.map_or(0, Timestamp::as_millis);
    let former = key.former;
    let former_secret = former.as_ref().map_or(&[][..], |former| &former.secret.0[..]);
    let statement = connection.prepare(PUT).await?;
    connection
        .client()
        .execute(
            &statement,
            &[
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
            ],
        )
        .await?;
    Ok(())
}
