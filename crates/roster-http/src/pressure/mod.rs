//! What a caller may cost, and who is told to come back when there is more than can be done.
//!
//! Limits per caller stand before the routes; gates, one for each class of work, stand right
//! before the store is asked. Both answer at once and cheaply: under ten times the load that can
//! be borne nearly all that is done here is to refuse. Memory is bounded whatever callers do. It
//! must not know how a caller proved who it is, nor what an engine does.

mod alike;
mod attempts;
mod class;
mod gate;
mod identity;
mod limiter;
mod locked_checks;
mod quota;
mod refusals;
mod repeats;
mod settings;
mod shed;
mod table;

pub use identity::Identity;
pub use locked_checks::{LOCKED_TOKEN_CHECKS_PER_S, LOCKED_TOKEN_CHECKS_TOTAL_PER_S};
pub use settings::{CALLERS_MAX, PressureSettings, QUEUE_WAIT_MAX};

pub(crate) use alike::Alike;
use alike::{Part, Teller};
use attempts::Attempts;
pub(crate) use class::{Class, SHORT_PAGE_MAX};
pub(crate) use gate::Entered;
pub(crate) use identity::network;
pub(crate) use limiter::{Limiter, Standing};
use locked_checks::LockedChecks;
pub(crate) use refusals::{Reason, Refusals};
pub(crate) use repeats::Repeats;
pub(crate) use shed::Shed;

use std::{net::IpAddr, sync::Arc};

use gate::Gate;
use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    task::yield_now,
    time::timeout,
};

use crate::problem::{Problem, ProblemCode};

/// All that stands between a flood and the store.
pub(crate) struct Pressure {
    limiter: Option<Arc<Limiter>>,
    attempts: Attempts,
    locked_checks: LockedChecks,
    /// Held while a signature is verified for a locked address.
    locked_check: Semaphore,
    reads: Gate,
    lists: Gate,
    long_lists: Gate,
    writes: Gate,
    refusals: Arc<Refusals>,
}

/// How somebody gets what was asked for.
pub(crate) enum Turn<'a, T> {
    /// By a reading of its own, and perhaps there are others to be told.
    Own(Entered<'a>, Option<Teller<'a, T>>),
    /// By somebody else's.
    Told(T),
}

impl Pressure {
    pub(crate) fn new(settings: &PressureSettings) -> Self {
        let gate = |most: usize| Gate::new(most, QUEUE_WAIT_MAX);
        Self {
            limiter: Limiter::new(settings.rate_limit_per_s, settings.rate_limit_burst)
                .map(Arc::new),
            attempts: Attempts::new(settings.failed_auth_per_minute),
            locked_checks: LockedChecks::new(),
            locked_check: Semaphore::new(1),
            reads: gate(settings.reads_max),
            lists: gate(settings.lists_max),
            long_lists: gate(settings.long_lists_max),
            writes: gate(settings.writes_max),
            refusals: Arc::default(),
        }
    }

    /// What was refused so far, for the metrics.
    pub(crate) fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(&self.refusals)
    }

    /// Charges a request to its caller; `standing` is what every answer to it tells. Beyond the
    /// caller's limit the request is refused with 429.
    pub(crate) fn charge(
        &self,
        caller: &Identity<'_>,
        standing: &mut Option<Standing>,
    ) -> Result<(), Problem> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        let charged = limiter.charge(caller);
        *standing = Some(charged);
        let Some(wait) = charged.wait_s() else { return Ok(()) };
        self.refusals.count(Reason::RateLimited);
        Err(too_many(limiter.detail(), wait))
    }

    /// The limit of callers, for work that goes on after its request was charged.
    pub(crate) fn limiter(&self) -> Option<Arc<Limiter>> {
        self.limiter.clone()
    }

    /// Puts what a caller was told into an answer's head.
    pub(crate) fn tell(&self, standing: Option<Standing>, headers: &mut HeaderMap) {
        if let (Some(limiter), Some(standing)) = (&self.limiter, standing) {
            limiter.tell(standing, headers);
        }
    }

    /// Waits, not for long, until one more of a class may begin; else it is refused with 503.
    pub(crate) async fn enter(&self, class: Class) -> Result<Entered<'_>, Problem> {
        let entered = self.enter_at_once(class).await?;
        if class.is_long() {
            look_around().await;
        }
        Ok(entered)
    }

    /// As [`enter`](Self::enter) into the long lists, for a short page that may have to be read
    /// aside: if not, it is over before anybody could be told anything.
    pub(crate) async fn enter_aside(&self) -> Result<Entered<'_>, Problem> {
        self.enter_at_once(Class::LongLists).await
    }

    async fn enter_at_once(&self, class: Class) -> Result<Entered<'_>, Problem> {
        self.gate(class).enter().await.ok_or_else(|| {
            self.overloaded();
            Problem::new(ProblemCode::Overloaded)
        })
    }

    /// As [`enter`](Self::enter) into the long lists; but whoever has to wait, and asks for the
    /// same as somebody who waits already, shares that one's reading.
    pub(crate) async fn enter_or_share<'a, T: Clone>(
        &'a self,
        alike: &'a Alike<T>,
        asked: &str,
    ) -> Result<Turn<'a, T>, Problem> {
        let gate = &self.long_lists;
        if let Some(entered) = gate.try_enter() {
            look_around().await;
            return Ok(Turn::Own(entered, None));
        }
        if let Some(line) = gate.line_up() {
            let teller = match alike.part(asked) {
                Part::Tells(teller) => Some(teller),
                Part::Listens(listener) => match listener.told().await {
                    Some(told) => return Ok(Turn::Told(told)),
                    None => None,
                },
            };
            if let Some(entered) = gate.wait(line).await {
                look_around().await;
                if let Some(teller) = &teller {
                    teller.begin();
                }
                return Ok(Turn::Own(entered, teller));
            }
        }
        self.overloaded();
        Err(Problem::new(ProblemCode::Overloaded))
    }

    /// Whether one more of a class would be refused at once; it is counted if so.
    pub(crate) fn refuses(&self, class: Class) -> bool {
        let refuses = self.gate(class).refuses();
        if refuses {
            self.overloaded();
        }
        refuses
    }

    fn overloaded(&self) {
        self.refusals.count(Reason::Overloaded);
    }

    fn gate(&self, class: Class) -> &Gate {
        match class {
            Class::Reads => &self.reads,
            Class::Lists => &self.lists,
            Class::LongLists => &self.long_lists,
            Class::Writes => &self.writes,
        }
    }

    /// Does some work of a class once it may begin.
    pub(crate) async fn pass<T, E: Into<Problem>>(
        &self,
        class: Class,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Problem> {
        let _entered = self.enter(class).await?;
        work.await.map_err(Into::into)
    }

    /// Counts a refusal that was decided elsewhere.
    pub(crate) fn refused(&self, reason: Reason) {
        self.refusals.count(reason);
    }
}

/// What is asked where credentials are looked at.
impl Pressure {
    /// For how many seconds an address is locked; none where it is not. `credential` is what of a
    /// credential can be known beforehand, as the id of a key: where that has proved itself from
    /// this address lately, strangers behind the same address cannot lock it out.
    pub(crate) fn locked_for(&self, address: IpAddr, credential: &str) -> Option<u32> {
        self.attempts.may_try(address, credential).err()
    }

    /// The refusal of an attempt from a locked address.
    pub(crate) fn refuse_attempt(&self, wait_s: u32) -> Problem {
        self.refusals.count(Reason::FailedAuthentication);
        let detail = "too many attempts with bad credentials came from this address";
        too_many(detail.to_owned(), wait_s)
    }

    /// Waits, not for long, to verify a signature for a locked address; none where too many were
    /// verified already.
    pub(crate) async fn enter_locked_check(&self, address: IpAddr) -> Option<SemaphorePermit<'_>> {
        if !self.locked_checks.may_check(address) {
            return None;
        }
        timeout(QUEUE_WAIT_MAX, self.locked_check.acquire()).await.ok()?.ok()
    }

    /// An attempt from this address has failed.
    pub(crate) fn failed(&self, address: IpAddr) {
        self.attempts.failed(address);
    }

    /// A credential has proved itself from this address.
    pub(crate) fn succeeded(&self, address: IpAddr, credential: &str) {
        self.attempts.succeeded(address, credential);
    }
}

/// Whoever came meanwhile is told at once whether to wait: all of them, before the thread has its
/// hands full for as long as a long page takes.
async fn look_around() {
    yield_now().await;
}

/// The connections of a caller hold their share of memory.
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
