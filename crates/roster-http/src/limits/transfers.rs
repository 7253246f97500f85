//! The limits of running imports and exports and of subscribers, in total and per caller.
//!
//! A caller may make its transfers last as long as it wants, so no caller may take what others
//! need. One caller has only a part of the places. The last free place is for a caller without
//! one. If no place is free, the slowest transfer ends in favour of a caller without a place, if it
//! is slow. Only a hash of the caller's identity is stored.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{HeaderValue, header::RETRY_AFTER};
use roster_server::{ConcurrencyLimit, ConcurrencyPermit, Identity};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use crate::{
    limits::admission::Refusals,
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
/// The maximum number of requests that wait for events, and of streams of them.
pub(crate) const SUBSCRIBERS_MAX: usize = 1000;
/// The maximum number of such requests of one caller.
pub(crate) const SUBSCRIBERS_PER_CALLER_MAX: usize = 100;
/// The maximum number of concurrent test requests to webhooks.
pub(crate) const WEBHOOK_TESTS_MAX: usize = 16;
/// The maximum number of such requests of one caller.
pub(crate) const WEBHOOK_TESTS_PER_CALLER_MAX: usize = 2;
/// A transfer of fewer lines in a second is slow: it may have to end for another caller.
pub(crate) const SLOW_LINES_PER_S: u64 = 100;
/// The time over which the speed is measured. A younger transfer is not slow.
const SPEED_WINDOW: Duration = Duration::from_secs(5);
/// How long a request waits for the place of a transfer that ends. An import executes the lines
/// that it has sent to the store.
const PLACE_WAIT: Duration = Duration::from_secs(2);
/// The maximum number of batches of all imports in the store at a time. They must not fill the
/// queue in which single writes wait too.
const BATCHES_IN_FLIGHT_MAX: usize = 6;

/// The limits that all transfers share.
#[derive(Debug)]
pub(crate) struct Transfers {
    pub(crate) imports: Places,
    pub(crate) exports: Places,
    pub(crate) subscribers: Places,
    pub(crate) webhook_tests: Places,
    pub(crate) batches: Arc<Semaphore>,
}

impl Transfers {
    pub(crate) fn new() -> Self {
        Self {
            imports: Places::new("imports", IMPORTS_MAX, IMPORTS_PER_CALLER_MAX),
            exports: Places::new("exports", EXPORTS_MAX, EXPORTS_PER_CALLER_MAX),
            subscribers: Places {
                may_end: false,
                ..Places::new(
                    "waits and streams for events",
                    SUBSCRIBERS_MAX,
                    SUBSCRIBERS_PER_CALLER_MAX,
                )
            },
            webhook_tests: Places {
                may_end: false,
                ..Places::new(
                    "test requests to webhooks",
                    WEBHOOK_TESTS_MAX,
                    WEBHOOK_TESTS_PER_CALLER_MAX,
                )
            },
            batches: Arc::new(Semaphore::new(BATCHES_IN_FLIGHT_MAX)),
        }
    }

    /// How many of each kind are running.
    pub(crate) fn running(&self) -> [(&'static str, usize); 4] {
        [
            ("import", self.imports.count()),
            ("export", self.exports.count()),
            ("subscriber", self.subscribers.count()),
            ("webhook_test", self.webhook_tests.count()),
        ]
    }
}

/// The places of one kind of transfer.
#[derive(Debug)]
pub(crate) struct Places {
    /// The kind of transfer, for error texts.
    what: &'static str,
    /// Whether a slow transfer ends in favour of a caller without one.
    may_end: bool,
    free: Arc<Semaphore>,
    callers: ConcurrencyLimit<u64>,
    hasher: RandomState,
    running: Arc<Mutex<Vec<Arc<Transfer>>>>,
}

/// A place. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    transfer: Arc<Transfer>,
    running: Arc<Mutex<Vec<Arc<Transfer>>>>,
    _of_caller: ConcurrencyPermit<u64>,
    _permit: OwnedSemaphorePermit,
}

/// The speed of a transfer, and whether it must end.
#[derive(Debug)]
struct Transfer {
    speed: Mutex<Speed>,
    ended: Notify,
}

/// The lines since a window of time began.
#[derive(Debug)]
struct Speed {
    began: Instant,
    lines: u64,
    /// The lines in a second of the window before.
    before: Option<u64>,
    /// Whether the transfer must end already.
    is_ending: bool,
}

impl Places {
    fn new(what: &'static str, max: usize, per_caller_max: usize) -> Self {
        Self {
            what,
            may_end: true,
            free: Arc::new(Semaphore::new(max)),
            callers: ConcurrencyLimit::new(per_caller_max),
            hasher: RandomState::new(),
            running: Arc::default(),
        }
    }

    fn count(&self) -> usize {
        lock(&self.running).len()
    }

    /// Takes a place for a caller, or refuses the request. Waits only for a transfer that ends in
    /// favour of the caller.
    pub(crate) async fn take(
        &self,
        caller: &Identity<'_>,
        refusals: &Refusals,
    ) -> Result<Place, Problem> {
        let refuse = |code: ProblemCode, whose| {
            refusals.count(code.as_str());
            let detail = format!("too many {}{whose} are running; try again later", self.what);
            Problem::saying(code, detail).with_header(RETRY_AFTER, HeaderValue::from_static("5"))
        };
        let caller = self.hasher.hash_one(caller);
        let has_place = self.callers.held(caller) > 0;
        let of_caller = self.callers.take(caller);
        let of_caller =
            of_caller.ok_or_else(|| refuse(ProblemCode::RateLimited, " of this caller"))?;
        let permit = self.permit(has_place).await;
        let permit = permit.ok_or_else(|| refuse(ProblemCode::Overloaded, ""))?;
        let transfer = Arc::new(Transfer::new());
        lock(&self.running).push(Arc::clone(&transfer));
        let running = Arc::clone(&self.running);
        Ok(Place { transfer, running, _of_caller: of_caller, _permit: permit })
    }

    async fn permit(&self, has_place: bool) -> Option<OwnedSemaphorePermit> {
        let free = Arc::clone(&self.free);
        if has_place {
            return if free.available_permits() > 1 { free.try_acquire_owned().ok() } else { None };
        }
        if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            return Some(permit);
        }
        (self.may_end && self.end_slowest(Instant::now())).then_some(())?;
        timeout(PLACE_WAIT, free.acquire_owned()).await.ok()?.ok()
    }

    /// Ends the slowest transfer, if it is slow.
    fn end_slowest(&self, now: Instant) -> bool {
        let running = lock(&self.running);
        let speeds = running.iter().filter_map(|transfer| {
            let speed = lock(&transfer.speed).at(now).filter(|speed| *speed < SLOW_LINES_PER_S);
            Some((speed?, transfer))
        });
        let slowest = speeds.min_by_key(|(speed, _)| *speed);
        slowest.map(|(_, transfer)| transfer.end()).is_some()
    }
}

impl Place {
    /// Counts lines that were executed or sent.
    pub(crate) fn progress(&self, lines: usize) {
        lock(&self.transfer.speed).add(lines, Instant::now());
    }

    /// Waits until the transfer must end in favour of another caller. Cancel-safe.
    pub(crate) async fn ended(&self) -> Problem {
        self.transfer.ended.notified().await;
        let detail = "another caller waited for a place, and this was the slowest transfer; \
                      continue later, or faster";
        Problem::saying(ProblemCode::Overloaded, detail)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.running).retain(|running| !Arc::ptr_eq(running, &self.transfer));
    }
}

impl Transfer {
    fn new() -> Self {
        let (began, lines, before, is_ending) = (Instant::now(), 0, None, false);
        Self { speed: Mutex::new(Speed { began, lines, before, is_ending }), ended: Notify::new() }
    }

    fn end(&self) {
        lock(&self.speed).is_ending = true;
        self.ended.notify_one();
    }
}

impl Speed {
    fn add(&mut self, lines: usize, now: Instant) {
        self.lines += u64::try_from(lines).unwrap_or_default();
        if now >= self.began + SPEED_WINDOW {
            self.before = Some(self.in_window(now));
            (self.began, self.lines) = (now, 0);
        }
    }

    /// The lines in a second; `None` for a transfer that is young or must end already.
    fn at(&self, now: Instant) -> Option<u64> {
        let is_whole = now >= self.began + SPEED_WINDOW;
        let speed = if is_whole { Some(self.in_window(now)) } else { self.before };
        speed.filter(|_| !self.is_ending)
    }

    fn in_window(&self, now: Instant) -> u64 {
        self.lines / now.saturating_duration_since(self.began).as_secs().max(1)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn take(places: &Places, caller: &str) -> Result<Place, ProblemCode> {
        let taken = places.take(&Identity::Key(caller), &Refusals::default()).await;
        taken.map_err(|problem| problem.code)
    }

    async fn refused(places: &Places, caller: &str) -> Option<ProblemCode> {
        take(places, caller).await.err()
    }

    #[tokio::test]
    async fn a_caller_takes_no_more_than_its_share_and_the_last_place_only_as_its_first() {
        let places = Places::new("imports", 4, 2);
        let (one, two) = (take(&places, "a").await.unwrap(), take(&places, "a").await.unwrap());
        assert_eq!(refused(&places, "a").await, Some(ProblemCode::RateLimited));
        let three = take(&places, "b").await.unwrap();
        assert_eq!(refused(&places, "b").await, Some(ProblemCode::Overloaded));
        let four = take(&places, "c").await.unwrap();
        assert_eq!(refused(&places, "d").await, Some(ProblemCode::Overloaded));
        drop(one);
        assert_eq!(refused(&places, "b").await, Some(ProblemCode::Overloaded));
        let five = take(&places, "d").await.unwrap();
        drop((two, three, four, five));
        assert_eq!((places.callers.keys(), places.free.available_permits()), (0, 4));
        assert!(lock(&places.running).is_empty());
    }

    #[tokio::test]
    async fn the_slowest_transfer_ends_for_a_caller_without_one() {
        let places = Places::new("imports", 3, 2);
        let fast = take(&places, "a").await.unwrap();
        let slow = take(&places, "b").await.unwrap();
        let slowest = take(&places, "c").await.unwrap();
        assert_eq!(refused(&places, "d").await, Some(ProblemCode::Overloaded), "all are young");
        for (place, lines) in [(&fast, 1_000), (&slow, 20), (&slowest, 10)] {
            place.progress(lines);
            lock(&place.transfer.speed).began -= SPEED_WINDOW;
            place.progress(0);
        }
        let end = async {
            assert_eq!(slowest.ended().await.code, ProblemCode::Overloaded);
            drop(slowest);
        };
        let (taken, ()) = tokio::join!(take(&places, "d"), end);
        let young = taken.unwrap();
        let end = async {
            slow.ended().await;
            drop(slow);
        };
        let (taken, ()) = tokio::join!(take(&places, "e"), end);
        let _places = (fast, young, taken.unwrap());
        assert_eq!(refused(&places, "f").await, Some(ProblemCode::Overloaded), "none is slow");
    }
}
