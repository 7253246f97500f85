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

#[cfg(test)]
mod tests {
    use roster_core::{Stored, UserId};

    use super::*;

    #[test]
    fn a_large_page_concerns_its_tenant_alone() {
        let page = |bytes: usize| {
            let id = UserId::from_bytes([1; 16]);
            let items = vec![Stored { id, version: 1, record: vec![b' '; bytes].into() }];
            Page { items, next: None, position: 1, total: None, examined: None }
        };
        let (one, other) = (TenantId::new(1).unwrap(), TenantId::new(2).unwrap());
        let pages = LargePages::default();
        pages.note(one, &page(BYTES_MAX));
        assert!(!pages.expects(one));
        pages.note(one, &page(BYTES_MAX + 1));
        assert_eq!([pages.expects(one), pages.expects(other)], [true, false]);
    }
}
