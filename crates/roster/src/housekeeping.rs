//! Housekeeping: what is kept for a time only is deleted once that is over.
//!
//! A round goes from the oldest on and does a bounded amount of work. A record that fails is
//! counted, logged and skipped, and so is a duty; a later round tries it again. Everything that is
//! deleted for its age goes by the time of `RetentionClock`. The histories of purged users are
//! erased by a task of their own.

mod erasures;
mod failures;
mod retention_clock;

use std::time::Duration;

use roster_core::{
    Deleted, Directory, EventsQuery, Failure, Outlived, Preconditions, StoreError, Tags, Terms,
    Timestamp,
    access::{Authority, Permit, PurgeUsers},
    limits::{IDEMPOTENCY_KEEP_MS, PAGE_BYTES_MAX},
    list::{DeletedKey, DeletedQuery, Direction},
};
use roster_http::{Duty, HousekeepingMetrics};

pub use erasures::Erasures;
use failures::Failures;
use retention_clock::RetentionClock;

/// Time between two rounds, unless something is kept for less.
const EVERY: Duration = Duration::from_mins(1);

/// Most users that are purged in one round.
const PURGES_MAX: usize = 1000;

/// Deleted users that are read at a time.
const PAGE: usize = 100;

/// Most purges that may fail in one round; the next one goes on behind the last of them.
const FAILED_PURGES_MAX: u64 = 10;

/// Most steps of forgetting in one round.
const STEPS_MAX: usize = 200;

/// The request id under which the log keeps what housekeeping did.
const REQUEST_ID: &str = "housekeeping";

/// How long things are kept; none is for good.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// A deleted user.
    pub deleted: Option<Duration>,
    /// An event.
    pub events: Option<Duration>,
}

/// The task.
pub struct Housekeeping {
    directory: Directory,
    keep: Keep,
    metrics: HousekeepingMetrics,
    clock: RetentionClock,
    failures: Failures,
    /// The deleted user behind which the next round goes on; the first one if none.
    next: Option<DeletedKey>,
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Users that were purged.
    pub purged: u64,
    /// Events and idempotency keys that were forgotten.
    pub forgotten: u64,
    /// Users and duties that failed.
    pub failed: u64,
}

impl Housekeeping {
    /// The task for a directory.
    pub fn new(directory: Directory, keep: Keep, metrics: HousekeepingMetrics) -> Self {
        let failures = Failures::new(metrics.clone());
        let clock = RetentionClock::default();
        Self { directory, keep, metrics, clock, failures, next: None }
    }

    /// Goes round after round, and never ends. It may be dropped at any moment.
    pub async fn run(self) {
        let erasures = Erasures::new(self.directory.clone(), self.metrics.clone());
        tokio::join!(erasures.run(), self.go_round());
    }

    async fn go_round(mut self) {
        let every = self.keep.deleted.map_or(EVERY, |keep| keep.min(EVERY));
        loop {
            let Round { purged, forgotten, .. } = self.round().await;
            if purged > 0 || forgotten > 0 {
                tracing::info!(purged, forgotten, "housekeeping");
            }
            tokio::time::sleep(every).await;
        }
    }

    /// One round.
    pub async fn round(&mut self) -> Round {
        let mut round = Round::default();
        match self.clock.now(&self.directory, &self.metrics).await {
            Ok(now) => {
                self.failures.succeeded(Duty::Clock);
                self.forget(now, &mut round).await;
                self.purge(now, &mut round).await;
                self.measure_lag(now).await;
            }
            // Nothing is deleted for its age where its age is not known.
            Err(error) => self.failed(Duty::Clock, &error, &mut round),
        }
        round
    }

    fn failed(&mut self, duty: Duty, error: &StoreError, round: &mut Round) {
        round.failed += 1;
        self.failures.failed(duty, None, error);
    }

    /// Forgets events and idempotency records.
    async fn forget(&mut self, now: Timestamp, round: &mut Round) {
        let never = Timestamp::from_millis(i64::MIN);
        let outlived = Outlived {
            keys_before: before(now, Duration::from_millis(IDEMPOTENCY_KEEP_MS.unsigned_abs())),
            events_before: self.keep.events.map_or(never, |keep| before(now, keep)),
        };
        for _ in 0..STEPS_MAX {
            match self.directory.forget(outlived).await {
                Ok(0) => break,
                Ok(step) => round.forgotten += step,
                Err(error) => return self.failed(Duty::Events, &error, round),
            }
        }
        self.failures.succeeded(Duty::Events);
    }

    /// Purges those whose time is over, the first to leave first.
    async fn purge(&mut self, now: Timestamp, round: &mut Round) {
        let Some(keep) = self.keep.deleted else { return };
        let mut query = overdue(before(now, keep), PAGE);
        query.after = self.next.take();
        let mut failed = 0;
        for _ in 0..PURGES_MAX / PAGE {
            let page = match self.directory.list_deleted(may(), query.clone()).await {
                Ok(page) => page,
                Err(error) => return self.failed(Duty::DeletedUsers, &error, round),
            };
            self.failures.succeeded(Duty::DeletedUsers);
            for deleted in &page.items {
                match self.purge_one(deleted).await {
                    Ok(purged) => round.purged += purged,
                    Err(error) => {
                        let id = deleted.stored.id;
                        self.failures.failed(Duty::DeletedUsers, Some(id), &error);
                        (round.failed, failed) = (round.failed + 1, failed + 1);
                        if failed == FAILED_PURGES_MAX {
                            self.next = Some(DeletedKey { at: deleted.at, id });
                            return;
                        }
                    }
                }
            }
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        self.next = query.after;
    }

    /// Purges a user as it was seen: not one that came back and left again meanwhile.
    async fn purge_one(&self, deleted: &Deleted) -> Result<u64, StoreError> {
        let seen = Tags::Versions(vec![deleted.stored.version]);
        let preconditions = Preconditions { if_match: Some(seen), if_none_match: None };
        let caller = Authority::of_the_service().caller(REQUEST_ID);
        let terms = Terms { preconditions, ..Terms::of(caller) };
        match self.directory.purge(may(), deleted.stored.id, terms).await {
            Ok(_) => Ok(1),
            // Somebody restored or purged it meanwhile.
            Err(Failure::Refused(_)) => Ok(0),
            Err(Failure::Store(error)) => Err(error),
        }
    }

    /// Measures by how much the oldest items are overdue. A failure leaves the last measurement.
    async fn measure_lag(&self, now: Timestamp) {
        if let Some(keep) = self.keep.deleted {
            let limit = before(now, keep);
            if let Ok(page) = self.directory.list_deleted(may(), overdue(limit, 1)).await {
                let lag = page.items.first().map(|oldest| between(oldest.at, limit));
                self.metrics.set_lag(Duty::DeletedUsers, lag.unwrap_or_default());
            }
        }
        if let Some(keep) = self.keep.events {
            let limit = before(now, keep);
            let oldest = EventsQuery::after(0, 1);
            if let Ok(page) = self.directory.events(Permit::of_the_service(), oldest).await {
                let lag = page.events.first().map(|(_, oldest)| between(oldest.at, limit));
                self.metrics.set_lag(Duty::Events, lag.unwrap_or_default());
            }
        }
    }
}

const fn may() -> Permit<PurgeUsers> {
    Permit::of_the_service()
}

/// The deleted users that left before this moment, the first to leave first.
const fn overdue(before: Timestamp, limit: usize) -> DeletedQuery {
    DeletedQuery {
        direction: Direction::Ascending,
        after: None,
        limit,
        before: Some(before),
        bytes_max: PAGE_BYTES_MAX,
    }
}

fn before(now: Timestamp, keep: Duration) -> Timestamp {
    let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(keep))
}

/// The time from one moment to a later one; zero if it is not later.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    let millis = to.as_millis().saturating_sub(from.as_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}
