//! The settings that a store contains. The uniqueness policy and the secret are those of all
//! tenants, and are settings of the default one.

use std::sync::Arc;

use roster_core::{PolicyKey, PolicyMismatch, Rules, Sharing, StoreError, TenantId, UserSchema};

use crate::database::{Database, Values, corrupt, first};

/// The value of a setting.
pub const SETTING: &str = "SELECT value FROM settings WHERE tenant = $1 AND name = $2";

/// The name of the schema of users. It is missing until the schema is first replaced.
pub const SCHEMA_SETTING: &str = "user_schema";

/// The name of the indexes that the schema of users names, with their statuses.
pub const INDEXES_SETTING: &str = "indexes";

/// The name of a setting that is there while an index of the tenant is not ready.
pub const INDEX_WORK_SETTING: &str = "index_work";

/// The name of the secret that encrypts cursors.
pub const SECRET_SETTING: &str = "cursor_secret";

/// The row of a setting, with its value.
pub async fn setting<D: Database>(db: D, name: &str) -> Result<Option<Values>, D::Error> {
    first(db, SETTING, &[db.tenant().into(), name.into()]).await
}

/// Parses the schema of users from the values of both settings.
pub fn schema_of(
    schema: Option<&[u8]>,
    indexes: Option<&[u8]>,
) -> Result<Arc<UserSchema>, StoreError> {
    let Some(value) = schema else { return Ok(Arc::default()) };
    let schema = UserSchema::from_record(value).map_err(|_| corrupt(SCHEMA_SETTING))?;
    let Some(indexes) = indexes else { return Ok(Arc::new(schema)) };
    schema.with_indexes(indexes).map(Arc::new).map_err(|_| corrupt(INDEXES_SETTING))
}

/// The stored schema of users.
pub async fn user_schema<D: Database>(db: D) -> Result<Arc<UserSchema>, D::Error> {
    let schema = setting(db, SCHEMA_SETTING).await?;
    let indexes = setting(db, INDEXES_SETTING).await?;
    let value = |row: &Option<Values>| row.as_ref().and_then(|row| row.bytes(0, "").ok().cloned());
    Ok(schema_of(value(&schema).as_deref(), value(&indexes).as_deref())?)
}

/// The secret, if the store has one.
pub async fn secret<D: Database>(db: D) -> Result<Option<[u8; 32]>, D::Error> {
    let Some(row) = setting(db.of(TenantId::DEFAULT), SECRET_SETTING).await? else {
        return Ok(None);
    };
    let secret = row.bytes(0, SECRET_SETTING)?[..].try_into();
    Ok(Some(secret.map_err(|_| corrupt(SECRET_SETTING))?))
}

/// The policy of a key, if one is stored.
pub async fn stored_policy<D: Database>(
    db: D,
    key: PolicyKey,
) -> Result<Option<Sharing>, D::Error> {
    let name = key.stored_name();
    let Some(row) = setting(db.of(TenantId::DEFAULT), name).await? else { return Ok(None) };
    let sharing = Sharing::parse_stored(row.bytes(0, name)?);
    Ok(Some(sharing.ok_or_else(|| corrupt(name))?))
}

/// The policy of all keys; `None` if that of a key is not stored.
pub async fn whole_policy<D: Database>(
    db: D,
) -> Result<Option<Vec<(PolicyKey, Sharing)>>, D::Error> {
    let mut policy = Vec::new();
    for key in PolicyKey::ALL.iter().copied() {
        let Some(sharing) = stored_policy(db, key).await? else { return Ok(None) };
        policy.push((key, sharing));
    }
    Ok(Some(policy))
}

/// These rules with the stored policy. Fails if the rules have another policy for a stated key.
pub fn rules_with(
    rules: Rules,
    stated: &[PolicyKey],
    policy: &[(PolicyKey, Sharing)],
) -> Result<Rules, PolicyMismatch> {
    let keep = |rules: Rules, (key, stored): &(PolicyKey, Sharing)| {
        let (key, stored, stated_sharing) = (*key, *stored, rules.sharing(*key));
        if stored != stated_sharing && stated.contains(&key) {
            return Err(PolicyMismatch { key, stored, stated: stated_sharing });
        }
        Ok(rules.with_sharing(key, stored))
    };
    policy.iter().try_fold(rules, keep)
}
