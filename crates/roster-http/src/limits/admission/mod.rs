//! Overload protection: limits per caller, and admission control for each class of work.
//!
//! Limits per caller apply before the handler; admission is taken right before the store is used. A
//! refusal must be cheap: under ten times the possible load, nine of ten requests are refused. All
//! memory used here is bounded. This module does not know how a caller authenticates or what an
//! engine does.
//!
//! The places of a class are shared out among callers. The endpoint names the caller of a request
//! once, for the task that handles it, so that no handler can forget it.

mod class;
mod identity;
mod log_growth;
mod refusals;
mod settings;

pub use settings::AdmissionSettings;

pub(crate) use class::{Class, SHORT_PAGE_MAX};
pub(crate) use identity::identity;
pub(crate) use log_growth::LogCharges;
use log_growth::LogLimit;
use refusals::FAILED_AUTHENTICATION;
pub(crate) use refusals::Refusals;

use std::{
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
use prometheus_client::metrics::counter::Counter;
use roster_core::{Actor, limits::PAGE_SIZE_DEFAULT};
use roster_server::{
    Identity,
    limits::{AdmissionController, AdmissionGuard, Attempts, RateLimitState, RateLimiter},
};
use tokio::{
    task::{futures::TaskLocalFuture, yield_now},
    task_local,
};

use crate::problem::{Problem, ProblemCode};

/// The maximum `Retry-After` of an overload, in seconds. The values cycle from 1 to this maximum,
/// so that callers that are refused at the same time do not retry at the same time.
const RETRY_AFTER_S_MAX: u16 = 4;

/// The maximum time for which a short list waits until its page is read.
pub(crate) const PAGE_WAIT_MAX: Duration = Duration::from_secs(10);

task_local! {
    /// The caller of the request that the task handles, as a hash.
    static CALLER: u64;
}

/// The limits of one service.
pub(crate) struct Admission {
    /// Used also for work that continues after its request was charged.
    pub(crate) rate_limiter: Option<Arc<RateLimiter>>,
    pub(crate) attempts: Attempts,
    log: Option<Arc<LogLimit>>,
    /// The bytes that were charged for what callers added to the change log.
    pub(crate) log_bytes_charged: Counter,
    reads: AdmissionController,
    lists: AdmissionController,
    pages: AdmissionController,
    long_lists: AdmissionController,
    writes: AdmissionController,
    hasher: RandomState,
    /// Counts overload refusals, for `Retry-After`.
    overloads: AtomicU16,
    pub(crate) refusals: Arc<Refusals>,
}

impl Admission {
    pub(crate) fn new(settings: &AdmissionSettings) -> Self {
        let (refusals, log_bytes_charged) = (Arc::<Refusals>::default(), Counter::default());
        let log_limit = LogLimit::new(
            settings.log_bytes_per_hour,
            Arc::clone(&refusals),
            log_bytes_charged.clone(),
        );
        Self {
            log: log_limit.map(Arc::new),
            log_bytes_charged,
            rate_limiter: RateLimiter::new(settings.rate_limit_per_s, settings.rate_limit_burst)
                .map(Arc::new),
            attempts: Attempts::new(settings.failed_auth_per_minute),
            reads: AdmissionController::new(settings.reads_max),
            lists: AdmissionController::new(settings.lists_max),
            // Only short lists that have a place wait for this one.
            pages: AdmissionController::with_queue(
                settings.pages_max,
                settings.lists_max,
                PAGE_WAIT_MAX,
            ),
            long_lists: AdmissionController::new(settings.long_lists_max),
            writes: AdmissionController::new(settings.writes_max),
            hasher: RandomState::new(),
            overloads: AtomicU16::new(0),
            refusals,
        }
    }

    /// Charges a request to its caller and sets `state` for the headers of the response. Beyond
    /// the caller's limit the request is refused with 429.
    pub(crate) fn charge(
        &self,
        caller: &Identity<'_>,
        state: &mut Option<RateLimitState>,
    ) -> Result<(), Problem> {
        let Some(limiter) = &self.rate_limiter else { return Ok(()) };
        let charged = limiter.charge(caller);
        *state = Some(charged);
        let Some(wait) = charged.wait_s() else { return Ok(()) };
        self.refusals.count(ProblemCode::RateLimited.as_str());
        Err(too_many(limiter.detail(), wait))
    }

    /// The account of a caller for what its writes add to the change log.
    pub(crate) fn log_charges(&self, actor: &Actor, address: IpAddr) -> LogCharges {
        LogCharges::new(self.log.as_ref(), actor, address)
    }

    /// Adds the rate limit headers of a caller to a response.
    pub(crate) fn tell(&self, state: Option<RateLimitState>, headers: &mut HeaderMap) {
        if let (Some(limiter), Some(state)) = (&self.rate_limiter, state) {
            limiter.write_headers(state, headers);
        }
    }

    /// Handles a request of this caller: what is admitted meanwhile is admitted for the caller.
    pub(crate) fn for_caller<F: Future>(
        &self,
        caller: &Identity<'_>,
        work: F,
    ) -> TaskLocalFuture<u64, F> {
        CALLER.scope(self.hasher.hash_one(caller), work)
    }

    /// Admits one request of a class, at once or after a short wait; otherwise refuses it with 503.
    pub(crate) async fn admit(&self, class: Class) -> Result<AdmissionGuard<'_>, Problem> {
        let admitted = self.controller(class).admit(caller()).await;
        let admitted = admitted.ok_or_else(|| self.overloaded())?;
        if class == Class::LongLists {
            // The page keeps its thread busy. Requests that arrived meanwhile are queued or
            // refused first.
            yield_now().await;
        }
        Ok(admitted)
    }

    /// Admits the page of a short list that needs no scan: only so many keep threads busy, and have
    /// megabytes in memory, at the same time. A page of few records is read without a place, and a
    /// page of another class has one.
    pub(crate) async fn admit_page(
        &self,
        class: Class,
        limit: usize,
    ) -> Result<Option<AdmissionGuard<'_>>, Problem> {
        if class != Class::Lists || limit <= PAGE_SIZE_DEFAULT {
            return Ok(None);
        }
        self.pages.admit(caller()).await.map(Some).ok_or_else(|| self.overloaded())
    }

    /// Admits a short page that may need a scan to the long lists. It does not yield: the page may
    /// be found by an index after all, and a scan does not keep this thread busy.
    pub(crate) async fn admit_scan(&self) -> Result<AdmissionGuard<'_>, Problem> {
        self.long_lists.admit(caller()).await.ok_or_else(|| self.overloaded())
    }

    /// Runs work of a class once it is admitted.
    pub(crate) async fn with_admission<T, E: Into<Problem>>(
        &self,
        class: Class,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Problem> {
        let _admitted = self.admit(class).await?;
        work.await.map_err(Into::into)
    }

    fn controller(&self, class: Class) -> &AdmissionController {
        match class {
            Class::Reads => &self.reads,
            Class::Lists => &self.lists,
            Class::LongLists => &self.long_lists,
            Class::Writes => &self.writes,
        }
    }

    /// Counts a request that is not admitted, and returns its problem.
    fn overloaded(&self) -> Problem {
        self.refusals.count(ProblemCode::Overloaded.as_str());
        let turn = self.overloads.fetch_add(1, Ordering::Relaxed) % RETRY_AFTER_S_MAX;
        Problem::new(ProblemCode::Overloaded).with_header(RETRY_AFTER, HeaderValue::from(turn + 1))
    }

    /// Counts an attempt from a locked address, and returns its problem.
    pub(crate) fn refuse_attempt(&self, wait_s: u32) -> Problem {
        self.refusals.count(FAILED_AUTHENTICATION);
        let detail = "too many attempts with bad credentials came from this address";
        too_many(detail.to_owned(), wait_s)
    }
}

/// The caller of the current request.
pub(crate) fn caller() -> u64 {
    CALLER.try_with(|caller| *caller).unwrap_or_default()
}

/// Runs work as this caller.
#[cfg(test)]
pub(crate) fn as_caller<F: Future>(caller: u64, work: F) -> TaskLocalFuture<u64, F> {
    CALLER.scope(caller, work)
}

/// The problem of a caller whose connections use more than their share of memory.
pub(crate) fn holds_too_much() -> Problem {
    let detail = "your connections hold too much memory: read the responses that wait for you and \
                  finish the bodies that you send, then try again";
    Problem::saying(ProblemCode::Overloaded, detail)
        .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
}

fn too_many(detail: String, wait_s: u32) -> Problem {
    Problem::saying(ProblemCode::RateLimited, detail)
        .with_header(RETRY_AFTER, HeaderValue::from(wait_s))
}
