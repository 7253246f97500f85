//! A migration keeps all data.

use roster_sqlite::unload::Table;
use roster_testkit::postgres::Cluster;

use super::store::{ONCE, ONCE_UNCHANGED, Store, command, migrate, must, outcome, path, serve};
use super::view::View;

#[test]
fn whoever_asks_notices_nothing() {
    let store = Store::filled();
    let service = store.serve();
    let view = View::of(&service);
    assert!(view.len() > 100);
    let once = must(service.ask_with(ONCE, "POST", "/users", r#"{"username":"once"}"#), 201);
    let users = service.ask("GET", "/users", "");
    service.stop();
    let database = Cluster::shared().database();
    let told = store.migrate(&database.url()).success();
    assert!(told.contains("36 users and 5 deleted users, log "), "{told}");

    let service = serve(store.directory().parent().unwrap(), &database);
    view.must_be_that_of(&service);
    let again = must(service.ask_with(ONCE, "POST", "/users", r#"{"username":"once"}"#), 201);
    assert!(again.head.contains("idempotent-replayed: true"), "{again:?}");
    assert_eq!(again.body, once.body);
    let again = must(service.ask_with(ONCE_UNCHANGED, "PATCH", &path(&once), "{}"), 200);
    assert!(again.head.contains("idempotent-replayed: true"), "{again:?}");
    view.must_be_that_of(&service);

    // The store continues with the next version and the next position.
    let user = &users.body["items"][0];
    let held = format!("If-Match: \"{}\"\r\n", user["version"]);
    let path = format!("/users/{}", user["id"].as_str().unwrap());
    let written = must(service.ask_with(&held, "PATCH", &path, r#"{"title":"Prof"}"#), 200);
    assert_eq!(written.body["version"].as_i64(), user["version"].as_i64().map(|it| it + 1));
    let position = |head: &str| -> (String, i64) {
        let line = head.lines().find_map(|line| line.strip_prefix("roster-position: "));
        let (log, number) = line.unwrap().split_once('-').unwrap();
        (log.to_owned(), number.parse().unwrap())
    };
    let (log, number) = position(&users.head);
    assert_eq!(position(&written.head), (log, number + 1));
    service.ask("POST", "/users", r#"{"username":"USER 00"}"#).must_be(409, "username-taken");
    let taken = r#"{"username":"x","email":"u0@x.example"}"#;
    service.ask("POST", "/users", taken).must_be(409, "email-taken");
}

#[test]
fn the_database_is_made_as_a_fresh_one_is() {
    let store = Store::filled();
    let (migrated, fresh) = (Cluster::shared().database(), Cluster::shared().database());
    store.migrate(&migrated.url()).success();
    let place = store.directory();
    serve(&place, &migrated).stop();
    serve(&place, &fresh).stop();
    let objects = "SELECT tablename || ': ' || indexdef FROM pg_indexes \
         WHERE schemaname = 'roster' ORDER BY 1";
    assert_eq!(migrated.sql(objects), fresh.sql(objects));
    let settings = "SELECT name FROM settings ORDER BY 1";
    assert_eq!(migrated.sql(settings), fresh.sql(settings));
    assert_eq!(migrated.sql("SELECT era FROM log_head"), "1");
}

#[test]
fn every_column_of_the_database_is_filled() {
    let (store, database) = (Store::empty(), Cluster::shared().database());
    store.serve().stop();
    store.migrate(&database.url()).success();
    // The head, the schema steps, the stored ends of SCIM pages, leases and eras belong to the
    // database.
    let columns = database.sql(
        "SELECT table_name || ' ' || column_name FROM information_schema.columns \
         WHERE table_schema = 'roster' \
         AND table_name NOT IN ('log_head', 'schema_steps', 'walk_ends', 'leases') \
         AND column_name <> 'rules_era'",
    );
    let mut there: Vec<&str> = columns.lines().collect();
    let columns = Table::ALL
        .iter()
        .flat_map(|table| table.columns.split(", ").map(|name| format!("{} {name}", table.name)));
    let mut filled: Vec<String> = columns.collect();
    there.sort_unstable();
    filled.sort_unstable();
    assert_eq!(there, filled);
}

#[test]
fn the_source_is_not_changed_and_can_still_be_served() {
    let store = Store::filled();
    let file = store.directory().join("roster.db");
    let before = std::fs::read(&file).unwrap();
    let database = Cluster::shared().database();
    store.migrate(&database.url()).success();
    assert!(std::fs::read(&file).unwrap() == before);
    let service = store.serve();
    must(service.ask("GET", "/users", ""), 200);
}

#[test]
fn a_store_without_users_is_migrated_too() {
    let store = Store::empty();
    let service = store.serve();
    let position = service.ask("GET", "/users", "").head;
    service.stop();
    let database = Cluster::shared().database();
    store.migrate(&database.url()).success();
    let service = serve(&store.directory(), &database);
    let line =
        |head: &str| head.lines().find(|it| it.starts_with("roster-pos")).unwrap().to_owned();
    assert_eq!(line(&service.ask("GET", "/users", "").head), line(&position));
    must(service.ask("POST", "/users", r#"{"username":"ada"}"#), 201);
}

#[test]
fn what_was_migrated_is_told_as_json() {
    let store = Store::filled();
    let database = Cluster::shared().database();
    let told = migrate(&store.directory(), &database.url(), &["--json"]).success();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["users"], &told["deleted_users"]), (&36.into(), &5.into()), "{told}");
    assert_eq!(told["rows"]["events"], told["position"], "{told}");
    assert_eq!(told["log_id"].as_str().map(str::len), Some(16), "{told}");
}

#[test]
fn the_database_may_be_named_where_nobody_else_reads_it() {
    let store = Store::filled();
    let (one, other) = (Cluster::shared().database(), Cluster::shared().database());
    let mut from_environment = command(&store.directory());
    outcome(from_environment.env("ROSTER_DATABASE", one.url())).success();
    let file = store.directory().parent().unwrap().join("roster.toml");
    std::fs::write(&file, format!("database = \"{}\"\n", other.url())).unwrap();
    let mut from_file = command(&store.directory());
    outcome(from_file.arg("--config").arg(&file)).success();
    for database in [one, other] {
        assert_eq!(database.sql("SELECT count(*) FROM users"), "36");
    }
}
