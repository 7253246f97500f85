//! The clock of the tests.

use roster_core::{Clock as _, UserId};
use roster_testkit::TestClock;

#[test]
fn ids_grow_even_when_time_goes_back() {
    let clock = TestClock::new();
    let first = clock.new_id();
    clock.step(-5000);
    let second = clock.new_id();
    clock.step(6000);
    let third = clock.new_id();
    assert!(first < second && second < third);
    assert_eq!(third.created_at(), clock.now());
    assert_eq!(UserId::parse(&third.to_string()), Some(third));
}
