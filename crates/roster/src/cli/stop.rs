//! Signals that stop the process.
//!
//! The first SIGTERM or SIGINT begins the drain: every [`Drain`] reports it, and running work is
//! finished. A second signal ends the process immediately, with the status that shells use for that
//! signal. Handlers are installed before anything is opened, so no signal is lost.

use std::future::Future;
use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// 128 + SIGINT.
const EXIT_SIGINT: u8 = 130;
/// 128 + SIGTERM.
const EXIT_SIGTERM: u8 = 143;

/// The signals that stop the process.
#[derive(Debug)]
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

/// Reports when the drain begins.
#[derive(Debug, Clone)]
pub(super) struct Drain(watch::Receiver<bool>);

impl Drain {
    /// Returns once the drain has begun.
    pub(super) async fn begun(&mut self) {
        // A closed channel means that the process ends, which is a drain too.
        self.0.wait_for(|begun| *begun).await.map(|_| ()).unwrap_or_default();
    }
}

impl StopSignals {
    /// Installs the handlers. Needs a runtime.
    pub(super) fn catch() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Runs `work` to its end. The first signal begins its drain, the second drops it.
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
                "stopping: running requests are finished; a second signal ends it immediately"
            ),
        }
        begin.send_replace(true);
        tokio::select! {
            outcome = &mut work => outcome.map(|()| ExitCode::SUCCESS),
            status = self.next() => {
                tracing::warn!("ended by a second signal before all requests were finished");
                Ok(ExitCode::from(status))
            }
        }
    }

    /// The exit status of the next signal.
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
    async fn the_first_signal_drains_and_the_second_ends_the_process() {
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
