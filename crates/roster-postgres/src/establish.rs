//! The first rows of a store: the identity of its log, the secret, and the uniqueness policy.
//!
//! A unique index enforces uniqueness, because several processes write. The first process decides
//! the policy. Only [`crate::change_policy`] changes it. A configuration that states another policy
//! is an error.

use roster_core::{Sharing, store::Secret};
use roster_engine::{
    SECRET_SETTING, first, rules_with, secret, setting, stored_policy, user_schema, whole_policy,
};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::{
    connect::Connector,
    connection::Connection,
    failure::QueryResult,
    in_force::InForce,
    migrations::{MigrationLock, refuse_hidden},
    open_error::OpenError,
    reads::rows::Rows,
    settings::Settings,
    uniqueness::{KEYS, Key, keep_policy, refuse_shared},
};

/// The rows that are read once, when the store is opened.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) secret: Secret,
    pub(crate) in_force: InForce,
}

const KEEP_FIRST: &str = "INSERT INTO settings (tenant, name, value) VALUES (0, $1, $2) \
     ON CONFLICT (tenant, name) DO NOTHING";
const CREATE_HEAD: &str = "INSERT INTO log_head (number, era, log_id, position) \
     VALUES (1, 1, $1, 0) ON CONFLICT (number) DO NOTHING";
const HEAD: &str = "SELECT era, log_id FROM log_head WHERE number = 1";

/// Begins an era in which the policy of the store is another one.
pub(crate) const NEXT_ERA: &str =
    "UPDATE log_head SET era = era + 1, writer_era = NULL WHERE number = 1";

const HAS_STORE: &str =
    "SELECT to_regclass('log_head') IS NOT NULL AND to_regclass('settings') IS NOT NULL";

const CREATE_DEFAULT_TENANT: &str = "INSERT INTO tenants \
     (id, version, status, created_at, updated_at, active, suspended, deleted, groups) \
     VALUES (0, 1, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING";

/// The setting that exists while `roster migrate` fills the database.
const MIGRATION: &str = "migration";

/// Reads the first rows of the store, or inserts them. Fails if the configuration states another
/// policy than the store has.
pub(crate) async fn establish(settings: &Settings) -> Result<Established, OpenError> {
    let connector = &settings.connector;
    let mut connection = connector.connect_for_maintenance().await?;
    refuse_migration(&connection).await?;
    if read(&connection, settings).await?.is_some() {
        return follow(&mut connection, settings).await;
    }
    let client = connection.client();
    // Only one process at a time changes rows that all processes read.
    let lock = MigrationLock::take(connector).await?;
    refuse_migration(&connection).await?;
    create_rows(client).await?;
    for key in KEYS {
        if stored_policy(Rows::of_store(&connection), key.policy).await?.is_none() {
            begin_policy(client, key, settings.rules.sharing(key.policy)).await?;
        }
    }
    lock.end().await?;
    follow(&mut connection, settings).await
}

/// Reads the first rows, after the log has become the one that this process follows.
async fn follow(
    connection: &mut Connection,
    settings: &Settings,
) -> Result<Established, OpenError> {
    settings.connector.follow_log(connection).await?;
    let established = read(connection, settings).await?;
    established.ok_or_else(|| OpenError::Damaged("rules".to_owned()))
}

/// The server process of a session.
const BACKEND: &str = "SELECT pg_backend_pid()";

/// Begins the transaction of the check for a pooler. On a busy machine more than the second that
/// sessions have may pass between its statements.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '30s'";

/// Fails if another client can use the session of this process. A pooler in transaction mode gives
/// a session to another client as soon as a transaction ends. Its next transaction would not have
/// the settings of its session.
pub(crate) async fn refuse_pooler(connector: &Connector) -> Result<(), OpenError> {
    let one = connector.connect_patiently().await?;
    let other = connector.connect_patiently().await?;
    let before = backend(&one).await?;
    // A pooler gives this transaction a session that is free, if possible that of the first client.
    other.client().batch_execute(BEGIN).await?;
    let between = backend(&other).await?;
    let is_pooled = before == between || backend(&one).await? != before;
    other.client().batch_execute("COMMIT").await?;
    if is_pooled { Err(OpenError::Pooled) } else { Ok(()) }
}

/// The server process that executes a statement. It is not prepared: a pooler may not know it.
async fn backend(connection: &Connection) -> Result<Option<String>, OpenError> {
    let rows = connection.client().simple_query(BACKEND).await?;
    let number = rows.iter().find_map(|message| {
        if let SimpleQueryMessage::Row(row) = message {
            row.get(0).map(str::to_owned)
        } else {
            None
        }
    });
    Ok(number)
}

/// Fails if the database contains no store.
pub(crate) async fn refuse_none(client: &Client) -> Result<(), OpenError> {
    let has_store: bool = client.query_one(HAS_STORE, &[]).await?.try_get(0)?;
    if has_store {
        return Ok(());
    }
    refuse_hidden(client).await?;
    Err(OpenError::NoStore)
}

/// Inserts the first rows of a store that has none, except the policy, which the first service
/// decides. Fails if a migration into the database is not finished.
pub(crate) async fn begin(connector: &Connector) -> Result<(), OpenError> {
    let connection = connector.connect_patiently().await?;
    refuse_migration(&connection).await?;
    if first(Rows::of_store(&connection), HEAD, &[]).await?.is_some() {
        return Ok(());
    }
    let lock = MigrationLock::take(connector).await?;
    refuse_migration(&connection).await?;
    create_rows(connection.client()).await?;
    lock.end().await
}

/// Fails if a migration into the database is not finished. Uses an open connection.
pub(crate) async fn refuse_migration(connection: &Connection) -> Result<(), OpenError> {
    match setting(Rows::of_store(connection), MIGRATION).await? {
        Some(_) => Err(OpenError::Unfinished),
        None => Ok(()),
    }
}

/// Reads the first rows; `None` if one of them is missing.
async fn read(
    connection: &Connection,
    settings: &Settings,
) -> Result<Option<Established>, OpenError> {
    let rows = Rows::of_store(connection);
    let Some(head) = first(rows, HEAD, &[]).await? else { return Ok(None) };
    let Some(policy) = whole_policy(rows).await? else { return Ok(None) };
    let rules = rules_with(settings.rules, &settings.stated, &policy)?;
    let Some(bytes) = secret(rows).await? else { return Ok(None) };
    let schema = user_schema(rows).await?;
    let ids = || -> QueryResult<_> { Ok((head.number(0, "era")?, head.log_id(1)?)) };
    let (era, log) = ids()?;
    let in_force = InForce { rules, schema: Some(schema), era, log };
    Ok(Some(Established { secret: Secret(bytes), in_force }))
}

/// Inserts the secret, the head of the log and the default tenant.
async fn create_rows(client: &Client) -> Result<(), OpenError> {
    client.execute(KEEP_FIRST, &[&SECRET_SETTING, &random::<32>()?.as_slice()]).await?;
    client.execute(CREATE_HEAD, &[&random::<8>()?.as_slice()]).await?;
    client.execute(CREATE_DEFAULT_TENANT, &[]).await?;
    Ok(())
}

/// Decides the policy of a store that has none.
async fn begin_policy(client: &Client, key: &Key, sharing: Sharing) -> Result<(), OpenError> {
    if sharing == Sharing::Unique {
        refuse_shared(client, key).await?;
        client.batch_execute(key.make).await?;
    }
    client.execute(NEXT_ERA, &[]).await?;
    keep_policy(client, key, sharing).await
}

fn random<const N: usize>() -> Result<[u8; N], OpenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
