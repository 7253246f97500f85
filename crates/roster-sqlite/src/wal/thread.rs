//! The thread that copies the write-ahead log, and sweeps the file after a purge.

use std::time::Duration;

use super::checkpointer::{CHECK_INTERVAL, Checkpointer};
use crate::purge::sweep::{Pace, sweep};

/// The log is emptied after this time without a commit.
const IDLE_AFTER: Duration = Duration::from_secs(5);

/// Copies and sweeps until the store closes.
pub(crate) fn run(checkpointer: &Checkpointer) {
    let checkpoints = &checkpointer.shared.checkpoints;
    let (mut seen, mut emptied, mut given_up) = (0, true, None);
    let mut pace = Pace::default();
    loop {
        let due = |given_up| checkpoints.last_purged().filter(|due| Some(*due) != given_up);
        if let Some(position) = due(given_up).filter(|_| pace.wait().is_zero()) {
            if let Some(duration) = sweep(checkpointer, position) {
                pace.passed(duration);
            } else {
                // The next start or purge tries again.
                given_up = Some(position);
            }
        }
        let mut patience = if emptied { Duration::MAX } else { IDLE_AFTER };
        if due(given_up).is_some() {
            patience = patience.min(pace.wait());
        }
        if !checkpoints.watch(patience, seen) {
            return;
        }
        let commits = checkpoints.commits();
        if commits == seen {
            emptied = checkpointer.empty();
            continue;
        }
        (seen, emptied) = (commits, false);
        checkpointer.copy();
        if !checkpoints.rest(CHECK_INTERVAL) {
            return;
        }
    }
}
