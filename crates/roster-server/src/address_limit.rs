//! How many connections each address may have open.

use std::net::IpAddr;

use crate::{
    concurrency::{ConcurrencyLimit, ConcurrencyPermit},
    identity::network,
    proxies::TrustedProxies,
    settings::ServerSettings,
};

/// The limit of each address.
#[derive(Debug)]
pub(crate) struct AddressLimit {
    /// `None` means no limit.
    limit: Option<ConcurrencyLimit<IpAddr>>,
    caps_loopback: bool,
    /// Networks that are not counted.
    trusted_proxies: TrustedProxies,
}

/// The permit of a connection; `None` if its address is not counted.
pub(crate) type AddressPermit = Option<ConcurrencyPermit<IpAddr>>;

impl AddressLimit {
    pub(crate) fn new(settings: &ServerSettings) -> Self {
        let most = settings.connections_per_address_max;
        Self {
            limit: (most > 0).then(|| ConcurrencyLimit::new(most)),
            caps_loopback: settings.caps_loopback,
            trusted_proxies: settings.trusted_proxies.clone(),
        }
    }

    /// Counts a connection from this address. Returns `None` if the address has reached its limit.
    pub(crate) fn take(&self, address: IpAddr) -> Option<AddressPermit> {
        let is_proxy = self.trusted_proxies.contains(address);
        let is_exempt = is_proxy || (address.to_canonical().is_loopback() && !self.caps_loopback);
        let address = network(address);
        match self.limit.as_ref().filter(|_| !is_exempt) {
            Some(limit) => limit.take(address).map(Some),
            None => Some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(most: usize) -> AddressLimit {
        let settings =
            ServerSettings { connections_per_address_max: most, ..ServerSettings::default() };
        AddressLimit::new(&settings)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn loopback_is_not_counted() {
        for own in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let limit = addresses(1);
            for _ in 0..3 {
                assert!(limit.take(ip(own)).unwrap().is_none(), "{own}");
            }
        }
    }

    #[test]
    fn an_address_has_so_many_seats_and_gets_them_back() {
        let addresses = addresses(2);
        let first = addresses.take(ip("192.0.2.1")).unwrap();
        let _second = addresses.take(ip("192.0.2.1")).unwrap();
        assert!(addresses.take(ip("192.0.2.1")).is_none());
        assert!(addresses.take(ip("192.0.2.2")).is_some());
        drop(first);
        assert!(addresses.take(ip("192.0.2.1")).is_some());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let addresses = addresses(1);
        let _held = addresses.take(ip("2001:db8::1")).unwrap();
        assert!(addresses.take(ip("2001:db8::2")).is_none());
        assert!(addresses.take(ip("2001:db8:0:1::2")).is_some());
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let addresses = addresses(1);
        for n in 0..1_000_u32 {
            drop(addresses.take(std::net::Ipv4Addr::from_bits(n).into()));
        }
        assert_eq!(addresses.limit.map(|limit| limit.keys()), Some(0));
    }

    #[test]
    fn a_proxy_on_this_machine_is_not_counted() {
        let addresses = addresses(1);
        let held: Vec<_> = (0..10).map(|_| addresses.take(ip("127.0.0.1"))).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(
            addresses.take(ip("::1")).is_some() && addresses.take(ip("::ffff:127.0.0.1")).is_some()
        );
    }

    #[test]
    fn a_trusted_proxy_is_not_counted() {
        let proxy = "192.0.2.0/31".parse().unwrap();
        let settings = ServerSettings {
            connections_per_address_max: 1,
            trusted_proxies: TrustedProxies::new(vec![proxy]),
            ..ServerSettings::default()
        };
        let addresses = AddressLimit::new(&settings);
        let held: Vec<_> = (0..10).map(|_| addresses.take(ip("192.0.2.1"))).collect();
        assert!(held.iter().all(Option::is_some));
        let _other = addresses.take(ip("192.0.2.2")).unwrap();
        assert!(addresses.take(ip("192.0.2.2")).is_none());
    }

    #[test]
    fn no_limit_is_no_limit() {
        let addresses = addresses(0);
        let held: Vec<_> = (0..10_000).map(|_| addresses.take(ip("192.0.2.1"))).collect();
        assert!(held.iter().all(Option::is_some));
    }
}
