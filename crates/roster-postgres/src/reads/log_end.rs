//! Waiting for the log to grow.
//!
//! Another process may write. While requests wait, one of them reads the end of the log at
//! intervals for all of them. Nothing is read while nobody waits, and a commit notifies nobody.

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use roster_core::{LogId, Position, StoreError};
use roster_engine::{corrupt, first};
use tokio::{
    sync::{Mutex, watch},
    time::sleep,
};

use crate::{pool::SharedPool, reads::rows::Rows, writer::sql::POSITION};

/// How often the end of the log is read.
const INTERVAL: Duration = Duration::from_millis(20);

/// How often it is read after the log has not grown for a while, which takes less than half of the
/// processor time.
const IDLE_INTERVAL: Duration = Duration::from_millis(50);

/// The time without an event after which the log is read less often.
const IDLE_AFTER: Duration = Duration::from_secs(1);

/// The pause after a read that failed.
const PAUSE: Duration = Duration::from_millis(500);

/// The end of the log as it was last read.
pub(crate) struct LogEnd {
    shared: Arc<SharedPool>,
    position: watch::Sender<Option<Position>>,
    /// Held by the request that reads: when a read last found that the log had grown.
    turn: Mutex<Instant>,
}

impl LogEnd {
    pub(crate) fn new(shared: Arc<SharedPool>) -> Self {
        Self { shared, position: watch::Sender::new(None), turn: Mutex::new(Instant::now()) }
    }

    /// Returns once the log has an event after this position.
    pub(crate) async fn grown(&self, position: i64) {
        let (mut end, log) = (self.position.subscribe(), self.log());
        // After a failover the log may be shorter than it was.
        let is_later = |last: &Option<Position>| {
            last.is_some_and(|last| Some(last.log) == log && last.number > position)
        };
        tokio::select! {
            _ = end.wait_for(is_later) => {}
            () = self.read_until_grown(position) => {}
        }
    }

    /// Reads the end of the log, one request at a time, until it is after this position.
    async fn read_until_grown(&self, position: i64) {
        let mut grew = self.turn.lock().await;
        loop {
            // Boxed, because only one of those who wait reads.
            let pause = match Box::pin(self.read()).await {
                Ok(last) => {
                    // Others are woken only by a change.
                    let end = self.log().map(|log| Position { log, number: last });
                    if self.position.send_if_modified(|known| mem::replace(known, end) != end) {
                        *grew = Instant::now();
                    }
                    if last > position {
                        return;
                    }
                    if grew.elapsed() < IDLE_AFTER { INTERVAL } else { IDLE_INTERVAL }
                }
                // The request reads the log itself when its time is over, and reports the error.
                Err(_) => PAUSE,
            };
            sleep(pause).await;
        }
    }

    fn log(&self) -> Option<LogId> {
        self.shared.connector().log().map(|known| known.log)
    }

    async fn read(&self) -> Result<i64, StoreError> {
        let read = |c: Arc<_>| async move { first(Rows::of_store(&c), POSITION, &[]).await };
        let row = self.shared.run(read).await?.ok_or_else(|| corrupt("log_head"))?;
        row.number(0, "log_head.position")
    }
}
