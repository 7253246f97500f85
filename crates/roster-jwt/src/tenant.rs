//! The tenant that a token is for.

use roster_core::{
    Directory, Json, StoreError, Tenant, TenantId, TenantName,
    access::Permit,
    tenant::{TenantQuery, TenantSelection},
};

use crate::{Refused, token::text_of};

/// How the tokens of an issuer name their tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenTenant {
    /// All tokens are for the default tenant.
    Default,
    /// All tokens are for the tenant with this name.
    Named(TenantName),
    /// This claim is the name of the tenant, or its external id if no tenant has the name.
    Claim(String),
}

impl TokenTenant {
    /// The tenant of a token. A token whose claim names no tenant is rejected.
    pub(crate) async fn of(
        &self,
        claims: &Json,
        directory: &Directory,
    ) -> Result<TenantId, Refused> {
        let tenant = match self {
            Self::Default => return Ok(TenantId::DEFAULT),
            Self::Named(name) => find(name, directory).await,
            Self::Claim(claim) => {
                let text = text_of(claims, claim);
                let text = text.ok_or("the token lacks the claim with its tenant")?;
                named(text, directory).await
            }
        };
        // The store does not respond.
        let tenant = tenant.map_err(|_| Refused::Away)?;
        let tenant = tenant.filter(|tenant| tenant.deleted_at.is_none());
        Ok(tenant.ok_or("the tenant of the token does not exist")?.id)
    }
}

async fn find(name: &TenantName, directory: &Directory) -> Result<Option<Tenant>, StoreError> {
    Ok(directory.tenant(name.clone()).await?.map(|(tenant, _)| tenant))
}

/// The tenant with this name, which a deleted one keeps, otherwise the only one with this external
/// id.
async fn named(text: &str, directory: &Directory) -> Result<Option<Tenant>, StoreError> {
    if let Some(name) = TenantName::parse(text)
        && let Some(tenant) = find(&name, directory).await?
    {
        return Ok(Some(tenant));
    }
    let selection = TenantSelection::ExternalId(text.to_owned());
    let query = TenantQuery { selection, after: None, limit: 1 };
    let mut page = directory.list_tenants(Permit::of_the_service(), query).await?;
    let found = page.items.pop().filter(|_| !page.has_more);
    Ok(found.map(|(tenant, _)| tenant))
}
