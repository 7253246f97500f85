//! Failed attempts to authenticate, by address.
//!
//! Each failure uses up some of its address's allowance; while that is empty the address is
//! locked, so that nobody there guesses or keeps us verifying at will. Others may live behind the
//! same address: a credential that has proved itself from there is let through for an hour, as
//! often as it comes. To learn which those are, a guesser would have to know one already.
//!
//! A valid token must get in from a locked address too, and only its signature distinguishes it
//! from a guess. So these checks have an allowance of their own: per address, so that one cannot
//! use up that of all others, and in total, which bounds the processor time that guessers can take.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::{
    identity::network,
    moments::{Full, Moments},
    quota::{Quota, now_ns},
    settings::{CALLERS_MAX, QUEUE_WAIT_MAX},
};

/// Most token signatures a second that are verified for one locked address.
pub const LOCKED_TOKEN_CHECKS_PER_S: u32 = 20;

/// Most token signatures a second that are verified for all locked addresses together.
pub const LOCKED_TOKEN_CHECKS_TOTAL_PER_S: u32 = 200;

const MINUTE_NS: u64 = 60_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// How long a credential that has proved itself is let through.
const TRUSTED_NS: u64 = 60 * MINUTE_NS;
/// How soon that is noted anew.
const RENEWED_NS: u64 = 5 * MINUTE_NS;
/// Most credentials that are remembered with the address they came from.
const TRUSTED_MAX: usize = 20_000;

/// What is known of attempts.
#[derive(Debug)]
pub(crate) struct Attempts {
    quota: Option<Quota>,
    failures: Moments,
    /// When somebody failed last; long after that nobody's allowance is used up.
    failed_ns: AtomicU64,
    trusted: Moments,
    locked_checks: LockedChecks,
    /// The guard of the verification of a signature for a locked address.
    checking: Semaphore,
}

/// The allowances of signatures that are verified for locked addresses.
#[derive(Debug)]
struct LockedChecks {
    each: Quota,
    all: Quota,
    addresses: Moments,
    total: Moments,
}

impl Attempts {
    /// So many failures a minute for each address, and so many at once; 0 is no limit.
    pub(super) fn new(per_minute: u32) -> Self {
        Self {
            quota: (per_minute > 0).then(|| Quota::new(per_minute, MINUTE_NS, per_minute)),
            failures: Moments::new(CALLERS_MAX),
            failed_ns: AtomicU64::new(0),
            trusted: Moments::new(TRUSTED_MAX),
            locked_checks: LockedChecks::new(),
            checking: Semaphore::new(1),
        }
    }

    /// Whether an attempt may be made; else after how many seconds. `credential` is the part of a
    /// credential that is known before it is verified, as the id of a key.
    pub(crate) fn may_try(&self, address: IpAddr, credential: &str) -> Result<(), u32> {
        self.may_try_at(address, credential, now_ns())
    }

    fn may_try_at(&self, address: IpAddr, credential: &str, now: u64) -> Result<(), u32> {
        let Some(quota) = self.quota else { return Ok(()) };
        let last = self.failed_ns.load(Ordering::Relaxed);
        // What a minute grants is all that there is to be had at once.
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

    /// An attempt has failed.
    pub(crate) fn failed(&self, address: IpAddr) {
        self.failed_at(address, now_ns());
    }

    fn failed_at(&self, address: IpAddr, now: u64) {
        let Some(quota) = self.quota else { return };
        self.failed_ns.fetch_max(now.max(1), Ordering::Relaxed);
        self.failures.change(network(address), now, Full::Leave, |until| quota.force(until, now));
    }

    /// An attempt has succeeded.
    pub(crate) fn succeeded(&self, address: IpAddr, credential: &str) {
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
    pub(crate) async fn enter_locked_check(&self, address: IpAddr) -> Option<SemaphorePermit<'_>> {
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

    /// Whether one more signature may be verified for this address; it is counted if so.
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
    fn a_guesser_is_refused_until_time_has_passed() {
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
    fn a_guesser_moves_about_its_own_network_in_vain() {
        let attempts = Attempts::new(30);
        for n in 0..30 {
            attempts.failed_at(ip(&format!("2001:db8::{n:x}")), 0);
        }
        assert!(attempts.may_try_at(ip("2001:db8::ffff"), "x", 0).is_err());
        assert!(attempts.may_try_at(ip("2001:db8:0:1::1"), "x", 0).is_ok());
    }

    #[test]
    fn who_has_proved_itself_is_not_locked_out_by_its_neighbours() {
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
    fn trust_wears_off() {
        let attempts = Attempts::new(1);
        attempts.succeeded_at(ip(GUESSER), "good", 0);
        attempts.failed_at(ip(GUESSER), TRUSTED_NS);
        assert!(attempts.may_try_at(ip(GUESSER), "good", TRUSTED_NS).is_err());
        attempts.succeeded_at(ip(GUESSER), "good", TRUSTED_NS);
        assert!(attempts.may_try_at(ip(GUESSER), "good", TRUSTED_NS).is_ok());
    }

    #[test]
    fn without_a_limit_nobody_is_refused() {
        let attempts = Attempts::new(0);
        for _ in 0..1_000 {
            attempts.failed(ip(GUESSER));
        }
        assert_eq!(attempts.may_try(ip(GUESSER), "x"), Ok(()));
    }

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
