//! Tenants of requests: the base URL of a tenant, who may call below it, and the tenants that were
//! looked up in the last second.
//!
//! `{base_url}/tenants/{tenant}` is to a tenant what `{base_url}` is to the default one. The prefix
//! is removed before the router, so the routes are the same for all tenants. Nobody learns whether
//! a tenant exists without a credential for it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use http::Uri;
use roster_core::{
    Directory, Status, StoreError, Tenant, TenantName,
    access::{Authority, Reach},
};

use crate::problem::{Problem, ProblemCode};

/// How long a tenant that was read is used, so a suspension is seen within this time.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The maximum number of tenants in memory.
const KEPT_MAX: usize = 10_000;

/// The segment of a path that names a tenant, as it was sent. It is among the extensions of a
/// request below the base URL of a tenant.
#[derive(Clone, Debug)]
pub(crate) struct Segment(pub(crate) String);

/// The segment of a path that names a tenant, and the target below that tenant's base URL. `None`
/// if the path is not below one.
pub(crate) fn split(uri: &Uri, base_path: &str) -> Option<(Segment, Uri)> {
    let target = uri.path_and_query()?.as_str();
    let below = target.strip_prefix(base_path)?.strip_prefix("/tenants/")?;
    let path_length = below.find('?').unwrap_or(below.len());
    let (path, query) = below.split_at_checked(path_length)?;
    let (name, rest) = path.split_once('/')?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{base_path}/{rest}{query}").parse().ok()?);
    Some((Segment(name.to_owned()), Uri::from_parts(parts).ok()?))
}

/// The tenants that were read lately.
#[derive(Default)]
pub(crate) struct Tenants {
    kept: Mutex<HashMap<TenantName, (Instant, Option<Tenant>)>>,
}

impl Tenants {
    /// The tenant with this name, as of the last second, unless it was deleted.
    pub(crate) async fn find(
        &self,
        directory: &Directory,
        name: &TenantName,
    ) -> Result<Option<Tenant>, StoreError> {
        let began = Instant::now();
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, tenant)) = kept().get(name)
            && began.saturating_duration_since(*read) < MAX_AGE
        {
            return Ok(tenant.clone());
        }
        let tenant = directory.tenant(name.clone()).await?.map(|(tenant, _)| tenant);
        let tenant = tenant.filter(|tenant| tenant.deleted_at.is_none());
        let mut kept = kept();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(name.clone(), (began, tenant.clone()));
        Ok(tenant)
    }

    /// Forgets a tenant that this process changed.
    pub(crate) fn forget(&self, name: &TenantName) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

/// The tenant, if the caller may call below its base URL. A tenant that does not exist and one that
/// the caller may not call have the same problem.
pub(crate) fn admitted(tenant: Option<Tenant>, caller: &Authority) -> Result<Tenant, Problem> {
    let tenant = tenant.filter(|tenant| caller.reach().includes(tenant.id));
    let tenant = tenant.ok_or_else(|| Problem::new(ProblemCode::TenantNotFound))?;
    if tenant.status == Status::Suspended && caller.reach() != Reach::All {
        return Err(Problem::new(ProblemCode::TenantSuspended));
    }
    Ok(tenant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(target: &str, base_path: &str) -> Option<(String, String)> {
        let (Segment(name), uri) = split(&target.parse().unwrap(), base_path)?;
        Some((name, uri.to_string()))
    }

    #[test]
    fn a_path_below_a_tenant_is_split() {
        let split = |name: &str, rest: &str| Some((name.to_owned(), rest.to_owned()));
        assert_eq!(parts("/tenants/acme/users?q=a/b", ""), split("acme", "/users?q=a/b"));
        assert_eq!(parts("/v1/tenants/acme/", "/v1"), split("acme", "/v1/"));
        assert_eq!(parts("/tenants/%2e%2e/users", ""), split("%2e%2e", "/users"));
        assert_eq!(parts("/tenants//users", ""), split("", "/users"));
        for other in ["/tenants/acme", "/tenants/acme?a=/b", "/tenants", "/users", "/tenantsx/a/b"]
        {
            assert_eq!(parts(other, ""), None, "{other}");
        }
    }
}
