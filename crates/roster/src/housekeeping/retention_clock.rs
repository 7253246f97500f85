//! The time for deletion by age: the earlier of the wall clock and the stored clock mark.

use std::time::Duration;

use roster_core::{ClockReading, Directory, StoreError, Timestamp};
use roster_http::HousekeepingMetrics;

/// The clock mark as this process last read it.
#[derive(Debug, Default)]
pub(super) struct RetentionClock {
    /// The revision that was read last, and the uptime then.
    last_read: Option<(i64, Duration)>,
    /// Whether a forward jump was logged that is not over.
    is_jump_logged: bool,
}

impl RetentionClock {
    /// Advances the clock mark, and returns the time for deletion by age.
    pub(super) async fn now(
        &mut self,
        directory: &Directory,
        metrics: &HousekeepingMetrics,
    ) -> Result<Timestamp, StoreError> {
        let wall = directory.now();
        let uptime = directory.uptime();
        let since = |(_, last_read): (i64, Duration)| uptime.saturating_sub(last_read).as_millis();
        let uptime_ms = i64::try_from(self.last_read.map_or(0, since)).unwrap_or(i64::MAX);
        let seen = self.last_read.map(|(revision, _)| revision);
        let mark = directory.advance_clock_mark(ClockReading { wall, seen, uptime_ms }).await?;
        // Another process may have counted the time of this call.
        self.last_read = Some((mark.revision, directory.uptime()));
        let ahead = wall.as_millis().saturating_sub(mark.at.as_millis());
        let ahead = if mark.pending.is_some() { ahead } else { 0 };
        let ahead = Duration::from_millis(u64::try_from(ahead).unwrap_or_default());
        metrics.set_clock_ahead(ahead);
        self.log_jump(ahead);
        Ok(mark.retention_now(wall))
    }

    fn log_jump(&mut self, ahead: Duration) {
        let is_ahead = ahead > Duration::ZERO;
        if is_ahead && !self.is_jump_logged {
            let ahead_s = ahead.as_secs();
            tracing::warn!(
                ahead_s,
                "the wall clock jumped forward; deletion by age, and the suspension of users that \
                 expire, follow it after 7 days of uptime"
            );
        }
        if !is_ahead && self.is_jump_logged {
            tracing::info!("deletion by age follows the wall clock again");
        }
        self.is_jump_logged = is_ahead;
    }
}
