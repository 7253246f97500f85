//! The first rows of a store: the identity of its log, the secret, the counters, and the uniqueness
//! policy. A configuration that states another policy is an error.

use std::sync::Arc;

use roster_core::{Head, LogId, PolicyKey, PolicyMismatch, Rules, UserSchema, store::Secret};
use roster_engine::{SCHEMA_SETTING, schema_of};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use crate::{
    head::head_of,
    open_error::OpenError,
    policy, scrub,
    settings::Settings,
    stored_setting::{WRITE_SETTING, setting},
};

/// The rows that are read once, when the store is opened.
pub(crate) struct Established {
    pub(crate) log_id: LogId,
    pub(crate) secret: Secret,
    pub(crate) head: Head,
    pub(crate) rules: Rules,
    pub(crate) schema: Arc<UserSchema>,
    /// The last purge after which the files were not swept yet.
    pub(crate) purged: Option<i64>,
}

/// The name of the secret among the settings.
const CURSOR_SECRET: &str = "cursor_secret";

const READ_HEAD: &str =
    "SELECT log_id, position, active, suspended, deleted FROM log_head WHERE number = 1";
const CREATE_HEAD: &str = "INSERT INTO log_head VALUES (1, ?1, 0, 0, 0, 0)";

/// Reads the first rows, or inserts them. Fails if the configuration states another policy than the
/// store has.
pub(crate) fn establish(
    connection: &mut Connection,
    settings: &Settings,
) -> Result<Established, OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut rules = settings.rules;
    for key in PolicyKey::ALL.iter().copied() {
        let stated = rules.sharing(key);
        let Some(stored) = policy::of(&transaction, key)? else {
            policy::set(&transaction, key, stated)?;
            continue;
        };
        if stored != stated && settings.stated.contains(&key) {
            return Err(PolicyMismatch { key, stored, stated }.into());
        }
        rules = rules.with_sharing(key, stored);
    }
    let secret = secret(&transaction)?;
    let (log_id, head) = read_or_create_head(&transaction)?;
    let purged = scrub::marked(&transaction)?;
    let schema = setting::<String>(&transaction, SCHEMA_SETTING)?;
    let schema = schema_of(schema.as_deref().map(str::as_bytes))
        .map_err(|_| OpenError::Damaged(SCHEMA_SETTING.to_owned()))?;
    transaction.commit()?;
    Ok(Established { log_id, secret, head, rules, schema, purged })
}

/// Inserts the identity of the log and the secret if they are missing. Does not read the policy.
pub(crate) fn begin(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    secret(&transaction)?;
    read_or_create_head(&transaction)?;
    Ok(transaction.commit()?)
}

/// The secret, which is created once.
fn secret(connection: &Connection) -> Result<Secret, OpenError> {
    if let Some(bytes) = setting(connection, CURSOR_SECRET)? {
        return Ok(Secret(bytes));
    }
    let bytes = random()?;
    connection.execute(WRITE_SETTING, params![CURSOR_SECRET, bytes])?;
    Ok(Secret(bytes))
}

/// The identity of the log, and its head.
pub(crate) fn read_head(connection: &Connection) -> rusqlite::Result<Option<(LogId, Head)>> {
    let head = |row: &Row<'_>| Ok((LogId(row.get(0)?), head_of(row, 1)?));
    connection.query_row(READ_HEAD, [], head).optional()
}

fn read_or_create_head(connection: &Connection) -> Result<(LogId, Head), OpenError> {
    if let Some(stored) = read_head(connection)? {
        return Ok(stored);
    }
    let log_id: [u8; 8] = random()?;
    connection.execute(CREATE_HEAD, [log_id])?;
    Ok((LogId(log_id), Head { position: 0, active: 0, suspended: 0, deleted: 0 }))
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], OpenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(OpenError::Random)?;
    Ok(bytes)
}
