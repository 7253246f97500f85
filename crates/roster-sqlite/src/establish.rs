//! What a store is born with: the identity of its log, the secret, the counters, and the
//! uniqueness policy. A configuration that states another policy is refused.

use roster_core::{Head, LogId, PolicyKey, PolicyMismatch, Rules, store::Secret};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{open_error::OpenError, policy, scrub, settings::Settings};

/// What is read once, when the store is opened.
pub(crate) struct Established {
    pub(crate) log_id: LogId,
    pub(crate) secret: Secret,
    pub(crate) head: Head,
    pub(crate) rules: Rules,
    /// The last purge after which the files were not swept yet.
    pub(crate) purged: Option<i64>,
}

/// The name of the secret among the settings.
const CURSOR_SECRET: &str = "cursor_secret";

const READ_HEAD: &str =
    "SELECT log_id, position, active, suspended, deleted FROM log_head WHERE number = 1";
const CREATE_HEAD: &str = "INSERT INTO log_head VALUES (1, ?1, 0, 0, 0, 0)";
pub(crate) const READ_SETTING: &str = "SELECT value FROM settings WHERE name = ?1";
pub(crate) const WRITE_SETTING: &str = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = ?2 WHERE value <> ?2";

/// How many addresses belong to more than one user. The text condition leaves absent ones out.
pub(crate) const COUNT_SHARED_EMAILS: &str = "SELECT count(*) FROM (SELECT 1 FROM users \
     WHERE email_key >= '' AND email_key < x'' GROUP BY email_key HAVING count(*) > 1)";
/// How many external ids belong to more than one user.
pub(crate) const COUNT_SHARED_EXTERNAL_IDS: &str = "SELECT count(*) FROM (SELECT 1 FROM users \
     WHERE external_id IS NOT NULL GROUP BY external_id HAVING count(*) > 1)";

/// Reads what the store was born with, or gives it birth. Refuses a configuration that states
/// another policy than the store has.
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
    let secret = Secret(setting(&transaction, CURSOR_SECRET)?);
    let (log_id, head) = read_or_create_head(&transaction)?;
    let purged = scrub::marked(&transaction)?;
    transaction.commit()?;
    Ok(Established { log_id, secret, head, rules, purged })
}

/// Gives a store the identity of its log and its secret where it has none yet. Looks at no policy.
pub(crate) fn begin(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let _: [u8; 32] = setting(&transaction, CURSOR_SECRET)?;
    read_or_create_head(&transaction)?;
    Ok(transaction.commit()?)
}

/// Random bytes that are made once.
fn setting<const N: usize>(
    transaction: &Transaction<'_>,
    name: &str,
) -> Result<[u8; N], OpenError> {
    let stored: Option<[u8; N]> =
        transaction.query_row(READ_SETTING, [name], |row| row.get(0)).optional()?;
    if let Some(bytes) = stored {
        return Ok(bytes);
    }
    let bytes = random()?;
    transaction.execute(WRITE_SETTING, params![name, bytes])?;
    Ok(bytes)
}

fn read_or_create_head(transaction: &Transaction<'_>) -> Result<(LogId, Head), OpenError> {
    let stored = transaction
        .query_row(READ_HEAD, [], |row| {
            let head = Head {
                position: row.get(1)?,
                active: row.get(2)?,
                suspended: row.get(3)?,
                deleted: row.get(4)?,
            };
            Ok((LogId(row.get(0)?), head))
        })
        .optional()?;
    if let Some(stored) = stored {
        return Ok(stored);
    }
    let log_id: [u8; 8] = random()?;
    transaction.execute(CREATE_HEAD, [log_id])?;
    Ok((LogId(log_id), Head { position: 0, active: 0, suspended: 0, deleted: 0 }))
}

fn random<const N: usize>() -> Result<[u8; N], OpenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(OpenError::Random)?;
    Ok(bytes)
}
