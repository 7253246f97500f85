//! Reading and changing the uniqueness policy of a database, served or not.
//!
//! A change is one transaction: the unique index, the setting and the next era take effect
//! together. Writes that were decided under the previous policy are rejected because of their era
//! and are decided again.

use std::time::Duration;

use roster_core::{PolicyKey, Sharing, Timestamp};
use roster_engine::{append_policy, stored_policy, whole_policy};
use tokio::time::sleep;
use tokio_postgres::error::SqlState;

use crate::{
    connect::Connector,
    connection::{Connection, WARNED},
    establish::{NEXT_ERA, refuse_migration, refuse_none},
    failure::WithoutDetail,
    open_error::OpenError,
    reads::rows::Rows,
    uniqueness::{self, Key, keep_policy, refuse_shared},
};

/// Changes of the policy of a key run one after the other.
const LOCK_POLICY: &str = "SELECT value FROM settings WHERE tenant = 0 AND name = $1 FOR UPDATE";

/// The maximum wait of one attempt for the lock on the table. It is short, because later sessions
/// wait until the attempt ends.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '1s'";

/// The maximum number of attempts to lock the table.
const ATTEMPTS_MAX: u32 = 60;

/// The pause between two attempts, in which other sessions can use the table.
const PAUSE: Duration = Duration::from_millis(500);

/// The policy of a database.
pub async fn read_policy(connector: &Connector) -> Result<Vec<(PolicyKey, Sharing)>, OpenError> {
    let connection = connector.connect_for_maintenance().await?;
    refuse_none(connection.client()).await?;
    whole_policy(Rows::of_store(&connection)).await?.ok_or(OpenError::NoStore)
}

/// Changes the policy of a key, and appends the event. Returns false if it was set already. Fails
/// if users share keys that are to be unique.
pub async fn change_policy(
    connector: &Connector,
    key: PolicyKey,
    sharing: Sharing,
    at: Timestamp,
) -> Result<bool, OpenError> {
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    refuse_none(client).await?;
    for _ in 0..ATTEMPTS_MAX {
        let changed = change(&connection, uniqueness::key(key), sharing).await;
        let changed = match changed {
            Ok(true) => append_policy(Rows::of_store(&connection), at)
                .await
                .map(|()| true)
                .map_err(OpenError::from),
            changed => changed,
        };
        if changed.as_ref().is_err_and(|error| !is_passing(error)) {
            return changed;
        }
        connection.forget_warnings();
        let end = if matches!(changed, Ok(true)) { "COMMIT" } else { "ROLLBACK" };
        client.batch_execute(end).await?;
        if connection.was_warned() {
            return Err(OpenError::Database(WARNED.into()));
        }
        if changed.is_ok() {
            return changed;
        }
        sleep(PAUSE).await;
    }
    Err(OpenError::Busy)
}

/// Whether another attempt may succeed: other sessions have locked the table, or one has just
/// written a shared value, which the next attempt reports.
fn is_passing(error: &OpenError) -> bool {
    let OpenError::Database(error) = error else { return false };
    let code = error.downcast_ref::<WithoutDetail>().and_then(|error| error.0.code());
    let passing = [SqlState::LOCK_NOT_AVAILABLE, SqlState::UNIQUE_VIOLATION];
    code.is_some_and(|code| passing.contains(code))
}

/// Executes the change, without its commit.
async fn change(connection: &Connection, key: &Key, sharing: Sharing) -> Result<bool, OpenError> {
    let client = connection.client();
    client.batch_execute("BEGIN").await?;
    client.batch_execute(LOCK_TIMEOUT).await?;
    client.query(LOCK_POLICY, &[&key.policy.stored_name()]).await?;
    refuse_migration(connection).await?;
    match stored_policy(Rows::of_store(connection), key.policy).await? {
        Some(stored) if stored == sharing => return Ok(false),
        Some(_) => {}
        None => return Err(OpenError::NoStore),
    }
    if sharing == Sharing::Unique {
        refuse_shared(client, key).await?;
    }
    // The change of the index locks the table: before the head, in the same order as writers.
    let index = match sharing {
        Sharing::Unique => key.make,
        Sharing::Shared => key.drop,
    };
    client.batch_execute(index).await?;
    client.execute(NEXT_ERA, &[]).await?;
    keep_policy(client, key, sharing).await?;
    Ok(true)
}
