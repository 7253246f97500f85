//! An interrupted migration is continued or rejected. A partial migration is never accepted as
//! complete.

use std::{fs, path::Path, thread};

use roster_testkit::postgres::{Cluster, Database};

use super::store::{Store, migrate, must, refusal_to_serve, serve};
use super::view::View;
use super::wire::{Direction, Wire};

const IS_MARKED: &str = "SELECT EXISTS (SELECT FROM settings WHERE name = 'migration')";

/// The number of parts of a migration. The connection breaks after each part but the last.
const PARTS: u64 = 12;

/// Whether the database has an unfinished migration.
fn is_marked(database: &Database) -> bool {
    let begun = "SELECT to_regclass('settings') IS NOT NULL";
    database.sql(begun) == "t" && database.sql(IS_MARKED) == "t"
}

/// The number of bytes that a whole migration sends in this direction.
fn bytes_of(store: &Store, direction: Direction) -> u64 {
    let database = Cluster::shared().database();
    let wire = Wire::to(&database.url(), direction, u64::from(u32::MAX));
    store.migrate(wire.url()).success();
    wire.passed(direction)
}

/// Interrupts a migration of this many bytes after the users, among the events.
fn break_off(store: &Store, database: &Database, bytes: u64) {
    let wire = Wire::to(&database.url(), Direction::To, bytes * 6 / 10);
    store.migrate(wire.url()).failure();
    assert!(is_marked(database));
    assert_eq!(database.sql("SELECT count(*) FROM users"), "36");
    assert_ne!(database.sql("SELECT count(*) FROM events WHERE position < 5"), "0");
}

/// A store, and a database with a part of it.
fn half_done() -> (Store, Database) {
    let (store, database) = (Store::filled(), Cluster::shared().database());
    break_off(&store, &database, bytes_of(&store, Direction::To));
    (store, database)
}

#[test]
fn a_wire_that_breaks_anywhere_costs_nothing_but_time() {
    let store = Store::filled();
    let service = store.serve();
    let view = View::of(&service);
    service.stop();
    for direction in [Direction::To, Direction::From] {
        let bytes = bytes_of(&store, direction);
        let mut gone_on = 0;
        for part in 1..PARTS {
            let database = Cluster::shared().database();
            let wire = Wire::to(&database.url(), direction, bytes * part / PARTS);
            let told = store.migrate(wire.url()).failure();
            if is_marked(&database) {
                let refused = refusal_to_serve(&store.directory(), &database);
                assert!(refused.contains("is not finished"), "{refused}");
            }
            let again = store.migrate(&database.url());
            gone_on += usize::from(again.err.contains("loading rows: continuing after "));
            again.success();
            assert!(!is_marked(&database), "{direction:?} {part}: {told}");
            if part % 4 == 0 {
                view.must_be_that_of(&serve(&store.directory(), &database));
            }
        }
        assert!(gone_on >= 3, "{direction:?}: {gone_on}");
    }
}

#[test]
fn a_wire_that_breaks_again_and_again_comes_to_an_end() {
    let store = Store::filled();
    let service = store.serve();
    let view = View::of(&service);
    service.stop();
    let database = Cluster::shared().database();
    let mut breaks = 0;
    loop {
        // Enough for the queries at the start and a few chunks.
        let wire = Wire::to(&database.url(), Direction::To, 40_000);
        let outcome = store.migrate(wire.url());
        if outcome.status == Some(0) {
            break;
        }
        outcome.failure();
        breaks += 1;
        assert!(breaks < 100, "it never ends");
    }
    assert!(breaks >= 3, "{breaks}");
    view.must_be_that_of(&serve(&store.directory(), &database));
}

#[test]
fn another_store_is_refused_while_one_is_half_done() {
    let (store, database) = half_done();
    let other = Store::filled();
    let told = other.migrate(&database.url()).failure();
    assert!(told.contains("an unfinished migration of another store"), "{told}");
    store.migrate(&database.url()).success();
}

#[test]
fn a_store_that_changed_since_is_refused() {
    let (store, database) = half_done();
    let service = store.serve();
    must(service.ask("POST", "/users", r#"{"username":"late"}"#), 201);
    service.stop();
    let told = store.migrate(&database.url()).failure();
    assert!(told.contains("which has changed since"), "{told}");
    assert!(is_marked(&database));
}

#[test]
fn a_store_that_only_remembers_another_request_is_refused_too() {
    let (store, database) = half_done();
    let service = store.serve();
    let user = service.ask("GET", "/users?limit=1", "").body["items"][0]["id"].clone();
    let path = format!("/users/{}", user.as_str().unwrap());
    must(service.ask_with("Idempotency-Key: \"third\"\r\n", "PATCH", &path, "{}"), 200);
    service.stop();
    let told = store.migrate(&database.url()).failure();
    assert!(told.contains("which has changed since"), "{told}");
}

#[test]
fn a_difference_is_found_and_the_database_stays_closed() {
    let store = Store::filled();
    let bytes = bytes_of(&store, Direction::To);
    for (table, tamper) in [
        ("users", "UPDATE users SET version = version + 1 WHERE username_key = 'user 01'"),
        ("users", "UPDATE users SET name_key = '\\xff' WHERE username_key = 'user 01'"),
        ("users", "DELETE FROM users WHERE username_key = 'user 01'"),
        ("events", "UPDATE events SET at = at + 1 WHERE position = 3"),
        ("events", "UPDATE events SET record = replace(record, 'Ada', 'Eda') WHERE position = 4"),
    ] {
        let database = Cluster::shared().database();
        break_off(&store, &database, bytes);
        database.sql(tamper);
        let told = store.migrate(&database.url()).failure();
        assert!(told.starts_with(&format!("{table} is not equal")), "{tamper}: {told}");
        assert!(is_marked(&database), "{tamper}");
        let refused = refusal_to_serve(&store.directory(), &database);
        assert!(refused.contains("is not finished"), "{refused}");
    }
}

#[test]
fn of_two_at_once_one_comes_to_the_end_and_the_other_says_why() {
    let store = Store::filled();
    let service = store.serve();
    let view = View::of(&service);
    service.stop();
    let copy = tempfile::tempdir().unwrap();
    fs::copy(store.directory().join("roster.db"), copy.path().join("roster.db")).unwrap();
    // One migration may end before the other begins. Then the test tries again.
    let (mut met, mut rounds) = (0, 0);
    while met == 0 {
        rounds += 1;
        assert!(rounds < 20, "they never met");
        let database = Cluster::shared().database();
        let run = |from: &Path| migrate(from, &database.url(), &["--chunk-bytes", "500"]);
        let both = thread::scope(|scope| {
            let one = scope.spawn(|| run(&store.directory()));
            [run(copy.path()), one.join().unwrap()]
        });
        let ended: Vec<_> = both.iter().filter(|outcome| outcome.status == Some(0)).collect();
        assert_eq!(ended.len(), 1, "{both:?}");
        met += both.iter().filter(|outcome| outcome.err.contains("another process writes")).count();
        assert!(!is_marked(&database));
        view.must_be_that_of(&serve(&store.directory(), &database));
    }
}
