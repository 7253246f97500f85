//! Counters of connections, for the metrics page.
//!
//! They are totals without addresses, so they identify no caller.

use std::sync::{Arc, atomic::AtomicU64};

use prometheus_client::metrics::{counter::Counter, gauge::Gauge};

use crate::memory::MemoryBudget;

/// Totals since the start; `open` is the current number.
#[derive(Debug, Default)]
pub struct ServerCounters {
    /// Accepted connections.
    pub accepted: Counter,
    /// Connections rejected because `connections_max` were open.
    pub refused: Counter,
    /// Connections rejected because their address had `connections_per_address_max` open.
    pub refused_of_address: Counter,
    /// Connections open now.
    pub open: Gauge<u64, AtomicU64>,
    /// Failed accepts, for example for lack of file descriptors.
    pub accept_failures: Counter,
    /// Closed because a request head, or the TLS handshake before it, did not arrive in time.
    pub closed_slow_head: Counter,
    /// Requests that got 408 because their body was too slow.
    pub closed_slow_body: Counter,
    /// Connections reset because the client read its responses too slowly or not at all.
    pub closed_slow_read: Counter,
    /// Connections closed after the idle limit.
    pub closed_idle: Counter,
    /// Closed because the peer sent too much that belongs to no request.
    pub closed_flood: Counter,
    /// Failed TLS handshakes, including those of clients that sent plain HTTP.
    pub failed_handshakes: Counter,
    /// Handlers that panicked. Each caller got a response.
    pub panics: Counter,
    /// The memory that all connections use.
    pub memory: Arc<MemoryBudget>,
}
