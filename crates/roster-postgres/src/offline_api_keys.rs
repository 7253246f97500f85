//! The keys of a database, for a process that creates and revokes keys and serves no users.
//!
//! Other processes may serve the same database meanwhile. The uniqueness policy is not read, so
//! that creating a key needs no setting.

use std::sync::Arc;

use roster_core::{
    Answer, KeyStore, OfflineKeyStore, StoreError, Tenant, TenantId, TenantName, Timestamp,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
};

use roster_engine::{changed_keys, key, keys, tenant, tenant_name};

use crate::{
    api_keys,
    connect::Connector,
    establish,
    migrations::{migrate, refuse_other_steps},
    open_error::OpenError,
    pool::{ExclusivePool, SHORT},
    reads::rows::Rows,
};

/// The keys of a database.
pub struct KeyTable(ExclusivePool);

impl KeyTable {
    /// Opens the keys of a database, or creates a store there.
    pub async fn create(connector: Connector) -> Result<Self, OpenError> {
        migrate(&connector).await?;
        establish::begin(&connector).await?;
        Ok(Self(ExclusivePool::new(connector, 1)))
    }

    /// Opens the keys of a database that has a store of this release.
    pub async fn open(connector: Connector) -> Result<Self, OpenError> {
        let connection = connector.connect_for_maintenance().await?;
        establish::refuse_none(connection.client()).await?;
        refuse_other_steps(connection.client()).await?;
        establish::refuse_migration(&connection).await?;
        Ok(Self(ExclusivePool::new(connector, 1)))
    }
}

impl KeyStore for KeyTable {
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<_>| async move { changed_keys(Rows::of_store(&c), known).await };
            self.0.run(SHORT, read).await
        })
    }

    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<_>| async move { keys(Rows::of_store(&c), view).await };
            self.0.run(SHORT, read).await
        })
    }

    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<_>| async move { key(Rows::of_store(&c), id).await };
            self.0.run(SHORT, read).await
        })
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(async move { Ok(self.0.run(SHORT, |c| api_keys::change(c, &change)).await??) })
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move { self.0.run(SHORT, |c| api_keys::note_use(c, &uses)).await })
    }
}

impl OfflineKeyStore for KeyTable {
    fn tenant_of_name(&self, name: TenantName) -> Answer<'_, Result<Option<Tenant>, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<_>| {
                let name = name.clone();
                async move { tenant(Rows::of_store(&c), &name).await }
            };
            Ok(self.0.run(SHORT, read).await?.map(|(tenant, _)| tenant))
        })
    }

    fn name_of_tenant(
        &self,
        tenant: TenantId,
    ) -> Answer<'_, Result<Option<(TenantName, bool)>, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<_>| async move { tenant_name(Rows(&c, tenant)).await };
            self.0.run(SHORT, read).await
        })
    }
}
