//! Housekeeping: deletes data whose retention time is over, and suspends users who have expired.
//!
//! A round starts with the oldest data and does a limited amount of work. While more is due, the
//! next round follows at once, but other writes have half of the time. A record or a task that
//! fails is counted, logged and skipped; a later round tries it again. Deletion by age uses the
//! time of `RetentionClock`. Separate tasks erase the histories of purged users, and build the
//! indexes that the schemas of users name.

mod erasures;
mod expiry;
mod failures;
mod indexes;
mod retention_clock;

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::join_all;
use roster_core::{
    Deleted, Directory, EventsQuery, Failure, Mode, Outlived, Preconditions, StoreError, Tags,
    Tenant, TenantId, TenantName, Terms, Timestamp,
    access::{AuditView, Authority, Permit},
    limits::{IDEMPOTENCY_KEEP_MS, PAGE_BYTES_MAX, PAGE_COMPARISONS_MAX, PAGE_EXAMINED_MAX},
    list::{DeletedKey, DeletedQuery, Direction},
    tenant::{TenantAct, TenantFailure, TenantQuery, TenantSelection},
};
use roster_http::{Duty, HousekeepingMetrics};
use tokio::time::{Instant, sleep};

pub use erasures::Erasures;
use failures::Failures;
pub use indexes::Indexes;
use retention_clock::RetentionClock;

/// Time between two rounds, unless a retention time is shorter. A user is suspended within a minute
/// after it has expired.
const INTERVAL: Duration = Duration::from_secs(30);

/// Time between two rounds while more is due.
const BUSY_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum number of users purged in one round.
const PURGES_MAX: usize = 1000;

/// Users purged at once, so that they share a commit. They delay other writes by little.
const PURGES_AT_ONCE: usize = 5;

/// Deleted users read at a time.
const PAGE: usize = 100;

/// Tenants read at a time.
const TENANTS_PAGE: usize = 1000;

/// Maximum number of failed purges in one round; the next round continues after the last of them.
const FAILED_PURGES_MAX: u64 = 10;

/// Maximum number of steps that delete events and idempotency records in one round.
const STEPS_MAX: usize = 200;

/// The request id of housekeeping in the change log.
const REQUEST_ID: &str = "housekeeping";

/// Retention times; `None` means forever.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// A deleted user.
    pub deleted: Option<Duration>,
    /// An event.
    pub events: Option<Duration>,
}

/// The housekeeping task.
pub struct Housekeeping {
    directory: Directory,
    keep: Retention,
    metrics: HousekeepingMetrics,
    clock: RetentionClock,
    failures: Failures,
    /// The deleted user of a tenant after which the next round continues; missing for the oldest.
    next: BTreeMap<TenantId, DeletedKey>,
    /// The tenant after which the next round continues.
    reached: Option<TenantName>,
}

/// The result of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Expired users suspended.
    pub suspended: u64,
    /// Users and tenants purged.
    pub purged: u64,
    /// Events and idempotency records deleted.
    pub forgotten: u64,
    /// Users and tasks that failed.
    pub failed: u64,
    /// Whether the round ended at its limits, and more is due.
    pub is_more_due: bool,
}

impl Housekeeping {
    /// Creates the task for a directory.
    pub fn new(directory: Directory, keep: Retention, metrics: HousekeepingMetrics) -> Self {
        let failures = Failures::new(metrics.clone());
        let clock = RetentionClock::default();
        let (next, reached) = Default::default();
        Self { directory, keep, metrics, clock, failures, next, reached }
    }

    /// Runs rounds forever. May be dropped at any time.
    pub async fn run(self) {
        let erasures = Erasures::new(self.directory.clone(), self.metrics.clone());
        let indexes = Indexes::new(self.directory.clone(), self.metrics.clone());
        tokio::join!(erasures.run(), indexes.run(), self.run_rounds());
    }

    async fn run_rounds(mut self) {
        let every = self.keep.deleted.map_or(INTERVAL, |keep| keep.min(INTERVAL));
        loop {
            let Round { suspended, purged, forgotten, is_more_due, .. } = self.round().await;
            if suspended > 0 || purged > 0 || forgotten > 0 {
                tracing::info!(suspended, purged, forgotten, "housekeeping");
            }
            sleep(if is_more_due { every.min(BUSY_INTERVAL) } else { every }).await;
        }
    }

    /// Runs one round.
    pub async fn round(&mut self) -> Round {
        let mut round = Round::default();
        match self.clock.now(&self.directory, &self.metrics).await {
            Ok(now) => {
                self.failures.succeeded(Duty::Clock);
                self.suspend_expired(now, &mut round).await;
                self.delete_events(now, &mut round).await;
                self.purge(now, &mut round).await;
                self.purge_tenants(now, &mut round).await;
                self.measure_lag(now).await;
            }
            // Without a valid time nothing is deleted by age.
            Err(error) => self.failed(Duty::Clock, &error, &mut round),
        }
        round
    }

    fn failed(&mut self, duty: Duty, error: &StoreError, round: &mut Round) {
        round.failed += 1;
        self.failures.failed(duty, None, error);
    }

    /// Deletes events and idempotency records.
    async fn delete_events(&mut self, now: Timestamp, round: &mut Round) {
        let never = Timestamp::from_millis(i64::MIN);
        let outlived = Outlived {
            keys_before: before(now, Duration::from_millis(IDEMPOTENCY_KEEP_MS.unsigned_abs())),
            events_before: self.keep.events.map_or(never, |keep| before(now, keep)),
        };
        let mut steps = 0;
        while steps < STEPS_MAX {
            match self.directory.forget(outlived).await {
                Ok(0) => break,
                Ok(step) => round.forgotten += step,
                Err(error) => return self.failed(Duty::Events, &error, round),
            }
            steps += 1;
        }
        round.is_more_due |= steps == STEPS_MAX;
        self.failures.succeeded(Duty::Events);
    }

    /// Purges deleted users whose retention time is over: first those of the default tenant, then
    /// those of the others by their names.
    async fn purge(&mut self, now: Timestamp, round: &mut Round) {
        let Some(keep) = self.keep.deleted else { return };
        let limit = before(now, keep);
        let mut pages = PURGES_MAX / PAGE;
        let default = self.directory.clone();
        self.purge_tenant((TenantId::DEFAULT, &default), limit, &mut pages, round).await;
        let after = self.reached.take();
        let mut query = TenantQuery { after, limit: TENANTS_PAGE, ..TenantQuery::default() };
        while pages > 0 {
            let page = match self.directory.list_tenants(permit(), query.clone()).await {
                Ok(page) => page,
                Err(error) => return self.failed(Duty::DeletedUsers, &error, round),
            };
            for (tenant, counts) in page.items {
                if counts.deleted_users > 0 {
                    let id = tenant.id;
                    match self.directory.of_tenant(id).await {
                        Ok(of) => self.purge_tenant((id, &of), limit, &mut pages, round).await,
                        Err(error) => return self.failed(Duty::DeletedUsers, &error, round),
                    }
                }
                if pages == 0 {
                    break;
                }
                query.after = Some(tenant.name);
            }
            if pages > 0 && !page.has_more {
                return;
            }
        }
        // The next round begins with the default tenant again, and then continues here.
        self.reached = query.after;
        round.is_more_due = true;
    }

    /// Purges the deleted users of one tenant, oldest first, of at most this many pages.
    async fn purge_tenant(
        &mut self,
        (tenant, directory): (TenantId, &Directory),
        limit: Timestamp,
        pages: &mut usize,
        round: &mut Round,
    ) {
        let mut query = overdue(limit, PAGE);
        query.after = self.next.remove(&tenant);
        let mut failed = 0;
        while *pages > 0 {
            let page = match directory.list_deleted(permit(), query.clone()).await {
                Ok(page) => page,
                Err(error) => return self.failed(Duty::DeletedUsers, &error, round),
            };
            self.failures.succeeded(Duty::DeletedUsers);
            // A page without users costs little.
            *pages -= usize::from(!page.items.is_empty());
            for deleted in page.items.chunks(PURGES_AT_ONCE) {
                let began = Instant::now();
                let results = join_all(deleted.iter().map(|one| purge_one(directory, one))).await;
                for (deleted, result) in deleted.iter().zip(results) {
                    match result {
                        Ok(purged) => round.purged += purged,
                        Err(error) => {
                            let id = deleted.stored.id;
                            self.failures.failed(Duty::DeletedUsers, Some(id), &error);
                            (round.failed, failed) = (round.failed + 1, failed + 1);
                            if failed == FAILED_PURGES_MAX {
                                self.next.insert(tenant, DeletedKey { at: deleted.at, id });
                                return;
                            }
                        }
                    }
                }
                // Leaves writers as much time as the purges took.
                sleep(began.elapsed()).await;
            }
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        round.is_more_due |= query.after.is_some();
        self.next.extend(query.after.map(|after| (tenant, after)));
    }

    /// Purges deleted tenants whose retention time is over. The task of erasures then erases what
    /// is in them.
    async fn purge_tenants(&mut self, now: Timestamp, round: &mut Round) {
        let Some(keep) = self.keep.deleted else { return };
        let limit = before(now, keep);
        let selection = TenantSelection::Deleted;
        let mut query = TenantQuery { selection, after: None, limit: TENANTS_PAGE };
        loop {
            let page = match self.directory.list_tenants(permit(), query.clone()).await {
                Ok(page) => page,
                Err(error) => return self.failed(Duty::DeletedUsers, &error, round),
            };
            for (tenant, _) in &page.items {
                if tenant.deleted_at.is_none_or(|deleted_at| deleted_at >= limit) {
                    continue;
                }
                match purge_tenant(&self.directory, tenant).await {
                    Ok(purged) => round.purged += purged,
                    Err(error) => return self.failed(Duty::DeletedUsers, &error, round),
                }
            }
            query.after = page.items.last().map(|(tenant, _)| tenant.name.clone());
            if !page.has_more {
                return;
            }
        }
    }

    /// Measures how long the oldest items are overdue: deleted users of the default tenant, and
    /// events. After a failure the last value stays.
    async fn measure_lag(&self, now: Timestamp) {
        if let Some(keep) = self.keep.deleted {
            let limit = before(now, keep);
            if let Ok(page) = self.directory.list_deleted(permit(), overdue(limit, 1)).await {
                let lag = page.items.first().map(|oldest| between(oldest.at, limit));
                self.metrics.set_lag(Duty::DeletedUsers, lag.unwrap_or_default());
            }
        }
        if let Some(keep) = self.keep.events {
            let limit = before(now, keep);
            let oldest = EventsQuery { all_tenants: true, ..EventsQuery::after(0, 1) };
            if let Ok(page) = self.directory.events(permit(), AuditView::Everything, oldest).await {
                let lag = page.events.first().map(|(_, oldest)| between(oldest.at, limit));
                self.metrics.set_lag(Duty::Events, lag.unwrap_or_default());
            }
        }
    }
}

/// Purges a user in the version that was read: not if it was restored and deleted again meanwhile.
async fn purge_one(directory: &Directory, deleted: &Deleted) -> Result<u64, StoreError> {
    let seen = Tags::Versions(vec![deleted.stored.version]);
    let preconditions = Preconditions { if_match: Some(seen), if_none_match: None };
    let caller = Authority::of_the_service().caller(REQUEST_ID);
    let terms = Terms { preconditions, ..Terms::of(caller) };
    match directory.purge(permit(), deleted.stored.id, terms).await {
        Ok(_) => Ok(1),
        // The user was restored or purged meanwhile.
        Err(Failure::Refused(_)) => Ok(0),
        Err(Failure::Store(error)) => Err(error),
    }
}

/// Purges a tenant in the version that was read.
async fn purge_tenant(directory: &Directory, tenant: &Tenant) -> Result<u64, StoreError> {
    let seen = Tags::Versions(vec![tenant.version]);
    let preconditions = Preconditions { if_match: Some(seen), if_none_match: None };
    let act = TenantAct::Purge(tenant.name.clone());
    let caller = Authority::of_the_service().caller(REQUEST_ID);
    match directory.change_tenant(permit(), act, preconditions, Mode::Write, caller).await {
        Ok(_) => {
            tracing::info!(tenant = tenant.name.as_str(), "a deleted tenant was purged");
            Ok(1)
        }
        // The tenant was restored or purged meanwhile.
        Err(TenantFailure::Refused(_)) => Ok(0),
        Err(TenantFailure::Store(error)) => Err(error),
    }
}

const fn permit<R>() -> Permit<R> {
    Permit::of_the_service()
}

/// The users that were deleted before this time, oldest first.
const fn overdue(before: Timestamp, limit: usize) -> DeletedQuery {
    DeletedQuery {
        direction: Direction::Ascending,
        after: None,
        limit,
        before: Some(before),
        filter: None,
        words: Vec::new(),
        bytes_max: PAGE_BYTES_MAX,
        examined_max: PAGE_EXAMINED_MAX,
        comparisons_max: PAGE_COMPARISONS_MAX,
    }
}

fn before(now: Timestamp, keep: Duration) -> Timestamp {
    let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(keep))
}

/// The time from `from` to `to`; zero if `to` is not later.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    let millis = to.as_millis().saturating_sub(from.as_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}
