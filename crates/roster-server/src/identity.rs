//! The caller to which a request is charged.
//!
//! All clients of one address share it. An IPv6 address counts as its /64, because one host may use
//! all addresses of a /64.

use std::net::{IpAddr, Ipv6Addr};

/// The caller, for limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity<'a> {
    /// An unauthenticated caller, by its IPv4 address or its IPv6 /64.
    Address(IpAddr),
    /// An API key, by its id.
    Key(&'a str),
    /// The subject of a token.
    Subject {
        /// The issuer.
        issuer: &'a str,
        /// The subject.
        subject: &'a str,
    },
}

impl Identity<'_> {
    /// The identity of unauthenticated callers from this address.
    pub fn of_address(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

/// The IPv4 address itself, or the /64 of an IPv6 address.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_are_equal() {
        let network = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }
}
