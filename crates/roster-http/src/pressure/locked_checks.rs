//! How many signatures are verified for addresses that are locked after failed attempts.
//!
//! A valid token must get in from a locked address too, and only its signature tells it from a
//! guess. So these checks have an allowance of their own: per address, so that one cannot use up
//! that of all others, and in total, which bounds the processor time that guessers can take.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use super::{
    identity::network,
    quota::Quota,
    settings::CALLERS_MAX,
    table::{Full, Table},
};

/// Most token signatures a second that are verified for one locked address.
pub const LOCKED_TOKEN_CHECKS_PER_S: u32 = 20;

/// Most token signatures a second that are verified for all locked addresses together.
pub const LOCKED_TOKEN_CHECKS_TOTAL_PER_S: u32 = 200;

const SECOND_NS: u64 = 1_000_000_000;

/// The allowances.
#[derive(Debug)]
pub(super) struct LockedChecks {
    each: Quota,
    all: Quota,
    addresses: Table,
    total: Mutex<u64>,
    since: Instant,
}

impl LockedChecks {
    pub(super) fn new() -> Self {
        let quota = |per_s| Quota::new(per_s, SECOND_NS, per_s);
        Self {
            each: quota(LOCKED_TOKEN_CHECKS_PER_S),
            all: quota(LOCKED_TOKEN_CHECKS_TOTAL_PER_S),
            addresses: Table::new(CALLERS_MAX),
            total: Mutex::default(),
            since: Instant::now(),
        }
    }

    /// Whether one more signature may be verified for this address; it is counted if so.
    pub(super) fn may_check(&self, address: IpAddr) -> bool {
        let now = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.may_check_at(address, now)
    }

    fn may_check_at(&self, address: IpAddr, now: u64) -> bool {
        let each = |until: &mut u64| self.each.take(until, now).is_ok();
        let total = || {
            let mut until = self.total.lock().unwrap_or_else(PoisonError::into_inner);
            self.all.take(&mut until, now).is_ok()
        };
        self.addresses.change(network(address), now, Full::Share, each) && total()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn an_address_has_an_allowance_that_fills_up_again() {
        let checks = LockedChecks::new();
        let passed = |address: &str, now| {
            let address = address.parse().unwrap();
            (0..1_000).filter(|_| checks.may_check_at(address, now)).count()
        };
        assert_eq!(passed("192.0.2.1", 0), 20);
        assert_eq!(passed("192.0.2.2", 0), 20, "another address");
        assert_eq!(passed("192.0.2.1", SECOND_NS / 2), 10);
        assert_eq!(passed("2001:db8::1", 0), 20);
        assert_eq!(passed("2001:db8::2", 0), 0, "the same network");
    }

    #[test]
    fn all_addresses_together_are_bounded() {
        let checks = LockedChecks::new();
        let mut passed = 0;
        for second in 0..10 {
            for address in 0..1_000 {
                let address = Ipv4Addr::from_bits(address).into();
                passed += usize::from(checks.may_check_at(address, second * SECOND_NS));
            }
        }
        assert_eq!(passed, 10 * 200);
    }
}
