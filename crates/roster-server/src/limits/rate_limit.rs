//! The rate limit of each caller, and its response headers.
//!
//! The headers are those of draft-ietf-httpapi-ratelimit-headers-10: `RateLimit-Policy` states the
//! limit, and `RateLimit` states the rest of the allowance.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{
    CALLERS_MAX,
    moments::{Full, Moments},
    quota::{Left, Quota, now_ns},
};
use crate::identity::Identity;

const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const SECOND_NS: u64 = 1_000_000_000;

/// The allowances of all callers.
#[derive(Debug)]
pub struct RateLimiter {
    quota: Quota,
    callers: Moments,
    policy: HeaderValue,
    detail: String,
}

/// The state of a caller's allowance after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitState {
    left: u32,
    next_s: u32,
    refused: bool,
}

impl RateLimitState {
    /// The seconds to wait, if the request exceeded the limit.
    pub fn wait_s(self) -> Option<u32> {
        self.refused.then_some(self.next_s.max(1))
    }
}

impl RateLimiter {
    /// Allows `per_s` requests a second, and `burst` at once after a pause. Returns `None` if the
    /// rate is 0.
    pub fn new(per_s: u32, burst: u32) -> Option<Self> {
        if per_s == 0 {
            return None;
        }
        let burst = burst.max(1);
        let window_s = burst.div_ceil(per_s);
        let policy = HeaderValue::try_from(format!("\"default\";q={burst};w={window_s}"));
        Some(Self {
            quota: Quota::new(per_s, SECOND_NS, burst),
            callers: Moments::new(CALLERS_MAX),
            policy: policy.unwrap_or_else(|_| HeaderValue::from_static("\"default\";q=1;w=1")),
            detail: format!(
                "the quota \"default\" is used up: {burst} requests at once, {per_s} a second"
            ),
        })
    }

    /// The detail of the problem that a rejected request gets.
    pub fn detail(&self) -> String {
        self.detail.clone()
    }

    /// Charges a request to its caller.
    pub fn charge(&self, caller: &Identity<'_>) -> RateLimitState {
        self.charge_at(caller, now_ns())
    }

    /// Charges a caller for one more step of a request. If the limit is reached, returns how long
    /// to wait.
    pub fn try_charge(&self, caller: &Identity<'_>) -> Result<(), Duration> {
        let taken = self.take(caller, now_ns());
        // Timers have a resolution of one millisecond.
        let wait = |left: Left| Duration::from_nanos(left.next_ns).max(Duration::from_millis(1));
        taken.map(drop).map_err(wait)
    }

    fn take(&self, caller: &Identity<'_>, now: u64) -> Result<Left, Left> {
        let take = |until: &mut u64| self.quota.take(until, now);
        self.callers.change(caller, now, Full::Share, take)
    }

    fn charge_at(&self, caller: &Identity<'_>, now: u64) -> RateLimitState {
        let taken = self.take(caller, now);
        let (Ok(Left { count, next_ns }) | Err(Left { count, next_ns })) = taken;
        let next_s = u32::try_from(next_ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX);
        RateLimitState { left: count, next_s, refused: taken.is_err() }
    }

    /// Adds the headers to a response.
    pub fn write_headers(&self, state: RateLimitState, headers: &mut HeaderMap) {
        headers.insert(RATE_LIMIT_POLICY, self.policy.clone());
        let text = format!("\"default\";r={};t={}", state.left, state.next_s);
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(RATE_LIMIT, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn fields(limiter: &RateLimiter, state: RateLimitState) -> (String, String) {
        let mut headers = HeaderMap::new();
        limiter.write_headers(state, &mut headers);
        let text = |name: HeaderName| headers.get(name).unwrap().to_str().unwrap().to_owned();
        (text(RATE_LIMIT_POLICY), text(RATE_LIMIT))
    }

    #[test]
    fn the_headers_state_the_limit_and_what_is_left() {
        let limiter = RateLimiter::new(2, 5).unwrap();
        let caller = Identity::Key("abc");
        let policy = "\"default\";q=5;w=3".to_owned();
        let first = limiter.charge_at(&caller, 0);
        assert_eq!(fields(&limiter, first), (policy.clone(), "\"default\";r=4;t=1".to_owned()));
        assert_eq!(first.wait_s(), None);
        for _ in 0..4 {
            limiter.charge_at(&caller, 0);
        }
        let last = limiter.charge_at(&caller, 0);
        assert_eq!(fields(&limiter, last), (policy, "\"default\";r=0;t=1".to_owned()));
        assert_eq!(last.wait_s(), Some(1));
    }

    #[test]
    fn each_caller_has_its_own_allowance() {
        let limiter = RateLimiter::new(1, 1).unwrap();
        let address = |text: &str| Identity::of_address(text.parse().unwrap());
        let passes = |caller| limiter.charge_at(&caller, 0).wait_s().is_none();
        assert!(passes(Identity::Key("a")));
        assert!(!passes(Identity::Key("a")));
        assert!(passes(Identity::Key("b")));
        assert!(passes(Identity::Subject { issuer: "a", subject: "b" }));
        assert!(passes(address("2001:db8::1")));
        assert!(!passes(address("2001:db8::2")));
        assert!(passes(address("192.0.2.1")));
    }

    #[test]
    fn callers_beyond_the_table_are_still_limited() {
        let limiter = RateLimiter::new(1, 1).unwrap();
        let address = |n: u32| Identity::of_address(IpAddr::V4(Ipv4Addr::from_bits(n)));
        let many = u32::try_from(CALLERS_MAX).unwrap() * 2;
        let passed = (0..many).filter(|n| limiter.charge_at(&address(*n), 0).wait_s().is_none());
        let passed = passed.count();
        assert!((CALLERS_MAX - 10_000..=CALLERS_MAX + 100).contains(&passed), "{passed}");
    }

    #[test]
    fn without_a_rate_there_is_no_limit() {
        assert!(RateLimiter::new(0, 10).is_none());
    }
}
