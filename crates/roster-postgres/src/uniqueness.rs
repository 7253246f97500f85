//! The keys of users that can be unique in their tenant: their indexes, and the policy of each in
//! the settings.

use roster_core::{PolicyKey, SharedKeys, Sharing, TenantId};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{columns::id_of, open_error::OpenError};

/// Writes a setting of a tenant.
pub(crate) const KEEP: &str = "INSERT INTO settings (tenant, name, value) VALUES ($1, $2, $3) \
     ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value";

pub(crate) struct Key {
    pub(crate) policy: PolicyKey,
    /// The statement that creates the unique index.
    pub(crate) make: &'static str,
    pub(crate) drop: &'static str,
    /// The statement that counts the values that belong to several users of a tenant.
    pub(crate) count: &'static str,
    /// The statement that lists some users of each of the first such values.
    pub(crate) list: &'static str,
}

const EMAIL: Key = Key {
    policy: PolicyKey::Email,
    make: "CREATE UNIQUE INDEX IF NOT EXISTS users_email_unique ON users (tenant, email_key) \
         WHERE email_key < '\\xff'",
    drop: "DROP INDEX IF EXISTS users_email_unique",
    count: "SELECT count(*) FROM (SELECT 1 FROM users WHERE email_key < '\\xff' \
         GROUP BY tenant, email_key HAVING count(*) > 1 ORDER BY tenant, email_key) AS shared",
    list: "SELECT (array_agg(id ORDER BY id))[:5] FROM users WHERE email_key < '\\xff' \
         GROUP BY tenant, email_key HAVING count(*) > 1 ORDER BY tenant, email_key LIMIT 10",
};

const EXTERNAL_ID: Key = Key {
    policy: PolicyKey::ExternalId,
    make: "CREATE UNIQUE INDEX IF NOT EXISTS users_external_id_unique \
         ON users (tenant, external_id) WHERE external_id IS NOT NULL",
    drop: "DROP INDEX IF EXISTS users_external_id_unique",
    count: "SELECT count(*) FROM (SELECT 1 FROM users WHERE external_id IS NOT NULL \
         GROUP BY tenant, external_id HAVING count(*) > 1 ORDER BY tenant, external_id) AS shared",
    list: "SELECT (array_agg(id ORDER BY id))[:5] FROM users WHERE external_id IS NOT NULL \
         GROUP BY tenant, external_id HAVING count(*) > 1 ORDER BY tenant, external_id LIMIT 10",
};

pub(crate) const KEYS: [&Key; 2] = [&EMAIL, &EXTERNAL_ID];

pub(crate) const fn key(policy: PolicyKey) -> &'static Key {
    match policy {
        PolicyKey::Email => &EMAIL,
        PolicyKey::ExternalId => &EXTERNAL_ID,
    }
}

pub(crate) async fn keep_policy(
    client: &Client,
    key: &Key,
    sharing: Sharing,
) -> Result<(), OpenError> {
    let (name, value) = (key.policy.stored_name(), sharing.stored().as_bytes());
    client.execute(KEEP, &[&TenantId::DEFAULT.number(), &name, &value]).await?;
    Ok(())
}

/// Fails if users share a key that is to be unique. The error lists some of them.
pub(crate) async fn refuse_shared(client: &Client, key: &Key) -> Result<(), OpenError> {
    let count: i64 = client.query_one(key.count, &[]).await?.try_get(0)?;
    if count == 0 {
        return Ok(());
    }
    let mut users = Vec::new();
    for row in client.query(key.list, &[]).await? {
        let ids: Vec<Uuid> = row.try_get(0)?;
        users.push(ids.into_iter().map(id_of).collect());
    }
    let shared = SharedKeys { key: key.policy, count: count.unsigned_abs(), users };
    Err(OpenError::Shared(shared))
}
