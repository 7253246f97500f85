//! Which addresses are in the public Internet. A URL of a caller must not reach others: services of
//! the operator's own network often trust every caller in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The networks of IPv4 that are not globally reachable, or that no host may have (IANA's registry
/// of special-purpose addresses, RFC 6890; RFC 5771; RFC 1112 section 4).
const SPECIAL_V4: [Ipv4Net; 19] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 31, 196, 0], 24),
    v4([192, 52, 193, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([192, 175, 48, 0], 24),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
    v4([255, 255, 255, 255], 32),
];

/// The networks of IPv6 that are assigned to hosts of the Internet.
const GLOBAL_V6: Ipv6Net = v6(0x2000_0000_0000, 3);

/// The networks among them that are not: protocols and tunnels (with Teredo), documentation, 6to4,
/// and the discard-only and delegation networks of AS112.
const SPECIAL_V6: [Ipv6Net; 5] = [
    v6(0x2001_0000_0000, 23),
    v6(0x2001_0db8_0000, 32),
    v6(0x2002_0000_0000, 16),
    v6(0x2620_004f_8000, 48),
    v6(0x3fff_0000_0000, 20),
];

/// The network in which IPv6 hosts reach IPv4 addresses (RFC 6052).
const NAT64: Ipv6Net = v6(0x0064_ff9b_0000, 96);

const fn v4(address: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = address;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

/// The network whose address begins with these 48 bits.
const fn v6(start: u128, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::from_bits(start << 80), prefix)
}

/// Whether an address is of the public Internet. An IPv4 address that an IPv6 one contains decides
/// for it.
pub fn is_global(address: IpAddr) -> bool {
    match unmapped(address) {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            let is_special = SPECIAL_V6.iter().any(|network| network.contains(&address));
            GLOBAL_V6.contains(&address) && !is_special
        }
    }
}

/// Whether a webhook may connect to an address: one of the public Internet, or of these networks.
pub fn is_admitted(networks: &[IpNet], address: IpAddr) -> bool {
    is_global(address) || (is_listed(networks, address) && !is_never_admitted(address))
}

/// Whether one of the networks has this address, or the one that is connected to in the end.
pub fn is_listed(networks: &[IpNet], address: IpAddr) -> bool {
    let inner = unmapped(address);
    networks.iter().any(|network| network.contains(&inner))
}

/// Whether an address is of a single link, where the metadata services of clouds are. No setting
/// admits these.
fn is_never_admitted(address: IpAddr) -> bool {
    match unmapped(address) {
        IpAddr::V4(address) => address.is_link_local() || address.is_unspecified(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.is_unspecified(),
    }
}

/// The address that is connected to in the end.
fn unmapped(address: IpAddr) -> IpAddr {
    let address = address.to_canonical();
    if let IpAddr::V6(outer) = address
        && NAT64.contains(&outer)
    {
        let [.., a, b, c, d] = outer.octets();
        return IpAddr::V4(Ipv4Addr::new(a, b, c, d));
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of these addresses that are global, or that are not.
    fn select<'a>(addresses: &[&'a str], are_global: bool) -> Vec<&'a str> {
        let is_of = |text: &&str| is_global(text.parse().unwrap()) == are_global;
        addresses.iter().copied().filter(is_of).collect()
    }

    #[test]
    fn addresses_outside_the_public_internet_are_refused() {
        let inner = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "192.31.196.1",
            "192.52.193.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "192.175.48.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2002:808:808::1",
            "2620:4f:8000::1",
            "3fff::1",
            "5f00::1",
            "4000::1",
            "fc00::1",
            "fd00:ec2::254",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
        ];
        assert!(inner.len() >= 60);
        assert_eq!(select(&inner, true), [""; 0]);
    }

    #[test]
    fn addresses_of_the_public_internet_are_admitted() {
        let outer = [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2a00:1450::1",
        ];
        assert_eq!(select(&outer, false), [""; 0]);
    }

    #[test]
    fn link_local_addresses_are_never_admitted() {
        for text in ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1"] {
            assert!(is_never_admitted(text.parse().unwrap()), "{text}");
        }
        for text in ["10.0.0.1", "127.0.0.1", "fd00::1", "8.8.8.8"] {
            assert!(!is_never_admitted(text.parse().unwrap()), "{text}");
        }
    }
}
