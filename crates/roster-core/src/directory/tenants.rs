//! Tenants, whose directories [`Directory::of_tenant`] returns.

use super::Directory;
use crate::{
    access::{Permit, RunTenants},
    failure::StoreError,
    store::Head,
    tenant::{
        Tenant, TenantAct, TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantName,
        TenantPage, TenantQuery, TenantSelection,
    },
    write::command::{Caller, Mode, Preconditions},
};

impl Directory {
    /// The tenant with this name, and its counters.
    pub async fn tenant(
        &self,
        name: TenantName,
    ) -> Result<Option<(Tenant, TenantCounts)>, StoreError> {
        self.store.tenant(name).await
    }

    /// The number of changes of tenants so far.
    pub async fn tenants_generation(&self) -> Result<i64, StoreError> {
        self.store.tenants_generation().await
    }

    /// The end of the change log, and the counters of all tenants together.
    pub async fn totals(&self) -> Result<Head, StoreError> {
        self.store.totals().await
    }

    /// One page of tenants.
    pub async fn list_tenants(
        &self,
        _may: Permit<RunTenants>,
        query: TenantQuery,
    ) -> Result<TenantPage, StoreError> {
        // No tenant has such an external id, and PostgreSQL refuses a parameter with a NUL.
        if let TenantSelection::ExternalId(id) = &query.selection
            && id.contains('\0')
        {
            return Ok(TenantPage { items: Vec::new(), has_more: false });
        }
        self.store.tenants(query).await
    }

    /// Creates or changes a tenant, and returns whether anything changed.
    pub async fn change_tenant(
        &self,
        _may: Permit<RunTenants>,
        act: TenantAct,
        preconditions: Preconditions,
        mode: Mode,
        caller: Caller,
    ) -> Result<TenantDecision, TenantFailure> {
        let (at, is_dry_run) = (self.clock.now(), mode == Mode::DryRun);
        let rules = self.store.rules();
        let change = TenantChange { act, preconditions, rules, at, caller, is_dry_run };
        self.store.change_tenant(change).await
    }
}
