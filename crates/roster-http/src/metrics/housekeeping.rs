//! The metrics of housekeeping.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

/// A duty of housekeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duty {
    /// Advancing the clock mark.
    Clock,
    /// Purging deleted users.
    DeletedUsers,
    /// Erasing the history of purged users.
    Erasures,
    /// Deleting old events.
    Events,
    /// Suspending users who have expired.
    Expiry,
    /// Building and deleting indexes of members.
    Indexes,
}

impl Duty {
    const ALL: [Self; 6] = [
        Self::Clock,
        Self::DeletedUsers,
        Self::Erasures,
        Self::Events,
        Self::Expiry,
        Self::Indexes,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::DeletedUsers => "deleted_users",
            Self::Erasures => "erasures",
            Self::Events => "events",
            Self::Expiry => "expiry",
            Self::Indexes => "indexes",
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfDuty {
    duty: &'static str,
}

impl From<Duty> for OfDuty {
    fn from(duty: Duty) -> Self {
        Self { duty: duty.word() }
    }
}

/// The measurements of housekeeping; copies share them.
#[derive(Clone, Debug)]
pub struct HousekeepingMetrics {
    failures: Family<OfDuty, Counter>,
    lag: Family<OfDuty, Gauge>,
    pending_erasures: Gauge,
    clock_ahead: Gauge,
}

impl Default for HousekeepingMetrics {
    fn default() -> Self {
        let failures = Family::default();
        for duty in Duty::ALL {
            drop(failures.get_or_create(&OfDuty::from(duty)));
        }
        let (lag, pending_erasures, clock_ahead) = Default::default();
        Self { failures, lag, pending_erasures, clock_ahead }
    }
}

impl HousekeepingMetrics {
    /// Counts a failure.
    pub fn failed(&self, duty: Duty) {
        self.failures.get_or_create(&OfDuty::from(duty)).inc();
    }

    /// The number of failures.
    pub fn failures(&self, duty: Duty) -> u64 {
        self.failures.get_or_create(&OfDuty::from(duty)).get()
    }

    /// Sets by how much the oldest item that is to be deleted is overdue.
    pub fn set_lag(&self, duty: Duty, lag: Duration) {
        self.lag.get_or_create(&OfDuty::from(duty)).set(seconds(lag));
    }

    /// By how many seconds the oldest item that is to be deleted is overdue.
    pub fn lag(&self, duty: Duty) -> i64 {
        self.lag.get_or_create(&OfDuty::from(duty)).get()
    }

    /// Sets how many purged users have a history that is still to be erased.
    pub fn set_pending_erasures(&self, count: usize) {
        self.pending_erasures.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets how far the wall clock is ahead of the clock mark since a jump.
    pub fn set_clock_ahead(&self, ahead: Duration) {
        self.clock_ahead.set(seconds(ahead));
    }

    /// By how many seconds the wall clock is ahead of the clock mark since a jump.
    pub fn clock_ahead(&self) -> i64 {
        self.clock_ahead.get()
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let failures = "Failures of housekeeping, by duty";
        registry.register("housekeeping_failures", failures, self.failures.clone());
        let lag = "Time by which the oldest item that is to be deleted is overdue, by duty";
        registry.register_with_unit("housekeeping_lag", lag, Unit::Seconds, self.lag.clone());
        let pending = "Purged users whose history is still to be erased, and purged tenants";
        registry.register("erasures_pending", pending, self.pending_erasures.clone());
        let ahead = "Time by which the wall clock is ahead of the clock mark since a jump";
        let clock = self.clock_ahead.clone();
        registry.register_with_unit("clock_ahead", ahead, Unit::Seconds, clock);
    }
}

fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}
