//! The limits of callers and of each class of work, each with its unit.
//!
//! The limits of concurrent work are constants, except that of long lists, which depends on the
//! number of processors. The bench measures the throughput that they allow.

use std::thread;

use roster_core::limits::LOG_BYTES_PER_HOUR;

/// The limits of callers and of each class of work.
#[derive(Clone, Debug)]
pub struct AdmissionSettings {
    /// The average number of requests per second that one caller may make. 0 means no limit.
    /// Default 0.
    pub rate_limit_per_s: u32,
    /// The number of requests that one caller may make at once after a pause. Default 1,000.
    pub rate_limit_burst: u32,
    /// The average number of failed attempts to authenticate per minute that one address may make.
    /// After a pause it may make as many at once. 0 means no limit. Default 30.
    pub failed_auth_per_minute: u32,
    /// The bytes that one caller may add to the change log in an hour, beyond a multiple of what it
    /// sends. 0 means no limit. Default 128 MiB.
    pub log_bytes_per_hour: u64,
    /// The maximum number of concurrent reads of one record. Default 1,024.
    pub reads_max: usize,
    /// The maximum number of concurrent short lists. Default 256.
    pub lists_max: usize,
    /// How many pages of short lists that may have more than 50 records are read at the same time.
    /// Default 8 per processor.
    pub pages_max: usize,
    /// The maximum number of concurrent long lists. A list is long if its page may have more than
    /// 500 records, or if it needs a scan, which may read more rows than the page has. Default 2
    /// per processor.
    pub long_lists_max: usize,
    /// The maximum number of concurrent writes. Concurrent writes share commits. Default 1,024.
    pub writes_max: usize,
}

impl Default for AdmissionSettings {
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            rate_limit_per_s: 0,
            rate_limit_burst: 1_000,
            failed_auth_per_minute: 30,
            log_bytes_per_hour: LOG_BYTES_PER_HOUR,
            reads_max: 1_024,
            lists_max: 256,
            pages_max: 8 * processors,
            long_lists_max: 2 * processors,
            writes_max: 1_024,
        }
    }
}
