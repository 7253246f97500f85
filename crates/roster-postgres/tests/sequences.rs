//! Random sequences of commands and queries on the engine and the oracle. Both must have equal
//! outcomes, pages and logs, and `check` must find no fault. `PROPTEST_CASES=2000` makes a long
//! run.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]

use std::{fmt::Debug, sync::Arc, time::Duration};

use proptest::{
    sample::select,
    strategy::Strategy,
    test_runner::{Config, TestRunner},
};
use roster_core::{Guard, Rules, Sharing};
use roster_postgres::{Connector, Postgres, Settings, check};
use roster_testkit::{
    arbitrary::{turns, turns_of_five},
    postgres::{Cluster, Schema},
    queries,
    sequences::{compare, tenants::compare_tenants},
};

/// The default numbers of cases, over one tenant and over five. Each case creates its own schema.
const CASES: u32 = 30;
const CASES_OF_FIVE: u32 = 5;

const OTHER_RULES: Rules = Rules {
    email: Sharing::Shared,
    external_id: Sharing::Unique,
    put: Guard::On,
    delete: Guard::On,
};

async fn open(rules: Rules) -> (Arc<Postgres>, Connector, Schema) {
    let schema = Cluster::shared().schema();
    let connector = Connector::parse(&schema.url()).expect("a URL");
    let settings = Settings::new(connector.clone(), rules);
    let store = Postgres::open(Settings { schema_lease: Duration::ZERO, ..settings }).await;
    (Arc::new(store.expect("a new store opens")), connector, schema)
}

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
        let (store, connector, _schema) = open(rules).await;
        compare(store, rules, turns).await;
        assert_sound(&connector).await;
    });
}

async fn assert_sound(connector: &Connector) {
    let findings = check(connector).await.expect("a check");
    assert!(findings.is_sound(), "{findings}");
}

#[test]
fn random_sequences_match_the_oracle() {
    live_through(Rules::default());
}

#[test]
fn random_sequences_with_other_rules_match_the_oracle() {
    live_through(OTHER_RULES);
}

/// No tenant may notice another one.
#[test]
fn random_sequences_of_five_tenants_match_independent_oracles() {
    let rules = select(vec![Rules::default(), OTHER_RULES]);
    run(CASES_OF_FIVE, &(rules, turns_of_five()), async |(rules, turns)| {
        let (store, connector, _schema) = open(rules).await;
        compare_tenants(store, rules, turns).await;
        assert_sound(&connector).await;
    });
}

#[test]
fn random_filters_and_searches_match_the_oracle() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let tally = runtime.block_on(async {
        let (store, _, _schema) = open(queries::RULES).await;
        queries::compare(store, 1, 300).await
    });
    assert!(tally.found > 100 && tally.empty > 30, "both occur often: {tally}");
}
