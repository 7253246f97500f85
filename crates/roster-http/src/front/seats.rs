//! How many connections each address has open.
//!
//! As many addresses are kept as have connections, which are bounded themselves. It must not know
//! HTTP.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::settings::FrontSettings;
use crate::{pressure::network, proxies::TrustedProxies};

/// The connections of all addresses.
#[derive(Debug)]
pub(super) struct Seats {
    taken: Mutex<HashMap<IpAddr, usize>>,
    /// Most of one address; none is no limit.
    most: Option<usize>,
    caps_loopback: bool,
    /// Not counted either.
    trusted_proxies: TrustedProxies,
}

/// The seat of one connection, free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    /// What it is a seat of; none where nothing is counted.
    of: Option<(Arc<Seats>, IpAddr)>,
}

impl Seats {
    pub(super) fn new(settings: &FrontSettings) -> Arc<Self> {
        let most = settings.connections_per_address_max;
        Arc::new(Self {
            taken: Mutex::default(),
            most: (most > 0).then_some(most),
            caps_loopback: settings.caps_loopback,
            trusted_proxies: settings.trusted_proxies.clone(),
        })
    }

    /// A seat for one more connection from this address; nothing when it has all of its own.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let is_proxy = self.trusted_proxies.contains(address);
        let address = network(address);
        let exempt = is_proxy || (address.is_loopback() && !self.caps_loopback);
        let Some(most) = self.most.filter(|_| !exempt) else { return Some(Seat { of: None }) };
        let mut taken = self.taken();
        let count = taken.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Seat { of: Some((Arc::clone(self), address)) })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some((seats, address)) = &self.of else { return };
        let mut taken = seats.taken();
        let left = taken.get_mut(address).map(|count| {
            *count = count.saturating_sub(1);
            *count
        });
        if left == Some(0) {
            taken.remove(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(most: usize) -> Arc<Seats> {
        let settings =
            FrontSettings { connections_per_address_max: most, ..FrontSettings::default() };
        Seats::new(&settings)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_so_many_seats_and_gets_them_back() {
        let seats = seats(2);
        let first = seats.take(ip("192.0.2.1")).unwrap();
        let _second = seats.take(ip("192.0.2.1")).unwrap();
        assert!(seats.take(ip("192.0.2.1")).is_none());
        assert!(seats.take(ip("192.0.2.2")).is_some());
        drop(first);
        assert!(seats.take(ip("192.0.2.1")).is_some());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let seats = seats(1);
        let _held = seats.take(ip("2001:db8::1")).unwrap();
        assert!(seats.take(ip("2001:db8::2")).is_none());
        assert!(seats.take(ip("2001:db8:0:1::2")).is_some());
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let seats = seats(1);
        for n in 0..1_000_u32 {
            drop(seats.take(std::net::Ipv4Addr::from_bits(n).into()));
        }
        assert!(seats.taken().is_empty());
    }

    #[test]
    fn a_proxy_on_this_machine_is_not_counted() {
        let seats = seats(1);
        let held: Vec<_> = (0..10).map(|_| seats.take(ip("127.0.0.1"))).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(seats.take(ip("::1")).is_some() && seats.take(ip("::ffff:127.0.0.1")).is_some());
    }

    #[test]
    fn a_trusted_proxy_is_not_counted() {
        let proxy = "192.0.2.0/31".parse().unwrap();
        let settings = FrontSettings {
            connections_per_address_max: 1,
            trusted_proxies: TrustedProxies::new(vec![proxy]),
            ..FrontSettings::default()
        };
        let seats = Seats::new(&settings);
        let held: Vec<_> = (0..10).map(|_| seats.take(ip("192.0.2.1"))).collect();
        assert!(held.iter().all(Option::is_some));
        let _other = seats.take(ip("192.0.2.2")).unwrap();
        assert!(seats.take(ip("192.0.2.2")).is_none());
    }

    #[test]
    fn no_limit_is_no_limit() {
        let seats = seats(0);
        let held: Vec<_> = (0..10_000).map(|_| seats.take(ip("192.0.2.1"))).collect();
        assert!(held.iter().all(Option::is_some));
    }
}
