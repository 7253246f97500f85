//! Ctrl-C and SIGTERM, for commands that must not simply end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask a command to stop. While it exists they no longer end the process.
pub(crate) struct Interrupts {
    keyboard: Signal,
    end: Signal,
}

impl Interrupts {
    pub(crate) fn listen() -> io::Result<Self> {
        let keyboard = signal(SignalKind::interrupt())?;
        Ok(Self { keyboard, end: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.keyboard.recv() => {}
            _ = self.end.recv() => {}
        }
    }
}
