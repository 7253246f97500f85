//! Long work on the threads that handle requests: in pieces, between which other tasks run.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{block_in_place, yield_now},
};

/// The size of a response, in bytes, that is written in one piece.
const PIECE_BYTES: usize = 64 * 1024;

/// Counts what was written, and lets other tasks run after each piece.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// The size at the end of the last piece.
    written: usize,
}

impl Turns {
    /// Lets other tasks run if a piece of this size was written.
    pub(crate) async fn take(&mut self, written: usize) {
        if written.saturating_sub(self.written) >= PIECE_BYTES {
            self.written = written;
            yield_now().await;
        }
    }
}

/// Runs work that cannot be divided. The other tasks of the thread move to other threads, if the
/// runtime has any.
pub(crate) fn in_one_piece<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if flavor.is_ok_and(|flavor| flavor == RuntimeFlavor::MultiThread) {
        block_in_place(work)
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    /// The test has one thread, so the spawned task runs only while the work yields.
    #[tokio::test]
    async fn other_tasks_run_between_the_pieces_of_a_response() {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
        });
        let mut turns = Turns::default();
        turns.take(PIECE_BYTES - 1).await;
        assert_eq!(runs.load(Ordering::Relaxed), 0, "a small response is one piece");
        for piece in 1..=10 {
            turns.take(piece * PIECE_BYTES).await;
        }
        assert!(runs.load(Ordering::Relaxed) >= 10);
    }
}
