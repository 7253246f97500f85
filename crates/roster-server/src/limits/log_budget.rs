//! The bytes that each caller may add to a log in an hour.
//!
//! The size of a write is known only when it is done. So a caller may exceed its allowance by the
//! writes that are running, and then has to wait longer. As in [`quota`](super::quota), one time is
//! stored per caller: when its allowance is full again.

use super::{
    CALLERS_MAX,
    moments::{Full, Moments},
    quota::now_ns,
};
use crate::identity::Identity;

const SECOND_NS: u64 = 1_000_000_000;
const HOUR_NS: u64 = 3_600 * SECOND_NS;

/// The allowances of all callers.
#[derive(Debug)]
pub struct LogBudget {
    bytes_per_hour: u64,
    callers: Moments,
}

impl LogBudget {
    /// Allows this number of bytes an hour, also all at once after a pause. Returns `None` if it is
    /// 0, which means no limit.
    pub fn new(bytes_per_hour: u64) -> Option<Self> {
        (bytes_per_hour > 0).then(|| Self { bytes_per_hour, callers: Moments::new(CALLERS_MAX) })
    }

    /// The bytes that a caller may add in an hour.
    pub const fn bytes_per_hour(&self) -> u64 {
        self.bytes_per_hour
    }

    /// Whether the caller may add more. Otherwise returns how many seconds it has to wait.
    pub fn check(&self, caller: &Identity<'_>) -> Result<(), u32> {
        self.check_at(caller, now_ns())
    }

    /// Charges the caller for bytes that it added.
    pub fn charge(&self, caller: &Identity<'_>, bytes: u64) {
        self.charge_at(caller, bytes, now_ns());
    }

    fn check_at(&self, caller: &Identity<'_>, now: u64) -> Result<(), u32> {
        let until = self.callers.change(caller, now, Full::Share, |until| *until);
        match until.saturating_sub(now).checked_sub(HOUR_NS) {
            None => Ok(()),
            Some(over) => Err(u32::try_from(over / SECOND_NS + 1).unwrap_or(u32::MAX)),
        }
    }

    fn charge_at(&self, caller: &Identity<'_>, bytes: u64, now: u64) {
        let time = u128::from(bytes) * u128::from(HOUR_NS) / u128::from(self.bytes_per_hour);
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        let charge = |until: &mut u64| *until = (*until).max(now).saturating_add(time);
        self.callers.change(caller, now, Full::Share, charge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: Identity<'_> = Identity::Key("ada");

    #[test]
    fn a_caller_that_added_too_much_waits_until_it_is_paid() {
        let budget = LogBudget::new(3_600_000).unwrap();
        budget.charge_at(&ADA, 3_599_000, 0);
        assert_eq!(budget.check_at(&ADA, 0), Ok(()));
        // What was running is added in any case, and has to be paid.
        budget.charge_at(&ADA, 10_000, 0);
        assert_eq!(budget.check_at(&ADA, 0), Err(10));
        assert_eq!(budget.check_at(&ADA, 9 * SECOND_NS), Err(1));
        assert_eq!(budget.check_at(&ADA, 9 * SECOND_NS + 1), Ok(()));
        assert_eq!(budget.check_at(&Identity::Key("grace"), 0), Ok(()));
    }

    #[test]
    fn a_pause_gives_back_one_hour_and_never_more() {
        let budget = LogBudget::new(1_000).unwrap();
        budget.charge_at(&ADA, 1_000, 100 * HOUR_NS);
        assert!(budget.check_at(&ADA, 100 * HOUR_NS).is_err());
        assert_eq!(budget.check_at(&ADA, 101 * HOUR_NS), Ok(()));
        budget.charge_at(&ADA, 1_000, 200 * HOUR_NS);
        assert!(budget.check_at(&ADA, 200 * HOUR_NS).is_err());
    }

    #[test]
    fn callers_beyond_the_table_share_one_allowance() {
        let budget = LogBudget::new(1).unwrap();
        let names: Vec<String> = (0..CALLERS_MAX * 2).map(|number| number.to_string()).collect();
        for name in &names {
            budget.charge_at(&Identity::Key(name), 1, 0);
        }
        assert!(names.iter().all(|name| budget.check_at(&Identity::Key(name), 0).is_err()));
        assert!(LogBudget::new(0).is_none());
    }
}
