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
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
};
use roster_engine::{Database as _, change_keys, changed_keys, key, keys, tenant, tenant_name};
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

    fn read<'a, T: Send + 'a>(
        &self,
        read: impl FnOnce(Rows<'_>) -> ReadResult<T>,
    ) -> Answer<'a, Result<T, StoreError>> {
        let result = read(Rows::of_store(&lock(&self.connection)));
        Box::pin(future::ready(result.map_err(StoreError::from)))
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
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        self.read(|rows| run(changed_keys(rows, known)))
    }

    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>> {
        self.read(|rows| run(keys(rows, view)))
    }

    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>> {
        self.read(|rows| run(key(rows, id)))
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
        self.read(|rows| Ok(run(tenant(rows, &name))?.map(|(tenant, _)| tenant)))
    }

    fn name_of_tenant(
        &self,
        tenant: TenantId,
    ) -> Answer<'_, Result<Option<(TenantName, bool)>, StoreError>> {
        self.read(|rows| run(tenant_name(rows.of(tenant))))
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
