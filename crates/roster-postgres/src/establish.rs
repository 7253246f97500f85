//! What a store is born with, and what it remembers of how it was opened: the identity of its
//! log, the secret, and which keys are held unique.
//!
//! Uniqueness is an index, since other processes write too. A process that opens the store under
//! other rules makes or drops that index and begins a new era, in which those that still hold to
//! the old rules write no more.

use roster_core::{LogId, Rules, Sharing, store::Secret};
use tokio_postgres::Client;

use crate::{connect::Connector, open_error::OpenError, schema::Turn};

/// What is read once, when the store is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Established {
    pub(crate) log_id: LogId,
    pub(crate) secret: Secret,
    pub(crate) era: i64,
}

pub(crate) const SETTING: &str = "SELECT value FROM settings WHERE name = $1";
const KEEP_FIRST: &str = "INSERT INTO settings (name, value) VALUES ($1, $2) \
     ON CONFLICT (name) DO NOTHING";
const KEEP: &str = "INSERT INTO settings (name, value) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const CREATE_HEAD: &str = "INSERT INTO log_head \
     (number, era, log_id, position, active, suspended, deleted) \
     VALUES (1, 1, $1, 0, 0, 0, 0) ON CONFLICT (number) DO NOTHING";
const HEAD: &str = "SELECT era, log_id FROM log_head WHERE number = 1";
const NEXT_ERA: &str = "UPDATE log_head SET era = era + 1 WHERE number = 1";

const GROUPS_HEAD: &str = "SELECT total FROM groups_head WHERE id = 1";
const CREATE_GROUPS_HEAD: &str =
    "INSERT INTO groups_head (id, total) VALUES (1, 0) ON CONFLICT (id) DO NOTHING";

/// The setting that stands while `roster migrate` fills the database.
const MIGRATION: &str = "migration";

/// The setting of the secret that cursors are sealed with.
const SECRET: &str = "cursor_secret";

/// A key that may be unique.
pub(crate) struct Key {
    /// The setting that remembers how it was held last.
    pub(crate) setting: &'static str,
    /// Makes the index that holds it unique.
    pub(crate) make: &'static str,
    /// Drops that index.
    pub(crate) drop: &'static str,
    pub(crate) count: &'static str,
    refuse: fn(u64) -> OpenError,
}

const EMAIL: Key = Key {
    setting: "email_sharing",
    make: "CREATE UNIQUE INDEX IF NOT EXISTS users_email_unique ON users (email_key) \
         WHERE email_key < '\\xff'",
    drop: "DROP INDEX IF EXISTS users_email_unique",
    count: "SELECT count(*) FROM (SELECT 1 FROM users WHERE email_key < '\\xff' \
         GROUP BY email_key HAVING count(*) > 1) AS shared",
    refuse: |count| OpenError::SharedEmails { count },
};

const EXTERNAL_ID: Key = Key {
    setting: "external_id_sharing",
    make: "CREATE UNIQUE INDEX IF NOT EXISTS users_external_id_unique ON users (external_id) \
         WHERE external_id IS NOT NULL",
    drop: "DROP INDEX IF EXISTS users_external_id_unique",
    count: "SELECT count(*) FROM (SELECT 1 FROM users WHERE external_id IS NOT NULL \
         GROUP BY external_id HAVING count(*) > 1) AS shared",
    refuse: |count| OpenError::SharedExternalIds { count },
};

/// The keys that may be unique.
pub(crate) const KEYS: [&Key; 2] = [&EMAIL, &EXTERNAL_ID];

/// Reads what the store was born with, or gives it birth; holds the data against the rules.
pub(crate) async fn establish(
    connector: &Connector,
    rules: Rules,
) -> Result<Established, OpenError> {
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    if setting(client, MIGRATION).await?.is_some() {
        return Err(OpenError::Unfinished);
    }
    if let Some(established) = read(client, rules).await? {
        return Ok(established);
    }
    // One process at a time changes what all of them read.
    let turn = Turn::take(connector).await?;
    if setting(client, MIGRATION).await?.is_some() {
        return Err(OpenError::Unfinished);
    }
    give_birth(client).await?;
    keep_groups(client).await?;
    hold(client, &EMAIL, rules.email).await?;
    hold(client, &EXTERNAL_ID, rules.external_id).await?;
    turn.end().await?;
    read(client, rules).await?.ok_or_else(|| damaged("rules"))
}

/// Refuses a database that `roster migrate` has not filled to its end.
pub(crate) async fn refuse_unfinished(connector: &Connector) -> Result<(), OpenError> {
    let connection = connector.connect_patiently().await?;
    match setting(connection.client(), MIGRATION).await? {
        Some(_) => Err(OpenError::Unfinished),
        None => Ok(()),
    }
}

/// What the store was born with, if it is, and is held to these rules.
async fn read(client: &Client, rules: Rules) -> Result<Option<Established>, OpenError> {
    let Some(head) = client.query_opt(HEAD, &[]).await? else { return Ok(None) };
    for (key, sharing) in [(&EMAIL, rules.email), (&EXTERNAL_ID, rules.external_id)] {
        if setting(client, key.setting).await?.as_deref() != Some(word(sharing)) {
            return Ok(None);
        }
    }
    if client.query_opt(GROUPS_HEAD, &[]).await?.is_none() {
        return Ok(None);
    }
    let Some(secret) = setting(client, SECRET).await? else { return Ok(None) };
    let secret: [u8; 32] = secret.try_into().map_err(|_| damaged(SECRET))?;
    let log_id: &[u8] = head.try_get(1)?;
    let log_id = log_id.try_into().map_err(|_| damaged("log_id"))?;
    Ok(Some(Established { log_id: LogId(log_id), secret: Secret(secret), era: head.try_get(0)? }))
}

async fn give_birth(client: &Client) -> Result<(), OpenError> {
    client.execute(KEEP_FIRST, &[&SECRET, &random::<32>()?.as_slice()]).await?;
    client.execute(CREATE_HEAD, &[&random::<8>()?.as_slice()]).await?;
    Ok(())
}

/// From here on there may be groups. Those who know of none do not take who is deleted out of
/// them, so that they must write no more.
async fn keep_groups(client: &Client) -> Result<(), OpenError> {
    if client.query_opt(GROUPS_HEAD, &[]).await?.is_none() {
        client.execute(NEXT_ERA, &[]).await?;
        client.execute(CREATE_GROUPS_HEAD, &[]).await?;
    }
    Ok(())
}

const fn word(sharing: Sharing) -> &'static [u8] {
    match sharing {
        Sharing::Unique => b"unique",
        Sharing::Shared => b"shared",
    }
}

/// Holds a key unique, or lets it be shared. What was so all along is not looked at.
async fn hold(client: &Client, key: &Key, sharing: Sharing) -> Result<(), OpenError> {
    let stored = setting(client, key.setting).await?;
    if stored.as_deref() == Some(word(sharing)) {
        return Ok(());
    }
    match sharing {
        Sharing::Unique => {
            let shared: i64 = client.query_one(key.count, &[]).await?.try_get(0)?;
            if shared > 0 {
                return Err((key.refuse)(shared.unsigned_abs()));
            }
            client.execute(NEXT_ERA, &[]).await?;
            client.batch_execute(key.make).await?;
        }
        Sharing::Shared => {
            client.execute(NEXT_ERA, &[]).await?;
            client.batch_execute(key.drop).await?;
        }
    }
    client.execute(KEEP, &[&key.setting, &word(sharing)]).await?;
    Ok(())
}

async fn setting(client: &Client, name: &str) -> Result<Option<Vec<u8>>, OpenError> {
    let row = client.query_opt(SETTING, &[&name]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

fn random<const N: usize>() -> Result<[u8; N], OpenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(OpenError::Random)?;
    Ok(bytes)
}

fn damaged(what: &str) -> OpenError {
    OpenError::Damaged { what: what.to_owned() }
}
