//! API keys. Those that changed are read at once, and one is written at a time.
//!
//! [`decide_keys`] has the rules. In a column for a time, 0 means that there is none. So does an
//! empty secret.

use std::{collections::BTreeMap, slice};

use roster_core::{
    StoreError, TenantId, Timestamp,
    access::{
        ApiKey, FormerSecret, KeyAct, KeyChange, KeyDecision, KeyId, KeyRefusal, KeyView, Keyring,
        Reach, Scopes, SecretDigest, decide_keys,
    },
    audit::key_event,
    page::Flow,
};

use crate::{
    audit::append,
    database::{Cell, Database, Values, corrupt, first, is_live},
};

/// The number of changes of the keys.
pub const KEYS_GENERATION: &str = "SELECT generation FROM keys_head WHERE id = 1";

/// The columns of a key.
macro_rules! select_keys {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, scopes, created_at, created_by, expires_at, revoked_at, \
             rotated_at, last_used_at, secret, former_secret, former_until, tenant FROM keys ",
            $rest
        )
    };
}

/// The keys that changed after a generation.
pub const CHANGED_KEYS: &str = select_keys!("WHERE generation > $1 ORDER BY generation");

/// The keys of a tenant.
pub const KEYS_OF_TENANT: &str = select_keys!("WHERE tenant = $1 ORDER BY tenant, id");

/// The keys of the operator.
pub const KEYS_OF_OPERATOR: &str = select_keys!("WHERE tenant IS NULL ORDER BY tenant, id");

/// The key with an id.
pub const KEY: &str = select_keys!("WHERE id = $1");

/// Writes a key, with the present generation.
pub const PUT_KEY: &str = "INSERT INTO keys (id, name, scopes, created_at, created_by, \
     expires_at, revoked_at, rotated_at, last_used_at, secret, former_secret, former_until, \
     tenant, generation) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
     (SELECT generation FROM keys_head WHERE id = 1)) ON CONFLICT (id) \
     DO UPDATE SET revoked_at = excluded.revoked_at, rotated_at = excluded.rotated_at, \
     secret = excluded.secret, former_secret = excluded.former_secret, \
     former_until = excluded.former_until, generation = excluded.generation";

/// Deletes a key.
pub const DROP_KEY: &str = "DELETE FROM keys WHERE id = $1";

/// Counts a change of the keys.
pub const COUNT_KEY_CHANGE: &str = "INSERT INTO keys_head (id, generation) VALUES (1, 1) \
     ON CONFLICT (id) DO UPDATE SET generation = keys_head.generation + 1";

/// Finds a key of a tenant.
pub const HAS_KEYS: &str = "SELECT 1 FROM keys WHERE tenant = $1 LIMIT 1";

/// Revokes the keys of a tenant, with the present generation.
pub const REVOKE_KEYS: &str = "UPDATE keys SET \
     revoked_at = CASE WHEN revoked_at = 0 THEN $1 ELSE revoked_at END, \
     generation = (SELECT generation FROM keys_head WHERE id = 1) WHERE tenant = $2";

/// Revokes the keys of a tenant that is purged, so that no process accepts them any more.
pub(crate) async fn revoke_keys<D: Database>(db: D, at: Timestamp) -> Result<(), D::Error> {
    let tenant = Cell::from(db.tenant());
    // A change that is counted closes an open service, so it must be one.
    if first(db, HAS_KEYS, slice::from_ref(&tenant)).await?.is_some() {
        db.execute(COUNT_KEY_CHANGE, &[]).await?;
        db.execute(REVOKE_KEYS, &[at.as_millis().into(), tenant]).await?;
    }
    Ok(())
}

/// Reads the keys that changed since generation `known`; all without one, or if the store is behind
/// it. A key that was removed had ended, so a reader may keep it.
pub async fn changed_keys<D: Database>(
    db: D,
    known: Option<i64>,
) -> Result<Option<Keyring>, D::Error> {
    // A change between the two statements is read the next time.
    let generation = generation(db).await?;
    if known == Some(generation) {
        return Ok(None);
    }
    let after = known.filter(|known| *known < generation).unwrap_or(-1);
    let mut keys = BTreeMap::new();
    let keep = |key: ApiKey| drop(keys.insert(key.id, key));
    each(db, CHANGED_KEYS, &[after.into()], keep).await?;
    Ok(Some(Keyring { generation, keys }))
}

/// The number of changes of the keys so far.
async fn generation<D: Database>(db: D) -> Result<i64, D::Error> {
    Ok(match first(db, KEYS_GENERATION, &[]).await? {
        Some(row) => row.number(0, "keys_head.generation")?,
        None => 0,
    })
}

/// Reads the keys of a view.
pub async fn keys<D: Database>(db: D, view: KeyView) -> Result<Vec<ApiKey>, D::Error> {
    match view {
        KeyView::Tenant(tenant) => read(db, KEYS_OF_TENANT, &[tenant.into()]).await,
        KeyView::Operator => {
            let mut keys = read(db, KEYS_OF_TENANT, &[TenantId::DEFAULT.into()]).await?;
            keys.extend(read(db, KEYS_OF_OPERATOR, &[]).await?);
            Ok(keys)
        }
        KeyView::Store => read(db, CHANGED_KEYS, &[Cell::from(-1)]).await,
    }
}

/// Reads the key with this id.
pub async fn key<D: Database>(db: D, id: KeyId) -> Result<Option<ApiKey>, D::Error> {
    Ok(read(db, KEY, &[id.as_str().into()]).await?.pop())
}

async fn read<D: Database>(db: D, sql: &str, parameters: &[Cell]) -> Result<Vec<ApiKey>, D::Error> {
    let mut keys = Vec::new();
    each(db, sql, parameters, |key| keys.push(key)).await?;
    Ok(keys)
}

async fn each<D: Database>(
    db: D,
    sql: &str,
    parameters: &[Cell],
    mut keep: impl FnMut(ApiKey),
) -> Result<(), D::Error> {
    let keep = |row| {
        keep(key_of(&row)?);
        Ok(Flow::Next)
    };
    db.each(sql, parameters, keep).await
}

/// Decides a change of the keys and applies it with its event, in a transaction that has locked the
/// head of the log.
pub async fn change_keys<D: Database>(
    db: D,
    change: &KeyChange,
) -> Result<Result<ApiKey, KeyRefusal>, D::Error> {
    let mut concerned = match &change.act {
        KeyAct::Create(new) | KeyAct::CreateFirst(new) => match new.reach {
            Reach::Tenant(tenant) => read(db, KEYS_OF_TENANT, &[tenant.into()]).await?,
            Reach::All => read(db, KEYS_OF_OPERATOR, &[]).await?,
        },
        KeyAct::Rotate { .. } | KeyAct::Revoke { .. } => Vec::new(),
    };
    let id = match &change.act {
        KeyAct::Create(new) | KeyAct::CreateFirst(new) => new.id,
        KeyAct::Rotate { id, .. } | KeyAct::Revoke { id } => *id,
    };
    concerned.extend(key(db, id).await?);
    let keys = concerned.into_iter().map(|key| (key.id, key)).collect();
    let decided = decide_keys(&Keyring { generation: generation(db).await?, keys }, change);
    if let Ok(KeyDecision { key, displaced, changes: true }) = &decided {
        if let (
            KeyAct::Create(_) | KeyAct::CreateFirst(_) | KeyAct::Rotate { .. },
            Reach::Tenant(tenant),
        ) = (&change.act, key.reach)
            && !tenant.is_default()
            && !is_live(db.of(tenant)).await?
        {
            return Ok(Err(KeyRefusal::TenantNotFound));
        }
        db.execute(COUNT_KEY_CHANGE, &[]).await?;
        db.execute(PUT_KEY, &row_of(key)).await?;
        let (tenant, event) = key_event(change, key);
        append(db.of(tenant), &event).await?;
        if let Some(displaced) = displaced {
            db.execute(DROP_KEY, &[displaced.as_str().into()]).await?;
        }
    }
    Ok(decided.map(|decision| decision.key))
}

fn key_of(row: &Values) -> Result<ApiKey, StoreError> {
    let moment = |index| -> Result<Option<Timestamp>, StoreError> {
        Ok(Some(row.moment(index, "keys")?).filter(|moment| moment.as_millis() != 0))
    };
    let digest = |index| -> Result<Option<SecretDigest>, StoreError> {
        Ok(<[u8; 32]>::try_from(&row.bytes(index, "keys.secret")?[..]).ok().map(SecretDigest))
    };
    let until = moment(11)?;
    Ok(ApiKey {
        id: KeyId::parse(row.text(0, "keys.id")?).ok_or_else(|| corrupt("keys.id"))?,
        name: row.text(1, "keys.name")?.to_owned(),
        scopes: Scopes::of_words(row.text(2, "keys.scopes")?),
        reach: match row.0.get(12) {
            Some(Cell::Null) => Reach::All,
            _ => Reach::Tenant(row.tenant(12, "keys.tenant")?),
        },
        created_at: row.moment(3, "keys.created_at")?,
        created_by: row.text(4, "keys.created_by")?.to_owned(),
        expires_at: moment(5)?,
        revoked_at: moment(6)?,
        rotated_at: moment(7)?,
        last_used_at: moment(8)?,
        secret: digest(9)?.ok_or_else(|| corrupt("keys.secret"))?,
        former: digest(10)?.zip(until).map(|(secret, until)| FormerSecret { secret, until }),
    })
}

fn row_of(key: &ApiKey) -> [Cell; 13] {
    let millis = |moment: Option<Timestamp>| Cell::from(moment.map_or(0, Timestamp::as_millis));
    let former = key.former.as_ref();
    let former_secret = former.map_or(&[][..], |former| &former.secret.0[..]);
    [
        key.id.as_str().into(),
        key.name.as_str().into(),
        key.scopes.to_string().as_str().into(),
        millis(Some(key.created_at)),
        key.created_by.as_str().into(),
        millis(key.expires_at),
        millis(key.revoked_at),
        millis(key.rotated_at),
        millis(key.last_used_at),
        key.secret.0.as_slice().into(),
        former_secret.into(),
        millis(former.map(|former| former.until)),
        match key.reach {
            Reach::Tenant(tenant) => tenant.into(),
            Reach::All => Cell::Null,
        },
    ]
}
