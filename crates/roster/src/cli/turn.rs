//! Waiting for another process to leave what this one needs: its data directory, its port.
//!
//! Two processes never serve one data directory. Where one is to follow the other, the successor
//! may be started before the predecessor has gone: it tries again and again, for a bounded time,
//! and ends without a fault when it is told to stop meanwhile. It must not know what is waited for.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::stop::Drain;

/// How long a successor waits at least when a supervisor keeps the socket: callers then wait in
/// the socket's queue, and it is known that somebody is meant to follow. Longer than the default
/// of `drain_timeout_ms`.
pub(super) const HANDOVER_WAIT: Duration = Duration::from_secs(30);

/// The rest between two attempts. It adds to what callers wait, so it is short.
const EVERY: Duration = Duration::from_millis(10);

/// What came of an attempt that did not fail.
#[derive(Debug)]
pub(super) enum Tried<T> {
    /// It succeeded.
    Done(T),
    /// Another process is in the way; in words for whoever does not want to wait.
    Taken(anyhow::Error),
}

/// A place in the line of processes that serve the same data.
#[derive(Debug)]
pub(super) struct Turn {
    until: Instant,
    drain: Drain,
}

impl Turn {
    /// A turn that is waited for this long, from now, and not beyond the start of the drain.
    pub(super) fn new(wait: Duration, drain: Drain) -> Self {
        Self { until: Instant::now() + wait, drain }
    }

    /// Attempts until nobody is in the way. Nothing comes of it where the drain begins first.
    pub(super) async fn take<T>(
        &mut self,
        attempt: impl AsyncFn() -> anyhow::Result<Tried<T>>,
    ) -> anyhow::Result<Option<T>> {
        let mut told = false;
        loop {
            let reason = match attempt().await? {
                Tried::Done(done) => return Ok(Some(done)),
                Tried::Taken(reason) => reason,
            };
            if Instant::now() >= self.until {
                return Err(reason);
            }
            if !told {
                told = true;
                let reason = format!("{reason:#}");
                tracing::info!(reason, "waiting for another process to leave");
            }
            tokio::select! {
                () = sleep(EVERY) => {}
                () = self.drain.begun() => return Ok(None),
            }
        }
    }
}
