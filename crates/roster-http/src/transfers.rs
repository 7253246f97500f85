//! The limits of running imports and exports, in total and per caller.
//!
//! A caller may make its transfers last as long as it wants, so one caller must not be able to take
//! all places. Only a hash of the caller's identity is stored.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use http::{HeaderValue, header::RETRY_AFTER};
use roster_server::{ConcurrencyLimit, ConcurrencyPermit, Identity};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    admission::Refusals,
    problem::{Problem, ProblemCode},
};

/// The maximum number of concurrent imports.
pub(crate) const IMPORTS_MAX: usize = 8;
/// The maximum number of concurrent imports of one caller.
pub(crate) const IMPORTS_PER_CALLER_MAX: usize = 2;
/// The maximum number of concurrent exports.
pub(crate) const EXPORTS_MAX: usize = 32;
/// The maximum number of concurrent exports of one caller.
pub(crate) const EXPORTS_PER_CALLER_MAX: usize = 8;
/// The maximum number of batches of all imports in the store at a time. They must not fill the
/// queue in which single writes wait too.
const BATCHES_IN_FLIGHT_MAX: usize = 6;

/// The limits that all transfers share.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub(crate) imports: Places,
    pub(crate) exports: Places,
    pub(crate) batches: Arc<Semaphore>,
}

impl Transfers {
    pub(crate) fn new() -> Self {
        Self {
            imports: Places::new("imports", IMPORTS_MAX, IMPORTS_PER_CALLER_MAX),
            exports: Places::new("exports", EXPORTS_MAX, EXPORTS_PER_CALLER_MAX),
            batches: Arc::new(Semaphore::new(BATCHES_IN_FLIGHT_MAX)),
        }
    }
}

/// The places of one kind of transfer.
#[derive(Debug)]
pub(crate) struct Places {
    /// The kind of transfer, for error texts.
    what: &'static str,
    free: Arc<Semaphore>,
    callers: ConcurrencyLimit<u64>,
    hasher: RandomState,
}

/// A place. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    _of_caller: ConcurrencyPermit<u64>,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    fn new(what: &'static str, max: usize, per_caller_max: usize) -> Self {
        Self {
            what,
            free: Arc::new(Semaphore::new(max)),
            callers: ConcurrencyLimit::new(per_caller_max),
            hasher: RandomState::new(),
        }
    }

    /// Takes a place for a caller, or refuses the request.
    pub(crate) fn take(
        &self,
        caller: &Identity<'_>,
        refusals: &Refusals,
    ) -> Result<Place, Problem> {
        let refuse = |code: ProblemCode, whose| {
            refusals.count(code.as_str());
            let detail = format!("too many {}{whose} are running; try again later", self.what);
            Problem::saying(code, detail).with_header(RETRY_AFTER, HeaderValue::from_static("5"))
        };
        let of_caller = self.callers.take(self.hasher.hash_one(caller));
        let of_caller =
            of_caller.ok_or_else(|| refuse(ProblemCode::RateLimited, " of this caller"))?;
        let permit = Arc::clone(&self.free).try_acquire_owned();
        let permit = permit.map_err(|_| refuse(ProblemCode::Overloaded, ""))?;
        Ok(Place { _of_caller: of_caller, _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_takes_no_more_than_its_share_and_all_no_more_than_there_are() {
        let (places, refusals) = (Places::new("imports", 3, 2), Refusals::default());
        let take = |caller: &str| places.take(&Identity::Key(caller), &refusals);
        let refused = |caller: &str| take(caller).err().map(|problem| problem.code);
        let (one, two) = (take("a").expect("a place"), take("a").expect("a place"));
        assert_eq!(refused("a"), Some(ProblemCode::RateLimited));
        let three = take("b").expect("a place");
        assert_eq!(refused("b"), Some(ProblemCode::Overloaded));
        drop(one);
        let four = take("a").expect("a place");
        drop((two, three, four));
        assert_eq!(places.callers.keys(), 0);
        assert_eq!(places.free.available_permits(), 3);
    }
}
