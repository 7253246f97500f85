//! Waits for another process to release the data directory or the port.
//!
//! Two processes never serve one data directory. A successor may start before its predecessor has
//! ended: it tries repeatedly for a limited time, and ends without an error if it is stopped
//! meanwhile. This module does not know what it waits for.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::stop::Drain;

/// Minimum wait if a supervisor keeps the socket: connections then wait in the socket's queue, and
/// a takeover is intended. Longer than the default of `drain_timeout_ms`.
pub(super) const HANDOVER_WAIT: Duration = Duration::from_secs(30);

/// Time between two attempts. It adds to the wait of callers, so it is short.
const INTERVAL: Duration = Duration::from_millis(10);

/// The result of an attempt that did not fail.
#[derive(Debug)]
pub(super) enum Attempt<T> {
    /// It succeeded.
    Done(T),
    /// Another process still has it; the error for a start that does not wait.
    Blocked(anyhow::Error),
}

/// A takeover from another process.
#[derive(Debug)]
pub(super) struct Takeover {
    until: Instant,
    drain: Drain,
}

impl Takeover {
    /// A takeover that ends after `wait`, or when the drain begins.
    pub(super) fn new(wait: Duration, drain: Drain) -> Self {
        Self { until: Instant::now() + wait, drain }
    }

    /// Attempts until it succeeds. Returns `None` if the drain begins first.
    pub(super) async fn wait_for<T>(
        &mut self,
        attempt: impl AsyncFn() -> anyhow::Result<Attempt<T>>,
    ) -> anyhow::Result<Option<T>> {
        let mut logged = false;
        loop {
            let reason = match attempt().await? {
                Attempt::Done(done) => return Ok(Some(done)),
                Attempt::Blocked(reason) => reason,
            };
            if Instant::now() >= self.until {
                return Err(reason);
            }
            if !logged {
                logged = true;
                let reason = format!("{reason:#}");
                tracing::info!(reason, "waiting for another process to end");
            }
            tokio::select! {
                () = sleep(INTERVAL) => {}
                () = self.drain.begun() => return Ok(None),
            }
        }
    }
}
