//! What a store is born with, and what it remembers of how it was opened: the identity of its
//! log, the secret, the counters, and which keys were held to be unique.

use roster_core::{Head, LogId, Rules, Sharing, store::Secret};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{open_error::OpenError, scrub};

/// What is read once, when the store is opened.
pub(crate) struct Established {
    pub(crate) log_id: LogId,
    pub(crate) secret: Secret,
    pub(crate) head: Head,
    /// The last purge after which the files were not swept yet.
    pub(crate) purged: Option<i64>,
}

const READ_HEAD: &str =
    "SELECT log_id, position, active, suspended, deleted FROM log_head WHERE number = 1";
const CREATE_HEAD: &str = "INSERT INTO log_head VALUES (1, ?1, 0, 0, 0, 0)";
const READ_SETTING: &str = "SELECT value FROM settings WHERE name = ?1";
const WRITE_SETTING: &str = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = ?2 WHERE value <> ?2";

/// How many addresses belong to more than one user. The text condition leaves absent ones out.
pub(crate) const COUNT_SHARED_EMAILS: &str = "SELECT count(*) FROM (SELECT 1 FROM users \
     WHERE email_key >= '' AND email_key < x'' GROUP BY email_key HAVING count(*) > 1)";
/// How many external ids belong to more than one user.
pub(crate) const COUNT_SHARED_EXTERNAL_IDS: &str = "SELECT count(*) FROM (SELECT 1 FROM users \
     WHERE external_id IS NOT NULL GROUP BY external_id HAVING count(*) > 1)";

/// Reads what the store was born with, or gives it birth; holds the data against the rules.
pub(crate) fn establish(
    connection: &mut Connection,
    rules: Rules,
) -> Result<Established, OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    hold_unique(&transaction, "email_sharing", rules.email, COUNT_SHARED_EMAILS, |count| {
        OpenError::SharedEmails { count }
    })?;
    let count = COUNT_SHARED_EXTERNAL_IDS;
    hold_unique(&transaction, "external_id_sharing", rules.external_id, count, |count| {
        OpenError::SharedExternalIds { count }
    })?;
    let secret = Secret(setting(&transaction, "cursor_secret")?);
    let (log_id, head) = read_or_create_head(&transaction)?;
    let purged = scrub::marked(&transaction)?;
    transaction.commit()?;
    Ok(Established { log_id, secret, head, purged })
}

/// Refuses shared keys that are to be unique. Data that was held unique all along is not looked
/// at again.
fn hold_unique(
    transaction: &Transaction<'_>,
    name: &str,
    sharing: Sharing,
    count: &str,
    refuse: fn(u64) -> OpenError,
) -> Result<(), OpenError> {
    let text = match sharing {
        Sharing::Unique => "unique",
        Sharing::Shared => "shared",
    };
    let stored: Option<String> =
        transaction.query_row(READ_SETTING, [name], |row| row.get(0)).optional()?;
    if sharing == Sharing::Unique && stored.as_deref() != Some(text) {
        let shared: i64 = transaction.query_row(count, [], |row| row.get(0))?;
        if shared > 0 {
            return Err(refuse(shared.unsigned_abs()));
        }
    }
    transaction.execute(WRITE_SETTING, params![name, text])?;
    Ok(())
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
