//! The configurable limits, each with its unit.
//!
//! The number of places of a class is fixed, in proportion to the processors; the bench measures
//! what it achieves.

use std::thread;

/// What callers may cost.
#[derive(Clone, Debug)]
pub struct AdmissionSettings {
    /// Requests a second that a caller may keep up; 0 is no limit. Default 0.
    pub rate_limit_per_s: u32,
    /// Requests that a caller may make at once after a rest. Default 1,000.
    pub rate_limit_burst: u32,
    /// Failed attempts to authenticate a minute that an address may keep up, and may make at once
    /// after a rest; 0 is no limit. Default 30.
    pub failed_auth_per_minute: u32,
    /// Most fetches of one record under way at a time. Default 1,024.
    pub reads_max: usize,
    /// Most short lists under way at a time. Default 256.
    pub lists_max: usize,
    /// Most long lists under way at a time: those whose rows the page does not bound, or of more
    /// users than are read where they are asked for. Default 2 for each processor.
    pub long_lists_max: usize,
    /// Most writes under way at a time, which share their commits. Default 1,024.
    pub writes_max: usize,
}

impl Default for AdmissionSettings {
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            rate_limit_per_s: 0,
            rate_limit_burst: 1_000,
            failed_auth_per_minute: 30,
            reads_max: 1_024,
            lists_max: 256,
            long_lists_max: 2 * processors,
            writes_max: 1_024,
        }
    }
}
