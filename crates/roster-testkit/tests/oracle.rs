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

/// A case that is not in the list of the macro would never run.
#[test]
fn every_case_is_in_the_list() {
    let list = include_str!("../src/conformance/mod.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance");
    for file in std::fs::read_dir(folder).expect("the folder of this file") {
        let module = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        for line in module.lines() {
            let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
            let name = rest.split('(').next().expect("a function has parentheses");
            assert!(list.contains(&format!("    {name},\n")), "{name} is in the list");
        }
    }
}
