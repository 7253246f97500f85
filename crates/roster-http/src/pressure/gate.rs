//! A fixed number at a time, and a short line before it that is bounded by time.
//!
//! Whoever would have to wait longer than the line may take is refused at once: refusing somebody
//! who has waited costs twice, and a caller that was told early can try elsewhere. First come,
//! first served, so everybody who is let in waits about as long as the others. A line is there for
//! bursts: one that does not end is kept short, for it would only make everybody late.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// The most that may wait, however quick the line is.
const WAITING_MAX: usize = 1_024;
/// The longest wait while the overload lasts.
const STRAINED_WAIT_MAX: Duration = Duration::from_millis(5);
/// The longest wait in a line that does not end, be it that callers who wait for their answers
/// keep it up.
const STANDING_WAIT_MAX: Duration = Duration::from_millis(25);
/// Over what time it is judged whether it lasts.
const WINDOW: Duration = Duration::from_secs(1);
/// It lasts while more than one of so many that found all places taken are refused.
const REFUSED_OF: u32 = 10;
/// Each new measurement moves the average by one part of so many.
const AVERAGED_OVER: u64 = 16;

/// A gate before one class of work.
#[derive(Debug)]
pub(super) struct Gate {
    places: Semaphore,
    count: u64,
    waiting: AtomicUsize,
    /// How long a place is taken on average, in nanoseconds.
    taken_ns: AtomicU64,
    wait_max: Duration,
    /// Whether everybody who came since the line began found all places taken.
    stands: AtomicBool,
    strain: Mutex<Strain>,
}

/// A place that was got; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    gate: &'a Gate,
    since: Instant,
    _permit: SemaphorePermit<'a>,
}

/// A place in the line.
pub(super) struct Waiting<'a>(&'a Gate);

/// Whether the overload lasts.
#[derive(Debug, Default)]
struct Strain {
    is_on: bool,
    since: Option<Instant>,
    came: u32,
    refused: u32,
    /// Since when there is a line.
    stands_since: Option<Instant>,
}

impl Gate {
    /// So many at a time, and nobody waits longer than this.
    pub(super) fn new(count: usize, wait_max: Duration) -> Self {
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            places: Semaphore::new(count),
            count: u64::try_from(count).unwrap_or(u64::MAX),
            waiting: AtomicUsize::new(0),
            taken_ns: AtomicU64::new(0),
            wait_max,
            stands: AtomicBool::new(false),
            strain: Mutex::default(),
        }
    }

    /// A place, at once or after a short wait; nothing where there is none.
    pub(super) async fn enter(&self) -> Option<Entered<'_>> {
        if let Some(entered) = self.try_enter() {
            return Some(entered);
        }
        let line = self.line_up()?;
        // Few come here and are let in: the rest need no room for it.
        Box::pin(self.wait(line)).await
    }

    /// A place, if there is one.
    pub(super) fn try_enter(&self) -> Option<Entered<'_>> {
        let permit = self.places.try_acquire().ok()?;
        if self.stands.load(Ordering::Relaxed) {
            self.stands.store(false, Ordering::Relaxed);
        }
        Some(self.entered(permit))
    }

    /// Whether one more would be refused at once; it is counted if so.
    pub(super) fn refuses(&self) -> bool {
        self.places.available_permits() == 0 && self.line_up().is_none()
    }

    /// Waits in line for a place; nothing where that takes too long.
    pub(super) async fn wait(&self, line: Waiting<'_>) -> Option<Entered<'_>> {
        let permit = timeout(self.wait_max, self.places.acquire()).await;
        drop(line);
        if let Ok(Ok(permit)) = permit {
            return Some(self.entered(permit));
        }
        self.strain().refused();
        None
    }

    fn entered<'a>(&'a self, permit: SemaphorePermit<'a>) -> Entered<'a> {
        Entered { gate: self, since: Instant::now(), _permit: permit }
    }

    /// A place in the line, unless it is too long.
    pub(super) fn line_up(&self) -> Option<Waiting<'_>> {
        let waiting = self.waiting.load(Ordering::Relaxed);
        let (now, goes_on) = (Instant::now(), self.stands.swap(true, Ordering::Relaxed));
        let mut strain = self.strain();
        let stands = strain.stands(goes_on, now, self.wait_max);
        let longest = match (strain.is_on(now), stands) {
            (true, _) => STRAINED_WAIT_MAX,
            (false, true) => STANDING_WAIT_MAX,
            (false, false) => self.wait_max,
        };
        if waiting >= WAITING_MAX || self.expected(waiting) > longest {
            strain.refused();
            return None;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Some(Waiting(self))
    }

    /// How long the next one has to wait behind those that wait already.
    fn expected(&self, waiting: usize) -> Duration {
        let each = self.taken_ns.load(Ordering::Relaxed) / self.count;
        let ahead = u64::try_from(waiting).unwrap_or(u64::MAX).saturating_add(1);
        Duration::from_nanos(each.saturating_mul(ahead))
    }

    fn strain(&self) -> std::sync::MutexGuard<'_, Strain> {
        self.strain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Two that leave at once may lose one measurement; the average does not mind.
    fn left(&self, taken: Duration) {
        let taken = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX);
        let average = self.taken_ns.load(Ordering::Relaxed);
        let average = if average == 0 {
            taken
        } else {
            average - average / AVERAGED_OVER + taken / AVERAGED_OVER
        };
        self.taken_ns.store(average, Ordering::Relaxed);
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.gate.left(self.since.elapsed());
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Strain {
    /// Whether it lasts, for one more that found all places taken.
    fn is_on(&mut self, now: Instant) -> bool {
        let age = self.since.map(|since| now.saturating_duration_since(since));
        if age.is_none_or(|age| age >= WINDOW) {
            let many = u64::from(self.refused) * u64::from(REFUSED_OF) > u64::from(self.came);
            // What was so long ago tells nothing of now.
            self.is_on = many && age.is_some_and(|age| age < 2 * WINDOW);
            (self.since, self.came, self.refused) = (Some(now), 0, 0);
        }
        self.came = self.came.saturating_add(1);
        self.is_on
    }

    /// Whether the line, which goes on or has just begun, has stood for longer than a burst's does.
    fn stands(&mut self, goes_on: bool, now: Instant, burst_max: Duration) -> bool {
        let since = self.stands_since.filter(|_| goes_on).unwrap_or(now);
        self.stands_since = Some(since);
        now.saturating_duration_since(since) > burst_max
    }

    fn refused(&mut self) {
        self.is_on = true;
        self.refused = self.refused.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::sleep;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn so_many_enter_and_the_next_waits_for_one_to_leave() {
        let gate = Gate::new(2, LONG);
        let first = gate.enter().await.unwrap();
        let _second = gate.enter().await.unwrap();
        let mut third = pin!(gate.enter());
        tokio::select! {
            biased;
            _ = &mut third => panic!("there was no place"),
            () = sleep(Duration::from_millis(20)) => {}
        }
        drop(first);
        assert!(third.await.is_some());
    }

    #[tokio::test]
    async fn nobody_waits_longer_than_the_line_may_take() {
        let gate = Gate::new(1, Duration::from_millis(20));
        let _held = gate.enter().await.unwrap();
        assert!(gate.enter().await.is_none());
        assert_eq!(gate.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn whoever_would_wait_too_long_is_refused_at_once() {
        let gate = Gate::new(1, Duration::from_millis(100));
        gate.taken_ns.store(40_000_000, Ordering::Relaxed);
        let _held = gate.enter().await.unwrap();
        let line: Vec<_> = (0..2).map(|_| gate.line_up()).collect();
        assert!(line.iter().all(Option::is_some));
        assert!(gate.line_up().is_none(), "120 ms ahead");
        drop(line);
        assert!(gate.line_up().is_none(), "the line is short once somebody was refused");
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_leaves_the_line() {
        let gate = Gate::new(1, LONG);
        let held = gate.enter().await.unwrap();
        {
            let mut gone = pin!(gate.enter());
            tokio::select! {
                biased;
                _ = &mut gone => panic!("there was no place"),
                () = sleep(Duration::from_millis(5)) => {}
            }
            assert_eq!(gate.waiting.load(Ordering::Relaxed), 1);
        }
        assert_eq!(gate.waiting.load(Ordering::Relaxed), 0);
        drop(held);
        assert!(gate.enter().await.is_some());
    }

    #[test]
    fn a_line_that_does_not_end_is_kept_short() {
        let (mut strain, burst) = (Strain::default(), Duration::from_millis(100));
        let start = Instant::now();
        let mut stands =
            |goes_on, ms| strain.stands(goes_on, start + Duration::from_millis(ms), burst);
        assert!(!stands(false, 0));
        assert!(!stands(true, 100));
        assert!(!stands(false, 101), "it had ended, and another one began");
        assert!(!stands(true, 201));
        assert!(stands(true, 202));
    }

    #[test]
    fn strain_lasts_while_many_are_refused_and_ends_after() {
        let mut strain = Strain::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        assert!(!strain.is_on(at(0)));
        strain.refused();
        for ms in 1..1_000 {
            assert!(strain.is_on(at(ms)));
            if ms % 5 == 0 {
                strain.refused();
            }
        }
        // One of five was refused: it goes on.
        for ms in 1_000..2_000 {
            assert!(strain.is_on(at(ms)), "{ms}");
        }
        // Nobody was: it is over.
        assert!(!strain.is_on(at(2_001)));
        strain.refused();
        assert!(!strain.is_on(at(60_000)), "that was long ago");
    }
}
