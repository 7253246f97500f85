//! Time limits of requests.
//!
//! A read has a time limit. `Prefer: wait` (RFC 7240 section 4.3) lowers it, and sets one for a
//! write. A read that exceeds its limit is dropped. A write that exceeds its limit is cancelled if
//! it has not begun; otherwise its result is awaited, so that the caller always learns it.

use std::{pin::pin, time::Duration};

use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
use roster_core::{Start, StoreError};
use tokio::time::timeout;

use crate::{
    extract::preferred_wait,
    problem::{Problem, ProblemCode},
};

/// The default time limit of a read.
pub const READ_WAIT_MAX: Duration = Duration::from_secs(30);

/// The time limit with `wait=0`: what is done at once over the network of a database may take it.
const AT_ONCE: Duration = Duration::from_millis(50);

/// The time limit of a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimit {
    most: Duration,
    preferred: Option<Duration>,
}

impl ReadLimit {
    /// The limit `most`, or the shorter one that the caller prefers.
    pub(crate) fn of(most: Duration, headers: &HeaderMap) -> Self {
        Self { most, preferred: preferred_wait(headers).filter(|wait| *wait < most) }
    }
}

/// Runs a read until its time limit.
pub(crate) async fn in_time<T>(
    limit: ReadLimit,
    reading: impl Future<Output = T>,
) -> Result<T, Problem> {
    let ReadLimit { most, preferred } = limit;
    timeout(preferred.map_or(most, |wait| wait.max(AT_ONCE)), reading).await.map_err(|_| {
        match preferred.map(|wait| wait.as_secs()) {
            Some(wait) => {
                late(format!("there was no result within {wait} s, the time in Prefer: wait"))
            }
            None => StoreError::TimedOut.into(),
        }
    })
}

/// How long a caller waits for a write.
#[derive(Debug)]
pub(crate) struct PreferredWait {
    start: Start,
    wait: Duration,
}

impl PreferredWait {
    /// The wait that a request prefers, if any, for the write with this state.
    pub(crate) fn of(headers: &HeaderMap, start: &Start) -> Option<Self> {
        preferred_wait(headers).map(|wait| Self { start: start.clone(), wait })
    }

    /// Awaits a write, and cancels it if it has not begun in time.
    pub(crate) async fn hold<T>(
        &self,
        change: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let mut change = pin!(change);
        match timeout(self.wait.max(AT_ONCE), change.as_mut()).await {
            Ok(answer) => answer,
            Err(_) if self.start.give_up() => {
                let wait = self.wait.as_secs();
                Err(late(format!("nothing was changed: it could not begin within {wait} s")))
            }
            Err(_) => change.await,
        }
    }
}

/// The problem of a request that took longer than its caller waits.
fn late(detail: String) -> Problem {
    Problem::saying(ProblemCode::Unavailable, detail)
        .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use tokio::task::{spawn, yield_now};

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    /// The test has one thread, so the spawned task runs only while the read yields.
    #[tokio::test]
    async fn a_read_that_yields_lets_other_tasks_run_first() {
        let went = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&went);
        let reading = async move {
            spawn(async move { went.store(true, Ordering::Relaxed) });
            yield_now().await;
            seen.load(Ordering::Relaxed)
        };
        let limit = ReadLimit::of(READ_WAIT_MAX, &HeaderMap::new());
        let answer = in_time(limit, reading).await;
        assert!(answer.unwrap(), "it went on at once");
    }

    #[tokio::test]
    async fn a_reading_that_is_late_is_given_up() {
        let limit = ReadLimit::of(SHORT, &HeaderMap::new());
        let answer = in_time(limit, pending::<()>()).await;
        assert_eq!(answer.unwrap_err().code, ProblemCode::Unavailable);
    }

    #[tokio::test]
    async fn a_change_that_has_begun_is_told_to_its_end() {
        let wait = PreferredWait { start: Start::default(), wait: SHORT };
        let start = wait.start.clone();
        let change = async {
            assert!(start.begin());
            tokio::time::sleep(4 * SHORT).await;
            Ok(7)
        };
        assert_eq!(wait.hold(change).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_change_that_has_not_begun_in_time_never_begins() {
        let wait = PreferredWait { start: Start::default(), wait: SHORT };
        let start = wait.start.clone();
        let change = pending::<Result<(), Problem>>();
        assert_eq!(wait.hold(change).await.unwrap_err().code, ProblemCode::Unavailable);
        assert!(!start.begin());
    }
}
