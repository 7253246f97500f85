//! The oracle itself passes every case: what it is held to is what it holds engines to.

use std::sync::Arc;

use roster_core::Rules;
use roster_testkit::{Oracle, conformance, conformance::Subject, queries};

fn open(rules: Rules) -> Subject {
    Subject::new(Oracle::new(rules))
}

conformance!(oracle, open);

/// What is drawn must be what a store can be asked, and often meet somebody.
#[test]
fn random_questions_meet_somebody_and_nobody() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let oracle = Arc::new(Oracle::new(queries::RULES));
    let tally = runtime.block_on(queries::compare(oracle, 7, 200));
    assert!(tally.found > 60 && tally.empty > 20, "both occur often: {tally}");
}
