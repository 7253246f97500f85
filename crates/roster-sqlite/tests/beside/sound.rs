//! The check finds nothing in a valid store.

use std::sync::Arc;

use proptest::test_runner::{Config, TestRunner};
use roster_core::Rules;
use roster_sqlite::{Line, Sealed, Settings, Sqlite, check};
use roster_testkit::{arbitrary::turns, sequences::compare};

use super::support::{AT, Place, alter, apply, create, full, lived, make, open, told};

#[tokio::test]
async fn a_closed_store_passes_the_check_and_every_table_is_counted() {
    let place = Place::new();
    lived(&place.data()).await;
    let findings = check(&place.data()).unwrap();
    assert!(findings.is_sound(), "{}", told(&findings));
    let count = |name: &str| findings.lines.iter().find(|line| line.name == name).unwrap().count;
    assert_eq!((count("users"), count("deleted users"), count("events")), (4, 2, 11));
    // Users 1 to 3 have two addresses and two numbers each, user 6 has numbers.
    assert_eq!(count("further keys"), 7);
    assert!(count("words") > 8 && count("pages") > 10);
}

#[tokio::test]
async fn a_store_under_writes_and_its_backup_pass_the_check() {
    let place = Place::new();
    let store = open(&place.data());
    let findings = check(&place.data()).unwrap();
    assert!(findings.is_sound(), "an empty one: {}", told(&findings));
    apply(&store, (1..=50).map(|n| create(n, &full(n))).collect()).await;
    assert!(check(&place.data()).unwrap().is_sound());
    make(&place.data(), &place.path("back up?#%41"));
    let sealed = Sealed::open(&place.path("back up?#%41")).unwrap();
    let findings = sealed.check().unwrap();
    assert!(findings.is_sound(), "{}", told(&findings));
    assert_eq!(findings.lines.iter().find(|line| line.name == "users").unwrap().count, 50);
}

#[tokio::test]
async fn a_log_without_its_expired_events_passes_the_check() {
    let place = Place::new();
    lived(&place.data()).await;
    for kept in [6, 8, 10, 12] {
        alter(&place.data(), &format!("DELETE FROM events WHERE position < {kept}"));
        let findings = check(&place.data()).unwrap();
        assert!(findings.is_sound(), "{}", told(&findings));
    }
}

#[test]
fn stores_after_random_sequences_pass_the_check() {
    let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let outcome = TestRunner::new(config).run(&turns(), |turns| {
        let place = Place::new();
        let settings = Settings::new(place.data(), Rules::default());
        let store = Arc::new(Sqlite::open(settings).unwrap());
        runtime.block_on(compare(store.clone(), Rules::default(), turns));
        let findings = check(&place.data()).unwrap();
        assert!(findings.is_sound(), "{}", told(&findings));
        make(&place.data(), &place.path("backup"));
        let restored = place.empty("restored");
        Sealed::open(&place.path("backup")).unwrap().restore(&restored, AT).unwrap();
        let again = check(&restored).unwrap();
        // The restored log has one event more.
        let counts = |findings: &roster_sqlite::Findings, more: u64| -> Vec<u64> {
            let beyond_the_file = findings.lines.iter().skip(1);
            let count = |line: &Line| line.count + if line.name == "events" { more } else { 0 };
            beyond_the_file.map(count).collect()
        };
        assert!(again.is_sound(), "{}", told(&again));
        assert_eq!(counts(&again, 0), counts(&findings, 1));
        Ok(())
    });
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}
