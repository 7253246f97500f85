//! The number of files the process may have open.
//!
//! Each connection is an open file, and many systems let a process begin with 1,024. What the
//! system allows beyond that has only to be asked for; where it is not enough, the log says so at
//! the start and not when callers are turned away.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files that are no connections: the data, the log, the runtime.
const BESIDE_CONNECTIONS: u64 = 256;

/// Asks for room for this many connections, and warns where there is less.
pub(super) fn allow(connections: usize) {
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(BESIDE_CONNECTIONS);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let granted = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let asked = Rlimit { current: Some(granted), maximum: limit.maximum };
    let allowed = match setrlimit(Resource::Nofile, asked) {
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
