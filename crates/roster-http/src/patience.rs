//! How long somebody waits for an answer.
//!
//! A reading takes so long at most; a caller who would wait less says so by `Prefer: wait` (RFC
//! 7240 section 4.3), of readings and of changes. A reading that is late is dropped where it
//! stands. A change is given up as long as it was not begun, and otherwise told to its end: nobody
//! is left in doubt about it. It must not know what is read or changed.

use std::{
    future::poll_fn,
    mem,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
use roster_core::{Start, StoreError};
use tokio::time::timeout;

use crate::{
    extract::preferred_wait,
    problem::{Problem, ProblemCode},
};

/// The longest that a reading may take when nothing else is set.
pub const READ_WAIT_MAX: Duration = Duration::from_secs(30);

/// A reading that is answered in time, or not at all.
pub(crate) async fn in_time<T, E: From<Problem>>(
    most: Duration,
    headers: &HeaderMap,
    mut reading: Pin<&mut impl Future<Output = Result<T, E>>>,
) -> Result<T, E> {
    // What is at hand needs no timer.
    let at_once = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
    if let Poll::Ready(answer) = at_once {
        return answer;
    }
    let preferred = preferred_wait(headers).filter(|wait| *wait < most);
    // It was polled just now, by this very task: polled again at once, it could not have yielded.
    let mut is_fresh = true;
    let rest = poll_fn(|context| {
        if mem::take(&mut is_fresh) { Poll::Pending } else { reading.as_mut().poll(context) }
    });
    let answer = Box::pin(timeout(preferred.unwrap_or(most), rest)).await;
    answer.unwrap_or_else(|_| {
        Err(E::from(match preferred.map(|wait| wait.as_secs()) {
            Some(wait) => late(format!("there was no answer within {wait} s, as you asked for")),
            None => StoreError::TimedOut.into(),
        }))
    })
}

/// What a caller would wait for a change.
#[derive(Debug)]
pub(crate) struct Patience {
    start: Start,
    wait: Duration,
}

impl Patience {
    /// That of a request, if it says so.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        preferred_wait(headers).map(|wait| Self { start: Start::default(), wait })
    }

    /// What the change asks before it begins.
    pub(crate) fn start(&self) -> Start {
        self.start.clone()
    }

    /// Waits for a change, unless it was not begun in time.
    pub(crate) async fn hold<T>(
        &self,
        change: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let mut change = pin!(change);
        match timeout(self.wait, change.as_mut()).await {
            Ok(answer) => answer,
            Err(_) if self.start.give_up() => {
                let wait = self.wait.as_secs();
                Err(late(format!("nothing was changed: it could not begin within {wait} s")))
            }
            Err(_) => change.await,
        }
    }
}

/// What was asked for did not come in the time that its caller would wait.
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

    /// On the one thread of the test: whoever yields lets all go first that are ready.
    #[tokio::test]
    async fn a_reading_that_yields_lets_the_others_go_first() {
        let went = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&went);
        let reading = pin!(async move {
            spawn(async move { went.store(true, Ordering::Relaxed) });
            yield_now().await;
            Ok::<_, Problem>(seen.load(Ordering::Relaxed))
        });
        let answer = in_time(READ_WAIT_MAX, &HeaderMap::new(), reading).await;
        assert!(answer.unwrap(), "it went on at once");
    }

    #[tokio::test]
    async fn a_reading_that_is_late_is_given_up() {
        let reading = pin!(pending::<Result<(), Problem>>());
        let answer = in_time(SHORT, &HeaderMap::new(), reading).await;
        assert_eq!(answer.unwrap_err().code, ProblemCode::Unavailable);
    }

    #[tokio::test]
    async fn a_change_that_has_begun_is_told_to_its_end() {
        let patience = Patience { start: Start::default(), wait: SHORT };
        let start = patience.start();
        let change = async {
            assert!(start.begin());
            tokio::time::sleep(4 * SHORT).await;
            Ok(7)
        };
        assert_eq!(patience.hold(change).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_change_that_has_not_begun_in_time_never_begins() {
        let patience = Patience { start: Start::default(), wait: SHORT };
        let start = patience.start();
        let change = pending::<Result<(), Problem>>();
        assert_eq!(patience.hold(change).await.unwrap_err().code, ProblemCode::Unavailable);
        assert!(!start.begin());
    }
}
