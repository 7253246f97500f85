//! The threads for reads that may take long: they have a lower priority than the threads that
//! handle requests, so a filter that is tested on many rows delays no other request.
//!
//! Only the steps of a read run here. Its connection is served by the threads of the process.

use std::thread;

use roster_core::StoreError;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};

use crate::failure::QueryResult;

/// The nice value of these threads.
const NICENESS: i32 = 10;

/// The threads; `None` if they could not be started. Dropping them ends the reads.
pub(crate) struct LongReads(Option<Runtime>);

impl LongReads {
    /// Starts the threads: one for every two cores.
    pub(crate) fn start() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let mut threads = Builder::new_multi_thread();
        threads.worker_threads((cores / 2).max(1)).thread_name("roster-scan");
        Self(threads.on_thread_start(lower_priority).build().ok())
    }

    /// Runs a read. It ends when the returned future is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl Future<Output = QueryResult<T>> + Send + 'static,
    ) -> QueryResult<T> {
        let closed = || StoreError::Unavailable("no thread runs long reads".into());
        let runtime = self.0.as_ref().ok_or_else(closed)?;
        // A set ends its tasks when it is dropped.
        let mut task = JoinSet::new();
        task.spawn_on(read, runtime.handle());
        let ended = task.join_next().await.ok_or_else(closed)?;
        ended.map_err(|panicked| StoreError::Internal(panicked.into()))?
    }
}

impl Drop for LongReads {
    fn drop(&mut self) {
        // Waiting for the threads is not allowed where requests are handled.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of this thread. If the system refuses, it keeps the normal priority.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // On Linux each thread has its own priority.
        let thread = rustix::thread::gettid();
        let _equal = rustix::process::setpriority_process(Some(thread), NICENESS);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use tokio::{
        sync::oneshot,
        task::yield_now,
        time::{sleep, timeout},
    };

    use super::*;

    #[tokio::test]
    async fn a_read_runs_on_a_thread_of_its_own_and_ends_with_its_caller() {
        let reads = LongReads::start();
        let name = async { Ok(thread::current().name().map(str::to_owned)) };
        assert_eq!(reads.run(name).await.unwrap().as_deref(), Some("roster-scan"));
        let rows = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&rows);
        let (gone, is_gone) = oneshot::channel::<()>();
        let endless = reads.run::<()>(async move {
            // Dropped with the read.
            let _gone = gone;
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
        });
        let begun = async {
            while rows.load(Ordering::Relaxed) == 0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            _ = endless => panic!("it has no end"),
            () = begun => {}
        }
        let ended = timeout(Duration::from_secs(30), is_gone).await.unwrap();
        assert!(ended.is_err(), "the read was dropped");
    }
}
