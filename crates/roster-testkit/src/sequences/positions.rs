//! Which tenant each event of a store's log belongs to, so that positions of this log can be
//! compared with those of an oracle that has a log of the one tenant.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use roster_core::{Event, TenantId, Timestamp};

/// The events of a store's log, as its tenants returned them.
#[derive(Debug, Default)]
pub(super) struct Positions {
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// The tenant and the time of each event by its position, also of deleted ones.
    events: BTreeMap<i64, (TenantId, Timestamp)>,
    /// The position up to which events were deleted.
    forgotten: i64,
}

impl Positions {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds new events of a tenant. Those of the creation of tenants, which no oracle has, are of
    /// none of them.
    pub(super) fn add(&self, tenant: TenantId, events: &[(i64, Event)]) {
        let mut log = self.log();
        for (position, event) in events {
            if event.kind.is_audit() {
                let nobody = TenantId::new(i64::from(i32::MAX)).unwrap_or_default();
                log.events.insert(*position, (nobody, event.at));
                continue;
            }
            let last = log.last_of(tenant);
            assert!(*position > last, "{position} after {last}: positions increase");
            let other = log.events.insert(*position, (tenant, event.at));
            assert_eq!(other, None, "{position} is of {tenant:?} and of another tenant");
        }
    }

    /// The position of a tenant's last event; 0 if it has none.
    pub(super) fn last_of(&self, tenant: TenantId) -> i64 {
        self.log().last_of(tenant)
    }

    /// The number of a tenant's events up to a position of the store's log.
    pub(super) fn rank(&self, tenant: TenantId, position: i64) -> i64 {
        let log = self.log();
        let up_to_here = log.events.range(..=position);
        count(up_to_here.filter(|(_, (owner, _))| *owner == tenant).count())
    }

    /// The last position of the store's log with this rank, which may belong to another tenant.
    pub(super) fn last_with_rank(&self, tenant: TenantId, rank: i64) -> i64 {
        let log = self.log();
        let own = log.events.iter().filter(|(_, (owner, _))| *owner == tenant);
        let own: Vec<i64> = own.map(|(position, _)| *position).collect();
        let next = usize::try_from(rank).ok().and_then(|rank| own.get(rank));
        next.map_or_else(|| log.last() + rank - count(own.len()), |next| next - 1)
    }

    /// The number of a tenant's event at a position, which must be one of its own.
    pub(super) fn number(&self, tenant: TenantId, position: i64) -> i64 {
        let owner = self.log().events.get(&position).map(|(owner, _)| *owner);
        assert_eq!(owner, Some(tenant), "an event of another tenant at {position}");
        self.rank(tenant, position)
    }

    /// The position up to which the store deletes events from before a time, and their number.
    pub(super) fn forget(&self, before: Timestamp) -> (i64, u64) {
        let mut log = self.log();
        let mut kept = log.events.range(log.forgotten + 1..).filter(|(_, (_, at))| *at >= before);
        let last = kept.next().map_or(log.last(), |(position, _)| position - 1);
        let deleted = u64::try_from(last - log.forgotten).unwrap_or(0);
        log.forgotten = last;
        (last, deleted)
    }

    /// The position of the last event. Asserts that there is no gap before it.
    pub(super) fn last_without_gap(&self) -> i64 {
        let log = self.log();
        assert!(log.events.keys().copied().eq(1..=log.last()), "{log:#?}");
        log.last()
    }
}

impl Log {
    fn last(&self) -> i64 {
        self.events.last_key_value().map_or(0, |(position, _)| *position)
    }

    fn last_of(&self, tenant: TenantId) -> i64 {
        let mut latest = self.events.iter().rev();
        latest.find(|(_, (owner, _))| *owner == tenant).map_or(0, |(position, _)| *position)
    }
}

fn count(events: usize) -> i64 {
    i64::try_from(events).unwrap_or(i64::MAX)
}
