//! The keys of a store: created and revoked while it is not served, and listed at any time.
//!
//! For changes it holds the locks of the store until it is dropped. It does not read the uniqueness
//! policy, so that creating a key needs no setting.

use std::{
    future,
    path::{Path, PathBuf},
    sync::Mutex,
};

use roster_core::{
    Answer, KeyStore, OfflineKeyStore, Rules, StoreError, Tenant, TenantId, TenantName, Timestamp,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, Keyring},
};
use roster_engine::{change_keys, keyring, tenant, tenant_name};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::{
    backup::{BackupError, open_store},
    connection, establish,
    failure::{ReadResult, store_error},
    lock::StoreLock,
    mutex::lock,
    open_error::OpenError,
    reads::rows::{Rows, run},
    settings::Settings,
};

/// The keys of the store in a data directory.
pub struct KeyFile {
    connection: Mutex<Connection>,
    _lock: Option<StoreLock>,
}

impl KeyFile {
    /// Opens the keys of a data directory, or creates a store there.
    pub fn open(directory: PathBuf) -> Result<Self, OpenError> {
        let lock = StoreLock::take(&directory, true)?;
        let mut connection = connection::open_writer(&Settings::new(directory, Rules::default()))?;
        establish::begin(&mut connection)?;
        Ok(Self { connection: Mutex::new(connection), _lock: Some(lock) })
    }

    /// Opens the keys of a data directory for reading, served or not. Changes fail.
    pub fn open_to_read(directory: &Path) -> Result<Self, BackupError> {
        Ok(Self { connection: Mutex::new(open_store(directory)?), _lock: None })
    }

    fn write<T>(&self, work: impl FnOnce(&Connection) -> ReadResult<T>) -> Result<T, StoreError> {
        let mut connection = lock(&self.connection);
        let behavior = TransactionBehavior::Immediate;
        let transaction = connection.transaction_with_behavior(behavior).map_err(store_error)?;
        let done = work(&transaction)?;
        transaction.commit().map_err(store_error)?;
        Ok(done)
    }

    fn change(&self, change: &KeyChange) -> Result<ApiKey, KeyFailure> {
        Ok(self.write(|connection| run(change_keys(Rows::of_store(connection), change)))??)
    }
}

impl KeyStore for KeyFile {
    fn keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        let connection = lock(&self.connection);
        Box::pin(future::ready(
            run(keyring(Rows::of_store(&connection), known)).map_err(StoreError::from),
        ))
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(future::ready(self.change(&change)))
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(future::ready(self.write(|connection| Ok(note_use(connection, &uses)?))))
    }
}

impl OfflineKeyStore for KeyFile {
    fn tenant_of_name(&self, name: TenantName) -> Answer<'_, Result<Option<Tenant>, StoreError>> {
        let connection = lock(&self.connection);
        let found = run(tenant(Rows::of_store(&connection), &name));
        Box::pin(future::ready(
            found.map(|found| found.map(|(tenant, _)| tenant)).map_err(StoreError::from),
        ))
    }

    fn name_of_tenant(
        &self,
        tenant: TenantId,
    ) -> Answer<'_, Result<Option<TenantName>, StoreError>> {
        let connection = lock(&self.connection);
        let name = run(tenant_name(Rows(&connection, tenant)));
        Box::pin(future::ready(name.map_err(StoreError::from)))
    }
}

pub(crate) const NOTE_USE: &str =
    "UPDATE keys SET last_used_at = ?2 WHERE id = ?1 AND last_used_at < ?2";

/// Records when keys were used. Runs inside a transaction of the caller.
pub(crate) fn note_use(
    connection: &Connection,
    uses: &[(KeyId, Timestamp)],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(NOTE_USE)?;
    uses.iter().try_for_each(|(id, at)| {
        statement.execute(params![id.as_str(), at.as_millis()]).map(|_| ())
    })
}
