//! Tenants.

use std::sync::Arc;

use roster_core::{
    Answer, Head, Store, StoreError, Tenant, TenantId, TenantName, TenantStore,
    tenant::{
        TenantAct, TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantPage,
        TenantQuery,
    },
};
use roster_engine::{change_tenant, tenant, tenants, tenants_generation, totals};

use crate::{
    connection::{BEGIN_AT_HEAD, Connection},
    in_force::begin_era_of_tenant,
    pool::{LONG, SHORT},
    postgres::Postgres,
    reads::rows::Rows,
};

impl TenantStore for Postgres {
    fn of_tenant(&self, tenant: TenantId) -> Answer<'_, Result<Arc<dyn Store>, StoreError>> {
        Box::pin(async move {
            let store: Arc<dyn Store> = Arc::new(self.of(tenant).await?);
            Ok(store)
        })
    }

    fn tenant(
        &self,
        name: TenantName,
    ) -> Answer<'_, Result<Option<(Tenant, TenantCounts)>, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<_>| {
                let name = name.clone();
                async move { tenant(Rows::of_store(&c), &name).await }
            };
            self.shared.run(read).await
        })
    }

    fn totals(&self) -> Answer<'_, Result<Head, StoreError>> {
        Box::pin(self.shared.run(|c| async move { totals(Rows::of_store(&c)).await }))
    }

    fn tenants(&self, query: TenantQuery) -> Answer<'_, Result<TenantPage, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<_>| {
                let query = query.clone();
                async move { tenants(Rows::of_store(&c), &query).await }
            };
            self.exclusive.run(LONG, read).await
        })
    }

    fn tenants_generation(&self) -> Answer<'_, Result<i64, StoreError>> {
        let read = |c: Arc<_>| async move { tenants_generation(Rows::of_store(&c)).await };
        Box::pin(self.shared.run(read))
    }

    fn change_tenant(
        &self,
        change: TenantChange,
    ) -> Answer<'_, Result<TenantDecision, TenantFailure>> {
        Box::pin(async move {
            let restores = matches!(change.act, TenantAct::Restore(_));
            let is_live_changed = match &change.act {
                TenantAct::Create(_) | TenantAct::Replace(..) | TenantAct::Patch(..) => false,
                TenantAct::Delete(_) | TenantAct::Restore(_) | TenantAct::Purge(_) => {
                    !change.is_dry_run
                }
            };
            // One that deletes or restores a tenant ends the era, so that batches of the tenant are
            // decided again.
            let write = |c: Arc<Connection>| {
                let change = change.clone();
                async move {
                    let work = async {
                        let decision = change_tenant(Rows::of_store(&c), &change).await?;
                        if is_live_changed && let Ok(TenantDecision { tenant, .. }) = &decision {
                            begin_era_of_tenant(Rows(&c, tenant.id)).await?;
                        }
                        Ok(decision)
                    };
                    let begin = if change.is_dry_run { "BEGIN" } else { BEGIN_AT_HEAD };
                    c.transaction(begin, work).await
                }
            };
            let decision = self.exclusive.run(SHORT, write).await?;
            if is_live_changed {
                // If this fails, the next write or the next periodic check reads it.
                drop(self.in_force.refresh().await);
                // Other processes may still take it for a tenant without a schema.
                if restores && decision.is_ok() {
                    self.in_force.outlive().await;
                }
            }
            Ok(decision?)
        })
    }
}
