//! The check of the whole file after an unclean stop. It runs in the background, and the health of
//! the store includes its result.

use std::{sync::Arc, thread};

use rusqlite::InterruptHandle;

use crate::{connection, settings::Settings, writer::Shared};

/// A running or finished check.
pub(crate) struct QuickCheck {
    thread: thread::JoinHandle<()>,
    interrupt: InterruptHandle,
}

impl QuickCheck {
    /// Begins a check. Returns `None` if there is no connection or thread for it.
    pub(crate) fn begin(settings: &Settings, shared: Arc<Shared>) -> Option<Self> {
        let connection = connection::open_reader(settings).ok()?;
        let interrupt = connection.get_interrupt_handle();
        let run = move || {
            let found =
                connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
            match found {
                Ok(found) if found != "ok" => shared.health.damaged(&found),
                Ok(_) => {}
                // It was interrupted, or cannot be read.
                Err(error) => shared.health.note(&error),
            }
        };
        let thread = thread::Builder::new().name("roster-check".to_owned()).spawn(run).ok()?;
        Some(Self { thread, interrupt })
    }

    /// Ends the check, finished or not.
    pub(crate) fn end(self) {
        while !self.thread.is_finished() {
            // An interrupt between two statements has no effect, so it is repeated until the check
            // ends.
            self.interrupt.interrupt();
            thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(self.thread.join());
    }
}
