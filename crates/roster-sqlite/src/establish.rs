//! The first rows of a store: the identity of its log, the secret, and the uniqueness policy. A
//! configuration that states another policy is an error.

use std::sync::Arc;

use roster_core::{LogId, PolicyKey, Rules, StoreError, TenantId, UserSchema, store::Secret};
use roster_engine::{
    LOG, SECRET_SETTING, Values, first, rules_with, stored_policy, user_schema, whole_policy,
};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::{
    failure::ReadResult,
    open_error::OpenError,
    policy::{self, WRITE_SETTING},
    purge::mark,
    reads::rows::{Rows, run},
    settings::Settings,
};

/// The rows that are read once, when the store is opened.
pub(crate) struct Established {
    pub(crate) log_id: LogId,
    pub(crate) secret: Secret,
    pub(crate) position: i64,
    pub(crate) rules: Rules,
    pub(crate) schema: Arc<UserSchema>,
    /// The last purge after which the files were not swept yet.
    pub(crate) purged: Option<i64>,
}

const CREATE_HEAD: &str = "INSERT INTO log_head VALUES (1, ?1, 0)";

/// Reads the first rows, or inserts them. Fails if the configuration states another policy than the
/// store has.
pub(crate) fn establish(
    connection: &mut Connection,
    settings: &Settings,
) -> Result<Established, OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let rows = Rows::of_store(&transaction);
    for key in PolicyKey::ALL.iter().copied() {
        if run(stored_policy(rows, key))?.is_none() {
            policy::set(&transaction, key, settings.rules.sharing(key))?;
        }
    }
    let policy = run(whole_policy(rows))?.ok_or(OpenError::NoStore)?;
    let rules = rules_with(settings.rules, &settings.stated, &policy)?;
    let secret = secret(&transaction)?;
    let (log_id, position) = read_or_create_head(&transaction)?;
    let purged = mark::number(&transaction, mark::NAME)?;
    let schema = run(user_schema(rows))?;
    transaction.commit()?;
    Ok(Established { log_id, secret, position, rules, schema, purged })
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
    if let Some(bytes) = run(roster_engine::secret(Rows::of_store(connection)))? {
        return Ok(Secret(bytes));
    }
    let bytes = random()?;
    connection
        .execute(WRITE_SETTING, params![TenantId::DEFAULT.number(), SECRET_SETTING, bytes])?;
    Ok(Secret(bytes))
}

pub(crate) fn read_head(connection: &Connection) -> ReadResult<Option<(LogId, i64)>> {
    let row = run(first(Rows::of_store(connection), LOG, &[]))?;
    let head = |row: Values| Ok::<_, StoreError>((row.log_id(0)?, row.number(1, "log_head")?));
    Ok(row.map(head).transpose()?)
}

fn read_or_create_head(connection: &Connection) -> Result<(LogId, i64), OpenError> {
    if let Some(stored) = read_head(connection)? {
        return Ok(stored);
    }
    let log_id: [u8; 8] = random()?;
    connection.execute(CREATE_HEAD, [log_id])?;
    Ok((LogId(log_id), 0))
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], OpenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(OpenError::Random)?;
    Ok(bytes)
}
