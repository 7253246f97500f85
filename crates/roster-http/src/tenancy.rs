//! Tenants of requests: the base URL of a tenant, who may call below it, and the tenants in memory.
//!
//! `{base_url}/tenants/{tenant}` is to a tenant what `{base_url}` is to the default one. The prefix
//! is removed before the router, so the routes are the same for all tenants. Nobody learns whether
//! a tenant exists without a credential for it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use http::Uri;
use roster_core::{
    Directory, LogId, Status, StoreError, Tenant, TenantName,
    access::{Authority, Reach},
};

use crate::problem::{Problem, ProblemCode};

/// How often changes by other processes are looked for, so a suspension is seen within this time.
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

/// The tenants that were read since the last change of any tenant.
#[derive(Default)]
pub(crate) struct Tenants {
    kept: Mutex<Kept>,
}

type Generation = (LogId, i64);

#[derive(Default)]
struct Kept {
    by_name: HashMap<TenantName, Tenant>,
    /// The number of changes of tenants before these were read, in which log. After a failover the
    /// last change may be lost, and another one may have its number.
    generation: Option<Generation>,
    /// When the last read of this number began.
    checked: Option<Instant>,
    /// When this process last changed a tenant.
    changed: Option<Instant>,
}

impl Tenants {
    /// The tenant with this name, as of the last second, unless it was deleted.
    pub(crate) async fn find(
        &self,
        directory: &Directory,
        name: &TenantName,
    ) -> Result<Option<Tenant>, StoreError> {
        let now = Instant::now();
        let is_current = self.kept().is_current(now);
        if !is_current {
            let log = directory.log_id();
            let generation = directory.tenants_generation().await?;
            self.kept().check((log, generation), now);
        }
        let generation = {
            let kept = self.kept();
            if let Some(tenant) = kept.by_name.get(name) {
                return Ok(Some(tenant.clone()));
            }
            kept.generation
        };
        let tenant = directory.tenant(name.clone()).await?.map(|(tenant, _)| tenant);
        let tenant = tenant.filter(|tenant| tenant.deleted_at.is_none());
        if let Some(tenant) = &tenant {
            self.kept().keep(tenant, generation);
        }
        Ok(tenant)
    }

    /// This process changed a tenant: the next request looks for changes.
    pub(crate) fn changed(&self) {
        self.kept().changed = Some(Instant::now());
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is_current(&self, now: Instant) -> bool {
        self.checked > self.changed && self.checked.is_some_and(|at| now < at + MAX_AGE)
    }

    /// Forgets all tenants if one of them may have changed.
    fn check(&mut self, generation: Generation, at: Instant) {
        if self.generation != Some(generation) {
            (self.by_name, self.generation) = (HashMap::new(), Some(generation));
        }
        self.checked = self.checked.max(Some(at));
    }

    /// Keeps a tenant that was read after this generation. A change may have come after it.
    fn keep(&mut self, tenant: &Tenant, generation: Option<Generation>) {
        if generation != self.generation {
            return;
        }
        if self.by_name.len() >= KEPT_MAX {
            self.by_name.clear();
        }
        self.by_name.insert(tenant.name.clone(), tenant.clone());
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
