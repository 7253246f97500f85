//! The number of files that the process may have open.
//!
//! Each connection is an open file, and many systems limit a process to 1,024 by default. This
//! module raises the limit as far as the system allows. If that is not enough, it warns at the
//! start, before connections are rejected.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files other than connections: the data, the log, the runtime.
const OTHER_FILES: u64 = 256;

/// Raises the limit for this many connections, and warns if the system allows fewer.
pub(super) fn allow(connections: usize) {
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let granted = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let requested = Rlimit { current: Some(granted), maximum: limit.maximum };
    let allowed = match setrlimit(Resource::Nofile, requested) {
        Ok(()) => granted,
        Err(_) => limit.current.unwrap_or(granted),
    };
    if allowed < wanted {
        tracing::warn!(
            allowed,
            wanted,
            "the system allows fewer open files than connections_max needs (ulimit -n)"
        );
    }
}
