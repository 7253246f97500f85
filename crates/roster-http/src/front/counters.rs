//! What the front counts about connections, for the metrics page.
//!
//! Only totals, never an address: nothing here can identify a caller.

use std::sync::Arc;

use super::{memory::MemoryBudget, tally::Tally};

/// Totals since the start; `open` is the present number. Reading them disturbs nobody.
#[derive(Debug, Default)]
pub struct FrontCounters {
    /// Connections taken.
    pub accepted: Tally,
    /// Connections turned away because `connections_max` were open.
    pub refused: Tally,
    /// Connections turned away because `connections_per_address_max` of their address were open.
    pub refused_of_address: Tally,
    /// Connections open now.
    pub open: Tally,
    /// Accepts that failed, for want of file descriptors for example.
    pub accept_failures: Tally,
    /// Closed because a request head, or the TLS handshake before it, did not arrive in time.
    pub closed_slow_head: Tally,
    /// Requests answered 408 because their body came below the floor.
    pub closed_slow_body: Tally,
    /// Reset because the caller took its answers below the floor, or not at all.
    pub closed_slow_read: Tally,
    /// Closed after resting for the idle limit.
    pub closed_idle: Tally,
    /// TLS handshakes that failed, those of callers who spoke HTTP in the clear among them.
    pub failed_handshakes: Tally,
    /// Handlers that panicked; each caller got an answer all the same.
    pub panics: Tally,
    /// What all connections make us hold.
    pub memory: Arc<MemoryBudget>,
}
