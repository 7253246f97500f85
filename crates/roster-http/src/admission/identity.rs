//! Who a request is charged to.
//!
//! An address stands for all who share it: one of IPv6 for its whole /64, which a single host may
//! use up at will.

use std::net::{IpAddr, Ipv6Addr};

/// Who is calling, as far as limits are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity<'a> {
    /// An unauthenticated caller, by its address; of IPv6 by its /64.
    Address(IpAddr),
    /// The holder of a key, by its id.
    Key(&'a str),
    /// A subject that an issuer vouches for.
    Subject {
        /// The issuer.
        issuer: &'a str,
        /// The subject.
        subject: &'a str,
    },
}

impl Identity<'_> {
    /// Whoever calls from this address.
    pub(crate) fn of_address(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

/// The address of IPv4, the /64 of one of IPv6.
pub(crate) fn network(address: IpAddr) -> IpAddr {
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
    fn addresses_of_one_host_are_one() {
        let network = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }
}
