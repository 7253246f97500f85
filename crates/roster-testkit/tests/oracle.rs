//! The oracle itself passes every case: what it is held to is what it holds engines to.

use roster_core::Rules;
use roster_testkit::{Oracle, conformance, conformance::Subject};

fn open(rules: Rules) -> Subject {
    Subject::new(Oracle::new(rules))
}

conformance!(oracle, open);
