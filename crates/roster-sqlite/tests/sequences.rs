//! Random sequences of commands and queries on the engine and the oracle. Both must have equal
//! outcomes, pages and logs. `PROPTEST_CASES=20000` makes a long run.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]

use std::sync::Arc;

use proptest::test_runner::{Config, TestRunner};
use roster_core::{Guard, Rules, Sharing};
use roster_sqlite::{Settings, Sqlite};
use roster_testkit::{arbitrary::turns, queries, sequences::compare};

fn live_through(rules: Rules) {
    let config = Config { failure_persistence: None, ..Config::default() };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let outcome = TestRunner::new(config).run(&turns(), |turns| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let settings = Settings::new(directory.path().to_owned(), rules);
        let store = Arc::new(Sqlite::open(settings).expect("a new store opens"));
        runtime.block_on(compare(store, rules, turns));
        Ok(())
    });
    if let Err(difference) = outcome {
        panic!("{difference}");
    }
}

#[test]
fn random_sequences_match_the_oracle() {
    live_through(Rules::default());
}

#[test]
fn random_sequences_with_other_rules_match_the_oracle() {
    live_through(Rules {
        email: Sharing::Shared,
        external_id: Sharing::Unique,
        put: Guard::On,
        delete: Guard::On,
    });
}

#[test]
fn random_filters_and_searches_match_the_oracle() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let settings = Settings::new(directory.path().to_owned(), queries::RULES);
    let store = Arc::new(Sqlite::open(settings).expect("a new store opens"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let tally = runtime.block_on(queries::compare(store, 1, 300));
    assert!(tally.found > 100 && tally.empty > 30, "both occur often: {tally}");
}
