//! Closes connections that exceed a time or memory limit. Only this module decides that.
//!
//! Several times a second it compares the phase of each connection with the previous one. So a
//! limit is exceeded by at most two ticks, and a connection costs nothing in between. This module
//! does not know HTTP or sockets.

use std::{
    cmp::Reverse,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    connection_state::{ConnectionState, Order, Phase},
    counters::ServerCounters,
    memory::TOTAL_BYTES_MAX,
    settings::{Floor, ServerSettings, milliseconds},
};

/// The time that a new connection gets for its first byte when all are ordered to finish.
const FIRST_BYTE_WITHIN: Duration = Duration::from_millis(500);

/// Connections are reset until at most this much memory is in use.
const FREED_TO_BYTES: usize = TOTAL_BYTES_MAX / 8 * 7;

/// The minimum time between two attempts to free memory, in which connections that were reset end.
const FREE_PAUSE: Duration = Duration::from_millis(10);

/// The minimum time between two log lines about resets.
const RESET_LOG_EVERY: Duration = Duration::from_secs(1);

/// All connections and their limits.
pub(crate) struct Reaper {
    connections: Vec<Reaped>,
    /// The order for new connections.
    order: Order,
    limits: Limits,
    counters: Arc<ServerCounters>,
    /// When connections were last looked at to free memory.
    freed: Option<Instant>,
    resets: ResetLog,
}

/// The resets since the last log line about them.
#[derive(Default)]
struct ResetLog {
    count: u64,
    written: Option<Instant>,
}

struct Limits {
    header: Duration,
    idle: Duration,
    close: Duration,
    write: Floor,
    /// Above this number of connections, an idle one gets no more time than a request head.
    crowd: usize,
}

/// A connection as it was at the last check.
struct Reaped {
    state: Arc<ConnectionState>,
    phase: Phase,
    since: Instant,
    /// The number of bytes that had been written when the phase, or the window of the minimum
    /// speed, began.
    written: u64,
    /// When it was ordered to finish while nothing was open.
    leaving: Option<Instant>,
}

enum Verdict {
    Keep,
    Forget,
    SlowHead,
    SlowRead,
    Idle,
    Overdue,
}

impl Reaper {
    pub(crate) fn new(settings: &ServerSettings, counters: Arc<ServerCounters>) -> Self {
        let limits = Limits {
            header: milliseconds(settings.header_timeout_ms),
            idle: milliseconds(settings.idle_timeout_ms),
            close: milliseconds(settings.close_timeout_ms),
            write: settings.write_floor(),
            crowd: settings.connections_max - settings.connections_max / 4,
        };
        let (connections, resets) = (Vec::new(), ResetLog::default());
        Self { connections, order: Order::None, limits, counters, freed: None, resets }
    }

    /// Adds a connection that was accepted now.
    pub(crate) fn add(&mut self, state: Arc<ConnectionState>, now: Instant) {
        state.tell(self.order);
        let phase = state.phase();
        self.connections.push(Reaped { state, phase, since: now, written: 0, leaving: None });
    }

    /// Checks all connections, and ends those that exceed a limit.
    pub(crate) fn pass(&mut self, now: Instant) {
        self.free_memory(now);
        self.resets.write(now);
        let crowded = self.connections.len() > self.limits.crowd;
        let idle =
            if crowded { self.limits.idle.min(self.limits.header) } else { self.limits.idle };
        let Self { connections, limits, counters, .. } = self;
        connections.retain_mut(|connection| {
            let order = match connection.look(now, limits, idle) {
                Verdict::Keep => return true,
                Verdict::Forget => return false,
                Verdict::SlowHead => {
                    counters.closed_slow_head.inc();
                    Order::Cut
                }
                Verdict::SlowRead => {
                    counters.closed_slow_read.inc();
                    Order::Reset
                }
                Verdict::Idle => {
                    counters.closed_idle.inc();
                    connection.leaving = Some(now);
                    Order::Finish
                }
                Verdict::Overdue => Order::Cut,
            };
            connection.state.tell(order);
            true
        });
    }

    /// Resets the largest connections of the largest callers, until the rest is within the budget.
    /// A connection that holds less than it must report is never reset.
    pub(crate) fn free_memory(&mut self, now: Instant) {
        let memory = &self.counters.memory;
        if !memory.is_exceeded() || self.freed.is_some_and(|freed| now < freed + FREE_PAUSE) {
            return;
        }
        self.freed = Some(now);
        let mut left = memory.held();
        let mut by_size = Vec::new();
        for Reaped { state, .. } in &self.connections {
            let bytes = state.memory().reported();
            if state.order() >= Order::Cut {
                // Its memory is free once its task has ended.
                left = left.saturating_sub(bytes);
            } else if bytes > 0 {
                by_size.push((state.memory().reported_by_caller(), bytes, state));
            }
        }
        by_size.sort_unstable_by_key(|(of_caller, bytes, _)| Reverse((*of_caller, *bytes)));
        for (_, bytes, state) in by_size {
            if left <= FREED_TO_BYTES {
                break;
            }
            state.tell(Order::Reset);
            memory.resets.inc();
            self.resets.count += 1;
            left = left.saturating_sub(bytes);
        }
        self.resets.write(now);
    }

    /// Orders that the next response of every connection, including new ones, is its last.
    pub(crate) fn announce(&mut self) {
        self.order = Order::Last;
        for connection in &self.connections {
            connection.state.tell(Order::Last);
        }
    }

    /// Orders connections to finish open requests and to accept nothing new. Connections that were
    /// just opened are skipped until a later call.
    pub(crate) fn finish(&mut self, now: Instant) {
        for connection in &mut self.connections {
            if connection.leaving.is_none() && !connection.is_new(now) {
                connection.leaving = Some(now);
                connection.state.tell(Order::Finish);
            }
        }
    }

    /// Ends the remaining connections, and returns their number.
    pub(crate) fn cut_all(&mut self) -> u64 {
        let mut cut = 0;
        for connection in self.connections.drain(..) {
            if connection.state.phase() != Phase::Gone {
                connection.state.tell(Order::Cut);
                cut += 1;
            }
        }
        cut
    }
}

impl ResetLog {
    /// Writes a line about the resets since the last line, at most one a second.
    fn write(&mut self, now: Instant) {
        let is_due = self.written.is_none_or(|written| now >= written + RESET_LOG_EVERY);
        if self.count > 0 && is_due {
            tracing::warn!(resets = self.count, "connections that used most memory were reset");
            *self = Self { count: 0, written: Some(now) };
        }
    }
}

impl Reaped {
    /// Whether the connection was just opened and has sent nothing.
    fn is_new(&self, now: Instant) -> bool {
        self.state.phase() == Phase::Head(0)
            && now.saturating_duration_since(self.since) < FIRST_BYTE_WITHIN
    }

    fn look(&mut self, now: Instant, limits: &Limits, idle: Duration) -> Verdict {
        let phase = self.state.phase();
        if phase != Phase::Gone && self.state.order() >= Order::Cut {
            return Verdict::Keep;
        }
        if phase != self.phase {
            self.phase = phase;
            self.since = now;
            self.written = self.state.written.load(Ordering::Relaxed);
        }
        if !matches!(phase, Phase::Gone | Phase::Closing)
            && self.state.has_slow_response(now, limits.write)
        {
            return Verdict::SlowRead;
        }
        let age = now.saturating_duration_since(self.since);
        let overdue =
            self.leaving.is_some_and(|told| now.saturating_duration_since(told) >= limits.close);
        match phase {
            Phase::Gone => Verdict::Forget,
            Phase::Closing if age >= limits.close => Verdict::Overdue,
            Phase::Stalled if age >= limits.write.window() => self.pace(now, limits.write),
            Phase::Head(_) if age >= limits.header => Verdict::SlowHead,
            Phase::Idle(_) if overdue => Verdict::Overdue,
            Phase::Idle(_) if self.leaving.is_none() && age >= idle => Verdict::Idle,
            Phase::Closing | Phase::Stalled | Phase::Busy | Phase::Head(_) | Phase::Idle(_) => {
                Verdict::Keep
            }
        }
    }

    /// Whether enough was written in the window that has ended.
    fn pace(&mut self, now: Instant, floor: Floor) -> Verdict {
        let written = self.state.written.load(Ordering::Relaxed);
        if written.saturating_sub(self.written) < floor.bytes_per_window() {
            return Verdict::SlowRead;
        }
        self.since = now;
        self.written = written;
        Verdict::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{ConnectionMemory, HeldBytes};

    /// A reaper with connections of different callers, which hold so many bytes.
    fn reaper<const N: usize>(
        held: [usize; N],
    ) -> (Reaper, [(Arc<ConnectionState>, HeldBytes); N]) {
        let counters = Arc::<ServerCounters>::default();
        let mut reaper = Reaper::new(&ServerSettings::default(), Arc::clone(&counters));
        let mut caller = 0;
        let connections = held.map(|bytes| {
            caller += 1;
            let memory = ConnectionMemory::new(&counters.memory, caller);
            let held = memory.hold(bytes);
            let state = Arc::new(ConnectionState::new(memory));
            reaper.add(Arc::clone(&state), Instant::now());
            (state, held)
        });
        (reaper, connections)
    }

    fn was_reset((state, _): &(Arc<ConnectionState>, HeldBytes)) -> bool {
        state.order() == Order::Reset
    }

    #[tokio::test]
    async fn connections_that_were_ordered_to_reset_count_as_freed() {
        let (mut reaper, connections) =
            reaper([TOTAL_BYTES_MAX / 2, TOTAL_BYTES_MAX / 2 + 40_000, 1 << 20]);
        let mut now = Instant::now();
        for _ in 0..10 {
            reaper.free_memory(now);
            now += FREE_PAUSE;
        }
        assert_eq!(connections.each_ref().map(was_reset), [false, true, false]);
        assert_eq!(reaper.counters.memory.resets.get(), 1);
    }

    #[tokio::test]
    async fn a_connection_that_holds_little_is_never_reset() {
        let (mut reaper, connections) = reaper([TOTAL_BYTES_MAX * 2, 16 * 1024 - 1, 0]);
        let mut now = Instant::now();
        for _ in 0..10 {
            reaper.free_memory(now);
            now += FREE_PAUSE;
        }
        assert_eq!(connections.each_ref().map(was_reset), [true, false, false]);
    }

    #[test]
    fn resets_are_logged_once_a_second_at_most() {
        let (mut log, now) = (ResetLog { count: 3, written: None }, Instant::now());
        log.write(now);
        assert_eq!(log.count, 0);
        log.count = 2;
        log.write(now + RESET_LOG_EVERY / 2);
        assert_eq!(log.count, 2);
        log.write(now + RESET_LOG_EVERY);
        assert_eq!(log.count, 0);
    }
}
