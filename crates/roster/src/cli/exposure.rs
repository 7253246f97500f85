//! Who may reach a service that asks for no key.
//!
//! Roster has no keys yet, so whoever can open a connection can read and change every user. It
//! therefore listens on loopback alone and refuses every other address before anything is opened.

use std::net::SocketAddr;

use crate::config::{Config, Faults, Report};

/// Refuses settings that would let others than this machine's programs in.
pub(super) fn check(config: &Config, report: &Report) -> Result<(), Faults> {
    let mut faults = Faults::default();
    if !is_loopback(config.listen) {
        let address = config.listen;
        let port = address.port();
        faults.push(
            report.origin_of("listen"),
            format!(
                "{address} can be reached from other machines, and Roster asks its callers for no \
                 key yet. Two remedies: listen on loopback (--listen 127.0.0.1:{port}), or, where \
                 others must reach it, listen on loopback and put a proxy on this machine in \
                 front that lets only your callers in and sends no Forwarded headers on."
            ),
        );
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Whether only programs on this machine can connect; an IPv4 address may hide in an IPv6 one.
fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_pass() {
        for open in ["127.0.0.1:1", "127.8.9.1:0", "[::1]:80", "[::ffff:127.0.0.1]:8080"] {
            assert!(is_loopback(open.parse().unwrap()), "{open}");
        }
        for closed in ["0.0.0.0:80", "[::]:80", "192.168.1.2:1", "[::ffff:10.0.0.1]:1"] {
            assert!(!is_loopback(closed.parse().unwrap()), "{closed}");
        }
    }
}
