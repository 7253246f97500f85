//! Tenants whose users have large records: their pages would delay the lookups of single users on
//! the connections that many callers share.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use roster_core::{TenantId, list::Page};

/// A page of more bytes is large.
const BYTES_MAX: usize = 256 * 1024;
/// How long it counts.
const KEEP: Duration = Duration::from_mins(1);
/// The maximum number of tenants.
const TENANTS_MAX: usize = 1000;

/// When a tenant last had a large page.
#[derive(Debug, Default)]
pub(crate) struct LargePages(Mutex<HashMap<TenantId, Instant>>);

impl LargePages {
    /// Whether the next page of a tenant may be large.
    pub(crate) fn expects(&self, tenant: TenantId) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&tenant).is_some_and(|at| at.elapsed() < KEEP)
    }

    /// Notes the size of a page.
    pub(crate) fn note(&self, tenant: TenantId, page: &Page) {
        if page.items.iter().map(|stored| stored.record.len()).sum::<usize>() <= BYTES_MAX {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TENANTS_MAX {
            known.retain(|_, at| at.elapsed() < KEEP);
        }
        if known.len() < TENANTS_MAX || known.contains_key(&tenant) {
            known.insert(tenant, Instant::now());
        }
    }
}
