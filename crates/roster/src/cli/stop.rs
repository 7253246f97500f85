//! How the process is told to stop.
//!
//! The first SIGTERM or SIGINT begins the drain: whoever holds a [`Drain`] sees it and finishes
//! what is under way. A second signal ends the process now, with the status that shells give for
//! a death by that signal. Signals are caught before anything is opened, so that none is lost.

use std::future::Future;
use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// 128 + SIGINT, as shells report it.
const EXIT_SIGINT: u8 = 130;
/// 128 + SIGTERM, as shells report it.
const EXIT_SIGTERM: u8 = 143;

/// The signals that stop the process.
#[derive(Debug)]
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

/// Tells its holder when to stop taking new work.
#[derive(Debug, Clone)]
pub(super) struct Drain(watch::Receiver<bool>);

impl Drain {
    /// Returns once the drain has begun.
    pub(super) async fn begun(&mut self) {
        // The other end gone means that the process is at its end: that is a drain as well.
        self.0.wait_for(|begun| *begun).await.map(|_| ()).unwrap_or_default();
    }
}

impl StopSignals {
    /// Begins to catch the signals; needs a runtime.
    pub(super) fn catch() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Runs `work` to its end; the first signal begins its drain, the second drops it.
    pub(super) async fn watch<W, F>(mut self, work: W) -> anyhow::Result<ExitCode>
    where
        W: FnOnce(Drain) -> F,
        F: Future<Output = anyhow::Result<()>>,
    {
        let (begin, drain) = watch::channel(false);
        let work = work(Drain(drain));
        tokio::pin!(work);
        tokio::select! {
            outcome = &mut work => return outcome.map(|()| ExitCode::SUCCESS),
            status = self.next() => tracing::info!(
                signal = status - 128,
                "stopping: what is under way is finished; a second signal ends at once"
            ),
        }
        begin.send_replace(true);
        tokio::select! {
            outcome = &mut work => outcome.map(|()| ExitCode::SUCCESS),
            status = self.next() => {
                tracing::warn!("ended by a second signal before all was finished");
                Ok(ExitCode::from(status))
            }
        }
    }

    /// The exit status that the next signal stands for.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => EXIT_SIGINT,
            _ = self.terminate.recv() => EXIT_SIGTERM,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::process::{self, Command};

    use super::*;

    /// Sends a signal to this very process, which must be catching it.
    fn send(name: &str) {
        let kill = format!("kill -{name} {}", process::id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    // One test, because signals reach the whole process of the tests.
    #[tokio::test]
    async fn the_first_signal_drains_and_the_second_ends_now() {
        let signals = StopSignals::catch().unwrap();
        let finished = signals.watch(async |mut drain| {
            send("TERM");
            drain.begun().await;
            Ok(())
        });
        assert_eq!(finished.await.unwrap(), ExitCode::SUCCESS);

        for (name, status) in [("INT", EXIT_SIGINT), ("TERM", EXIT_SIGTERM)] {
            let signals = StopSignals::catch().unwrap();
            let endless = signals.watch(async |mut drain| {
                send("TERM");
                drain.begun().await;
                send(name);
                pending().await
            });
            assert_eq!(endless.await.unwrap(), ExitCode::from(status));
        }

        let signals = StopSignals::catch().unwrap();
        let failed = signals.watch(async |_| anyhow::bail!("the port is gone"));
        assert_eq!(failed.await.unwrap_err().to_string(), "the port is gone");
    }
}
