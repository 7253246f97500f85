//! Random sequences of commands and queries on the engine and the oracle. Both must have equal
//! outcomes, pages and logs. `PROPTEST_CASES=20000` makes a long run.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]

use std::{fmt::Debug, sync::Arc};

use proptest::{
    sample::select,
    strategy::Strategy,
    test_runner::{Config, TestRunner},
};
use roster_core::{Guard, Rules, Sharing};
use roster_sqlite::{Settings, Sqlite, check};
use roster_testkit::{
    arbitrary::{turns, turns_of_five},
    queries,
    sequences::{compare, tenants::compare_tenants},
};

/// The default numbers of cases, over one tenant and over five.
const CASES: u32 = 256;
const CASES_OF_FIVE: u32 = 40;

const OTHER_RULES: Rules = Rules {
    email: Sharing::Shared,
    external_id: Sharing::Unique,
    put: Guard::On,
    delete: Guard::On,
};

/// Runs so many cases, unless the environment has another number.
fn run<S: Strategy<Value: Debug>>(cases: u32, sequences: &S, case: impl AsyncFn(S::Value)) {
    let wished = Config { failure_persistence: None, ..Config::default() };
    let ordinary = wished.cases == Config::with_cases(256).cases;
    let config = Config { cases: if ordinary { cases } else { wished.cases }, ..wished };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let outcome = TestRunner::new(config).run(sequences, |sequence| {
        runtime.block_on(case(sequence));
        Ok(())
    });
    if let Err(difference) = outcome {
        panic!("{difference}");
    }
}

fn live_through(rules: Rules) {
    run(CASES, &turns(), async |turns| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let settings = Settings::new(directory.path().to_owned(), rules);
        let store = Arc::new(Sqlite::open(settings).expect("a new store opens"));
        compare(store, rules, turns).await;
    });
}

#[test]
fn random_sequences_match_the_oracle() {
    live_through(Rules::default());
}

#[test]
fn random_sequences_with_other_rules_match_the_oracle() {
    live_through(OTHER_RULES);
}

/// No tenant may notice another one. `check` must find no fault.
#[test]
fn random_sequences_of_five_tenants_match_independent_oracles() {
    let rules = select(vec![Rules::default(), OTHER_RULES]);
    run(CASES_OF_FIVE, &(rules, turns_of_five()), async |(rules, turns)| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let settings = Settings::new(directory.path().to_owned(), rules);
        let store = Arc::new(Sqlite::open(settings).expect("a new store opens"));
        compare_tenants(store, rules, turns).await;
        let findings = check(directory.path()).expect("a check");
        assert!(findings.is_sound(), "{findings}");
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
