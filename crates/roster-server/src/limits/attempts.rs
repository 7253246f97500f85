//! Failed attempts to authenticate, by address.
//!
//! Each failure uses up some of its address's allowance. While the allowance is empty the address
//! is locked, so that a client there can neither guess credentials nor use up the processor. Other
//! clients may share the address: for an hour, a credential that was accepted from an address is
//! checked there without a limit. A guesser could use that only with a valid credential.
//!
//! A valid token must work from a locked address too, and only its signature distinguishes it from
//! a guess. So these checks have separate allowances: one per address, so that one address cannot
//! use up the allowance of all others, and one in total, which bounds the processor time that
//! guessers can use.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::{
    CALLERS_MAX, QUEUE_WAIT_MAX,
    moments::{Full, Moments},
    quota::{Quota, now_ns},
};
use crate::identity::network;

/// The maximum number of token signatures that are verified per second for one locked address.
pub const LOCKED_TOKEN_CHECKS_PER_S: u32 = 20;

/// The maximum number of token signatures that are verified per second for all locked addresses.
pub const LOCKED_TOKEN_CHECKS_TOTAL_PER_S: u32 = 200;

const MINUTE_NS: u64 = 60_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// How long an accepted credential is exempt from the lock.
const TRUSTED_NS: u64 = 60 * MINUTE_NS;
/// The minimum time between two extensions of that time.
const RENEWED_NS: u64 = 5 * MINUTE_NS;
/// The maximum number of accepted credentials that are stored with their address.
const TRUSTED_MAX: usize = 20_000;

/// The failed and accepted attempts.
#[derive(Debug)]
pub struct Attempts {
    quota: Option<Quota>,
    failures: Moments,
    /// The time of the last failure from any address. A minute later all allowances are full.
    failed_ns: AtomicU64,
    trusted: Moments,
    locked_checks: LockedChecks,
    /// Lets one signature at a time be verified for a locked address.
    checking: Semaphore,
}

/// The allowances for verifying signatures from locked addresses.
#[derive(Debug)]
struct LockedChecks {
    each: Quota,
    all: Quota,
    addresses: Moments,
    total: Moments,
}

impl Attempts {
    /// Allows this many failures per minute for each address, and as many at once. 0 is no limit.
    pub fn new(per_minute: u32) -> Self {
        Self {
            quota: (per_minute > 0).then(|| Quota::new(per_minute, MINUTE_NS, per_minute)),
            failures: Moments::new(CALLERS_MAX),
            failed_ns: AtomicU64::new(0),
            trusted: Moments::new(TRUSTED_MAX),
            locked_checks: LockedChecks::new(),
            checking: Semaphore::new(1),
        }
    }

    /// Whether an attempt with a credential is allowed; if not, returns the seconds to wait.
    pub fn may_try(&self, address: IpAddr, credential: &str) -> Result<(), u32> {
        self.may_try_at(address, credential, now_ns())
    }

    fn may_try_at(&self, address: IpAddr, credential: &str, now: u64) -> Result<(), u32> {
        let Some(quota) = self.quota else { return Ok(()) };
        let last = self.failed_ns.load(Ordering::Relaxed);
        // A minute refills an allowance completely.
        if last == 0 || now > last.saturating_add(MINUTE_NS) {
            return Ok(());
        }
        let address = network(address);
        let left = quota.left(self.failures.get(address), now);
        if left.count > 0 || self.trusted.get((address, credential)) > now {
            return Ok(());
        }
        Err(u32::try_from(left.next_ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX).max(1))
    }

    /// Records a failed attempt.
    pub fn failed(&self, address: IpAddr) {
        self.failed_at(address, now_ns());
    }

    fn failed_at(&self, address: IpAddr, now: u64) {
        let Some(quota) = self.quota else { return };
        self.failed_ns.fetch_max(now.max(1), Ordering::Relaxed);
        self.failures.change(network(address), now, Full::Leave, |until| quota.force(until, now));
    }

    /// Records a successful attempt.
    pub fn succeeded(&self, address: IpAddr, credential: &str) {
        self.succeeded_at(address, credential, now_ns());
    }

    fn succeeded_at(&self, address: IpAddr, credential: &str, now: u64) {
        if self.quota.is_none() {
            return;
        }
        let key = (network(address), credential);
        let until = now.saturating_add(TRUSTED_NS);
        if self.trusted.get(key) < until.saturating_sub(RENEWED_NS) {
            self.trusted.change(key, now, Full::Leave, |moment| *moment = until);
        }
    }

    /// Waits, for a bounded time, to verify a signature for a locked address. Returns `None` beyond
    /// the limit of such checks.
    pub async fn enter_locked_check(&self, address: IpAddr) -> Option<SemaphorePermit<'_>> {
        if !self.locked_checks.may_check_at(address, now_ns()) {
            return None;
        }
        timeout(QUEUE_WAIT_MAX, self.checking.acquire()).await.ok()?.ok()
    }
}

impl LockedChecks {
    fn new() -> Self {
        let quota = |per_s| Quota::new(per_s, SECOND_NS, per_s);
        Self {
            each: quota(LOCKED_TOKEN_CHECKS_PER_S),
            all: quota(LOCKED_TOKEN_CHECKS_TOTAL_PER_S),
            addresses: Moments::new(CALLERS_MAX),
            total: Moments::new(1),
        }
    }

    /// Whether one more signature may be verified for this address. If so, it is counted.
    fn may_check_at(&self, address: IpAddr, now: u64) -> bool {
        let each = |until: &mut u64| self.each.take(until, now).is_ok();
        let all = |until: &mut u64| self.all.take(until, now).is_ok();
        self.addresses.change(network(address), now, Full::Share, each)
            && self.total.change((), now, Full::Share, all)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const GUESSER: &str = "192.0.2.1";

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_locked_until_its_allowance_refills() {
        let attempts = Attempts::new(30);
        let may = |address: &str, now| attempts.may_try_at(ip(address), "x", now);
        for _ in 0..30 {
            assert_eq!(may(GUESSER, 0), Ok(()));
            attempts.failed_at(ip(GUESSER), 0);
        }
        assert_eq!(may(GUESSER, 0), Err(2));
        assert_eq!(may("192.0.2.2", 0), Ok(()), "another address");
        assert_eq!(may(GUESSER, 2 * SECOND_NS), Ok(()));
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_an_allowance() {
        let attempts = Attempts::new(30);
        for n in 0..30 {
            attempts.failed_at(ip(&format!("2001:db8::{n:x}")), 0);
        }
        assert!(attempts.may_try_at(ip("2001:db8::ffff"), "x", 0).is_err());
        assert!(attempts.may_try_at(ip("2001:db8:0:1::1"), "x", 0).is_ok());
    }

    #[test]
    fn an_accepted_credential_is_not_locked_out_by_its_address() {
        let attempts = Attempts::new(30);
        attempts.succeeded_at(ip(GUESSER), "good", 0);
        for _ in 0..1_000 {
            attempts.failed_at(ip(GUESSER), 0);
        }
        assert_eq!(attempts.may_try_at(ip(GUESSER), "good", 0), Ok(()));
        assert!(attempts.may_try_at(ip(GUESSER), "bad", 0).is_err());
        attempts.failed_at(ip("192.0.2.2"), 0);
        for _ in 0..1_000 {
            attempts.failed_at(ip("192.0.2.2"), 0);
        }
        assert!(attempts.may_try_at(ip("192.0.2.2"), "good", 0).is_err(), "from elsewhere");
    }

    #[test]
    fn the_exemption_of_a_credential_expires() {
        let attempts = Attempts::new(1);
        attempts.succeeded_at(ip(GUESSER), "good", 0);
        attempts.failed_at(ip(GUESSER), TRUSTED_NS);
        assert!(attempts.may_try_at(ip(GUESSER), "good", TRUSTED_NS).is_err());
        attempts.succeeded_at(ip(GUESSER), "good", TRUSTED_NS);
        assert!(attempts.may_try_at(ip(GUESSER), "good", TRUSTED_NS).is_ok());
    }

    #[test]
    fn without_a_limit_no_address_is_locked() {
        let attempts = Attempts::new(0);
        for _ in 0..1_000 {
            attempts.failed(ip(GUESSER));
        }
        assert_eq!(attempts.may_try(ip(GUESSER), "x"), Ok(()));
    }

    #[test]
    fn the_allowance_of_an_address_refills() {
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
