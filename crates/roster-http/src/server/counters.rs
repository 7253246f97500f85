//! What the server counts about connections, for the metrics page.
//!
//! Only totals, never an address: nothing here can identify a caller.

use std::sync::{Arc, atomic::AtomicU64};

use prometheus_client::metrics::{counter::Counter, gauge::Gauge};

use super::memory::MemoryBudget;

/// Totals since the start; `open` is the present number. Reading them disturbs nobody.
#[derive(Debug, Default)]
pub struct ServerCounters {
    /// Connections taken.
    pub accepted: Counter,
    /// Connections turned away because `connections_max` were open.
    pub refused: Counter,
    /// Connections turned away because `connections_per_address_max` of their address were open.
    pub refused_of_address: Counter,
    /// Connections open now.
    pub open: Gauge<u64, AtomicU64>,
    /// Accepts that failed, for want of file descriptors for example.
    pub accept_failures: Counter,
    /// Closed because a request head, or the TLS handshake before it, did not arrive in time.
    pub closed_slow_head: Counter,
    /// Requests answered 408 because their body came below the floor.
    pub closed_slow_body: Counter,
    /// Reset because the caller took its answers below the floor, or not at all.
    pub closed_slow_read: Counter,
    /// Closed after resting for the idle limit.
    pub closed_idle: Counter,
    /// TLS handshakes that failed, those of callers who spoke HTTP in the clear among them.
    pub failed_handshakes: Counter,
    /// Handlers that panicked; each caller got an answer all the same.
    pub panics: Counter,
    /// What all connections make us hold.
    pub memory: Arc<MemoryBudget>,
}
