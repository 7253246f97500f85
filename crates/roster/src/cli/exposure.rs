//! Who may reach a service that asks for no key.
//!
//! Whoever can open a connection to it can read and change every user. Until the first key is made,
//! or an issuer of tokens is set, it is therefore served on loopback alone, and refuses to be
//! served on any other address.

use std::net::SocketAddr;

use crate::config::{Config, Faults, Report};

/// Refuses to let others than this machine's programs in where no key was ever made.
pub(super) fn check(config: &Config, report: &Report, is_open: bool) -> Result<(), Faults> {
    let mut faults = Faults::default();
    if is_open && !is_loopback(config.listen) {
        let address = config.listen;
        let port = address.port();
        faults.push(
            report.origin_of("listen"),
            format!(
                "{address} can be reached from other machines, and no key was ever made: anybody \
                 could read and change every user. Three remedies: make a key first (roster keys \
                 create admin --scope all, or the setting first_key_file), name an issuer of \
                 tokens (jwt_issuer), or listen on loopback \
                 (--listen 127.0.0.1:{port})."
            ),
        );
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Says what is not in force before there is a key.
pub(super) fn warn(config: &Config, is_open: bool) {
    if is_open && !config.cors_origins.is_empty() {
        tracing::warn!("cors_origins is in force from the first key on: no key was ever made");
    }
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
