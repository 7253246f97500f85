//! Imports and exports that run: so many in total, and so many for each caller.
//!
//! A caller may keep its places as long as it likes, so one caller must not be able to take them
//! all. Only a hash of who the caller is is kept.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::{HeaderValue, header::RETRY_AFTER};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    pressure::{Identity, Pressure, Reason},
    problem::{Problem, ProblemCode},
};

/// Most imports that run at a time.
pub(crate) const IMPORTS_MAX: usize = 8;
/// Most imports of one caller that run at a time.
pub(crate) const IMPORTS_PER_CALLER_MAX: usize = 2;
/// Most exports that run at a time.
pub(crate) const EXPORTS_MAX: usize = 32;
/// Most exports of one caller that run at a time.
pub(crate) const EXPORTS_PER_CALLER_MAX: usize = 8;
/// Most batches of all imports together that the store is given at a time: they must not fill the
/// queue that single writes wait in too.
const BATCHES_IN_FLIGHT_MAX: usize = 6;

/// The room that bulk transfers share.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub(crate) imports: Places,
    pub(crate) exports: Places,
    pub(crate) batches: Arc<Semaphore>,
}

impl Transfers {
    pub(crate) fn new() -> Self {
        Self {
            imports: Places::new(IMPORTS_MAX, IMPORTS_PER_CALLER_MAX),
            exports: Places::new(EXPORTS_MAX, EXPORTS_PER_CALLER_MAX),
            batches: Arc::new(Semaphore::new(BATCHES_IN_FLIGHT_MAX)),
        }
    }
}

/// The places.
#[derive(Debug)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    per_caller_max: usize,
    taken: Arc<Taken>,
    hasher: RandomState,
}

/// How many places each caller has taken.
type Taken = Mutex<HashMap<u64, usize>>;

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    caller: u64,
    taken: Arc<Taken>,
    _permit: OwnedSemaphorePermit,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The caller has taken all of its own.
    OfCaller,
    /// All places are taken.
    AtAll,
}

impl Places {
    pub(crate) fn new(max: usize, per_caller_max: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(max)),
            per_caller_max,
            taken: Arc::default(),
            hasher: RandomState::new(),
        }
    }

    /// Takes a place for a caller.
    pub(crate) fn take(&self, caller: &Identity<'_>) -> Result<Place, NoPlace> {
        let caller = self.hasher.hash_one(caller.canonical());
        let mut taken = lock(&self.taken);
        if taken.get(&caller).is_some_and(|count| *count >= self.per_caller_max) {
            return Err(NoPlace::OfCaller);
        }
        let permit = Arc::clone(&self.free).try_acquire_owned().map_err(|_| NoPlace::AtAll)?;
        *taken.entry(caller).or_insert(0) += 1;
        Ok(Place { caller, taken: Arc::clone(&self.taken), _permit: permit })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.caller);
            }
        }
    }
}

fn lock(taken: &Taken) -> MutexGuard<'_, HashMap<u64, usize>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place among the transfers that run, or a refusal; `what` names them.
pub(crate) fn place(
    pressure: &Pressure,
    caller: &Identity<'_>,
    places: &Places,
    what: &'static str,
) -> Result<Place, Problem> {
    places.take(caller).map_err(|no_place| {
        let (reason, code, detail) = match no_place {
            NoPlace::OfCaller => {
                let detail = format!("too many {what} of this caller are running; try again later");
                (Reason::RateLimited, ProblemCode::RateLimited, detail)
            }
            NoPlace::AtAll => {
                let detail = format!("too many {what} are running; try again later");
                (Reason::Overloaded, ProblemCode::Overloaded, detail)
            }
        };
        pressure.refused(reason);
        Problem::saying(code, detail).with_header(RETRY_AFTER, HeaderValue::from_static("5"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_takes_no_more_than_its_share_and_all_no_more_than_there_are() {
        let places = Places::new(3, 2);
        let take = |caller: &str| places.take(&Identity::Key(caller));
        let (one, two) = (take("a").expect("a place"), take("a").expect("a place"));
        assert_eq!(take("a").err(), Some(NoPlace::OfCaller));
        let three = take("b").expect("a place");
        assert_eq!(take("b").err(), Some(NoPlace::AtAll));
        drop(one);
        let four = take("a").expect("a place");
        drop((two, three, four));
        assert!(lock(&places.taken).is_empty());
        assert_eq!(places.free.available_permits(), 3);
    }
}
