//! The bytes that each caller may add to the change log, beyond a multiple of what it sends.
//!
//! An event holds the whole record, so a short change of a large record adds far more to the log
//! than the caller sends. Only that excess is counted: an import sends what it adds, and is never
//! limited. A write is refused once the caller has used up its allowance; the writes that are
//! running then are still charged.

use std::{net::IpAddr, sync::Arc};

use http::{HeaderValue, header::RETRY_AFTER};
use prometheus_client::metrics::counter::Counter;
use roster_core::{
    Actor, LogAccount, Start,
    limits::{LOG_FREE_BYTES_MIN, LOG_FREE_FACTOR},
};
use roster_server::limits::LogBudget;

use super::{
    identity::identity,
    refusals::{LOG_GROWTH, Refusals},
};
use crate::problem::{Problem, ProblemCode};

/// The limit of all callers.
#[derive(Debug)]
pub(super) struct LogLimit {
    budget: LogBudget,
    refusals: Arc<Refusals>,
    charged: Counter,
}

/// The account of the caller of one request.
#[derive(Clone, Debug)]
pub(crate) struct LogCharges(Option<Arc<Account>>);

#[derive(Debug)]
struct Account {
    limit: Arc<LogLimit>,
    actor: Actor,
    address: IpAddr,
}

impl LogLimit {
    /// Counts the charged bytes in `charged`. `None` if there is no limit.
    pub(super) fn new(
        bytes_per_hour: u64,
        refusals: Arc<Refusals>,
        charged: Counter,
    ) -> Option<Self> {
        Some(Self { budget: LogBudget::new(bytes_per_hour)?, refusals, charged })
    }
}

impl LogCharges {
    pub(super) fn new(limit: Option<&Arc<LogLimit>>, actor: &Actor, address: IpAddr) -> Self {
        let account = |limit| Account { limit, actor: actor.clone(), address };
        Self(limit.cloned().map(account).map(Arc::new))
    }

    /// Refuses a write with 429 if the caller has used up its allowance.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let Some(Account { limit, actor, address }) = self.0.as_deref() else { return Ok(()) };
        let Err(wait_s) = limit.budget.check(&identity(actor, *address)) else { return Ok(()) };
        limit.refusals.count(LOG_GROWTH);
        let detail = format!(
            "your changes of large records have added too much to the change log; it takes {} \
             bytes an hour beyond {LOG_FREE_FACTOR} times what you send",
            limit.budget.bytes_per_hour()
        );
        let problem = Problem::saying(ProblemCode::RateLimited, detail);
        Err(problem.with_header(RETRY_AFTER, HeaderValue::from(wait_s)))
    }

    /// What a write of this size takes to the engine, to be charged for its events.
    pub(crate) fn start(&self, sent: usize) -> Start {
        let start = self.0.clone().map_or_else(Start::default, |account| Start::charging(account));
        start.note_sent(sent);
        start
    }
}

impl LogAccount for Account {
    fn charge(&self, logged: usize, sent: usize) {
        let free = sent.saturating_mul(LOG_FREE_FACTOR).max(LOG_FREE_BYTES_MIN);
        let excess = u64::try_from(logged.saturating_sub(free)).unwrap_or(u64::MAX);
        if excess > 0 {
            self.limit.charged.inc_by(excess);
            self.limit.budget.charge(&identity(&self.actor, self.address), excess);
        }
    }
}
