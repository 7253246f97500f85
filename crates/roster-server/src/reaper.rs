//! Closes connections that exceed a time or memory limit. Only this module decides that.
//!
//! Several times a second it compares the phase of each connection with the previous one. So a
//! limit is exceeded by at most two ticks, and a connection costs nothing in between. This module
//! does not know HTTP or sockets.

use std::{
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

/// All connections and their limits.
pub(crate) struct Reaper {
    connections: Vec<Reaped>,
    /// The order for new connections.
    order: Order,
    limits: Limits,
    counters: Arc<ServerCounters>,
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
        Self { connections: Vec::new(), order: Order::None, limits, counters }
    }

    /// Adds a connection that was accepted now.
    pub(crate) fn add(&mut self, state: Arc<ConnectionState>, now: Instant) {
        state.tell(self.order);
        let phase = state.phase();
        self.connections.push(Reaped { state, phase, since: now, written: 0, leaving: None });
    }

    /// Checks all connections, and ends those that exceed a limit.
    pub(crate) fn pass(&mut self, now: Instant) {
        self.free_memory();
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
            // A connection that was cut needs no further check. A finishing one does.
            order == Order::Finish
        });
    }

    /// Resets the largest connections of the largest callers, until the rest is within the budget.
    pub(crate) fn free_memory(&mut self) {
        let memory = &self.counters.memory;
        if !memory.is_exceeded() {
            return;
        }
        let mut by_size: Vec<_> = self
            .connections
            .iter()
            .filter(|connection| connection.state.order() != Order::Reset)
            .map(|connection| (connection.state.memory().reported(), &connection.state))
            .collect();
        by_size.sort_unstable_by_key(|(reported, _)| std::cmp::Reverse(*reported));
        let mut left = memory.held();
        for ((_, bytes), state) in by_size {
            if left <= FREED_TO_BYTES {
                break;
            }
            state.tell(Order::Reset);
            memory.resets.inc();
            left = left.saturating_sub(bytes);
        }
        tracing::warn!(resets = memory.resets.get(), "connections that hold most were reset");
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

impl Reaped {
    /// Whether the connection was just opened and has sent nothing.
    fn is_new(&self, now: Instant) -> bool {
        self.state.phase() == Phase::Head(0)
            && now.saturating_duration_since(self.since) < FIRST_BYTE_WITHIN
    }

    fn look(&mut self, now: Instant, limits: &Limits, idle: Duration) -> Verdict {
        let phase = self.state.phase();
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
