//! The oracle itself passes every case that the engines must pass.

use std::sync::Arc;

use roster_core::Rules;
use roster_testkit::{Oracle, conformance, conformance::Subject, queries};

fn open(rules: Rules) -> Subject {
    Subject::new(Oracle::new(rules))
}

conformance!(oracle, open);

/// The generated queries must be valid, and often find users.
#[test]
fn random_questions_meet_somebody_and_nobody() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let oracle = Arc::new(Oracle::new(queries::RULES));
    let tally = runtime.block_on(queries::compare(oracle, 7, 200));
    assert!(tally.found > 60 && tally.empty > 20, "both occur often: {tally}");
}
