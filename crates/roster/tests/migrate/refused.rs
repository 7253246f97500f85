//! Migrations that are rejected before they begin: the error names the reason, and nothing changes.

use roster_testkit::postgres::Cluster;

use super::store::{Store, command, migrate, must, outcome, serve};

#[test]
fn a_database_with_users_is_refused_and_left_alone() {
    let (store, other) = (Store::filled(), tempfile::tempdir().unwrap());
    let database = Cluster::shared().database();
    let service = serve(other.path(), &database);
    must(service.ask("POST", "/users", r#"{"username":"here first"}"#), 201);
    let settings = "SELECT name, value FROM settings ORDER BY 1";
    let before = database.sql(settings);
    let told = store.migrate(&database.url()).failure();
    assert!(told.contains("holds users or a change log already"), "{told}");
    assert_eq!(database.sql(settings), before);
    assert_eq!(database.sql("SELECT count(*) FROM users"), "1");
    must(service.ask("POST", "/users", r#"{"username":"and goes on"}"#), 201);
}

#[test]
fn a_database_whose_users_are_all_gone_is_refused_too() {
    let (store, other) = (Store::filled(), tempfile::tempdir().unwrap());
    let database = Cluster::shared().database();
    let service = serve(other.path(), &database);
    let created = must(service.ask("POST", "/users", r#"{"username":"ada"}"#), 201);
    let id = created.body["id"].as_str().unwrap();
    must(service.ask("DELETE", &format!("/users/{id}"), ""), 204);
    must(service.ask("DELETE", &format!("/deleted-users/{id}"), ""), 204);
    let told = store.migrate(&database.url()).failure();
    assert!(told.contains("holds users or a change log already"), "{told}");
}

#[test]
fn what_was_migrated_already_is_told_apart() {
    let store = Store::filled();
    let database = Cluster::shared().database();
    store.migrate(&database.url()).success();
    let told = store.migrate(&database.url()).failure();
    assert!(told.contains("holds this very store already"), "{told}");
}

#[test]
fn a_database_on_which_a_service_was_only_started_is_taken() {
    let store = Store::filled();
    let database = Cluster::shared().database();
    let early = serve(&store.directory(), &database);
    store.migrate(&database.url()).success();
    // The service that was started before the migration has another log, so it rejects writes.
    let refused = early.ask("POST", "/users", r#"{"username":"late"}"#);
    assert!(refused.status >= 500, "{refused:?}");
    let service = serve(&store.directory(), &database);
    must(service.ask("POST", "/users", r#"{"username":"late"}"#), 201);
}

#[test]
fn a_directory_that_is_served_is_refused() {
    let store = Store::filled();
    let service = store.serve();
    let database = Cluster::shared().database();
    let told = store.migrate(&database.url()).failure();
    assert!(told.contains("stop the service that runs on it first"), "{told}");
    service.stop();
    assert_eq!(database.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'roster'"), "0");
}

#[test]
fn a_directory_without_a_store_is_rejected_and_left_empty() {
    let empty = tempfile::tempdir().unwrap();
    let database = Cluster::shared().database();
    let told = migrate(empty.path(), &database.url(), &[]).failure();
    assert!(told.contains("there is no Roster database in "), "{told}");
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[test]
fn a_database_that_cannot_be_reached_is_told_without_the_password() {
    let store = Store::filled();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let told = store.migrate(&format!("postgres://roster:kept-to-itself@{address}/x")).failure();
    assert!(told.contains(&address.to_string()), "{told}");
    assert!(!told.contains("kept-to-itself"), "{told}");
}

#[test]
fn a_database_that_nobody_named_is_asked_for() {
    let store = Store::filled();
    let told = outcome(&mut command(&store.directory()));
    assert_eq!(told.status, Some(2), "{told:?}");
    assert!(told.err.contains("--to URL"), "{told:?}");
    let wrong = store.migrate("mysql://roster:kept-to-itself@localhost/roster");
    assert_eq!(wrong.status, Some(78), "{wrong:?}");
    assert!(wrong.err.contains("flag --database: "), "{wrong:?}");
    assert!(!wrong.err.contains("kept-to-itself"), "{wrong:?}");
}
