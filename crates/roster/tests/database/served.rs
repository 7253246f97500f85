//! Databases that the service accepts.

use std::{
    fs,
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use roster_testkit::process::{Engine, Place, Process};

use super::ask::roster;

/// A service on a place.
fn serve(place: &Place) -> Process {
    Process::start(&mut place.serve(env!("CARGO_BIN_EXE_roster")))
}

/// A user with this name.
fn named(username: &str) -> String {
    format!(r#"{{"username":"{username}"}}"#)
}

#[test]
fn users_are_kept_in_the_database_and_not_in_the_directory() {
    let place = Place::new(Engine::Postgres);
    let service = serve(&place);
    let ada = service.create(&named("ada"));
    let before = service.ask("GET", &ada, "");
    service.stop();
    let kept = place.path().join("roster-data");
    let files: Vec<_> = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.is_empty(), "{files:?}");
    let again = serve(&place).ask("GET", &ada, "");
    assert_eq!((again.status, again.body), (200, before.body));
}

#[test]
fn what_one_process_acknowledged_every_other_shows_at_once() {
    let place = Place::new(Engine::Postgres);
    let (one, other) = (serve(&place), serve(&place));
    let ada = one.create(&named("ada"));
    for round in 0..50 {
        let (writer, reader) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        // Reads before and after the write, so that a stale cache entry of the reading process
        // would show.
        let before = reader.ask("GET", &ada, "").body;
        let patch = format!(r#"{{"title":"{round}"}}"#);
        let written = writer.ask("PATCH", &ada, &patch);
        assert_eq!(written.status, 200, "{written:?}");
        let read = reader.ask("GET", &ada, "");
        assert_eq!((read.status, &read.body), (200, &written.body), "was {before}");
        let position = |head: &str| -> String {
            let line = head.lines().find(|line| line.starts_with("roster-position: "));
            line.unwrap().to_owned()
        };
        let list = reader.ask("GET", "/users", "");
        assert_eq!(position(&list.head), position(&written.head));
    }
    other.ask("POST", "/users", r#"{"username":"ADA"}"#).must_be(409, "username-taken");
}

#[test]
fn a_cursor_of_one_process_is_taken_by_another() {
    let place = Place::new(Engine::Postgres);
    let (one, other) = (serve(&place), serve(&place));
    for username in ["ada", "grace", "edsger"] {
        one.create(&named(username));
    }
    let first = one.ask("GET", "/users?sort=username&limit=1", "").body;
    let cursor = first["next_cursor"].as_str().unwrap();
    let page = format!("/users?sort=username&limit=1&cursor={cursor}");
    let second = other.ask("GET", &page, "");
    assert_eq!(second.status, 200, "{second:?}");
    assert_eq!(second.body["items"][0]["username"], "edsger");
}

#[test]
fn a_request_that_comes_again_to_another_process_happens_once() {
    let place = Place::new(Engine::Postgres);
    let (one, other) = (serve(&place), serve(&place));
    let body = r#"{"username":"ada"}"#;
    let key = "Idempotency-Key: \"first\"\r\n";
    let created = one.ask_with(key, "POST", "/users", body);
    assert_eq!(created.status, 201, "{created:?}");
    let again = other.ask_with(key, "POST", "/users", body);
    assert_eq!((again.status, &again.body), (201, &created.body));
    assert!(again.head.contains("idempotent-replayed: true"), "{}", again.head);
}

#[test]
fn processes_that_start_at_once_over_an_empty_database_all_serve() {
    let place = Place::new(Engine::Postgres);
    let services: Vec<Process> = thread::scope(|scope| {
        let starts: Vec<_> = (0..4).map(|_| scope.spawn(|| serve(&place))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let paths: Vec<String> =
        services.iter().enumerate().map(|(n, one)| one.create(&named(&format!("u{n}")))).collect();
    for service in services {
        for path in &paths {
            assert_eq!(service.ask("GET", path, "").status, 200);
        }
        service.stop();
    }
}

#[test]
fn hosts_that_are_away_or_say_nothing_keep_nobody_from_the_next() {
    let place = Place::new(Engine::Postgres);
    let url = place.database().unwrap().url();
    let (before, after) = url.split_once('@').unwrap();
    // A listener that accepts connections and never sends a byte.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("{before}@127.0.0.1:1,{address},{after}");
    let words = ["serve", "--listen", "127.0.0.1:0", "--log", "error", "--allow-open"];
    let service = Process::start(roster(place.path(), &words).args(["--database", &url]));
    service.create(&named("ada"));
}

#[test]
fn a_database_is_not_served_without_a_key_unless_a_setting_allows_it() {
    let place = Place::new(Engine::Postgres);
    let url = place.database().unwrap().url();
    let words = ["serve", "--listen", "127.0.0.1:0", "--log", "error", "--database", &url];
    let service = Process::start(&mut roster(place.path(), &words));
    for (method, path) in [("GET", "/users"), ("POST", "/users"), ("GET", "/scim/v2/Users")] {
        assert_eq!(service.ask(method, path, "").status, 401, "{method} {path}");
    }
    assert_eq!(service.ask("GET", "/readyz", "").status, 200);
    service.stop();
    serve(&place).create(&named("ada"));
}

#[test]
fn a_locked_table_makes_the_service_unready_until_it_is_free() {
    let place = Place::new(Engine::Postgres);
    let service = serve(&place);
    let is_ready = |status: u16| {
        let began = Instant::now();
        while service.ask("GET", "/readyz", "").status != status {
            assert!(began.elapsed() < Duration::from_secs(20), "it is not {status} yet");
            thread::sleep(Duration::from_millis(100));
        }
    };
    is_ready(200);
    let database = place.database().unwrap();
    // No request follows. SHARE blocks only writes.
    for lock in ["users IN ACCESS EXCLUSIVE", "events IN SHARE", "group_members IN SHARE"] {
        thread::scope(|scope| {
            let hold = format!("BEGIN; LOCK TABLE {lock} MODE; SELECT pg_sleep(5)");
            let locked = scope.spawn(move || database.sql(&hold));
            is_ready(503);
            locked.join().unwrap();
            is_ready(200);
        });
    }
}

#[test]
fn the_manual_gives_a_restored_log_another_identity() {
    let place = Place::new(Engine::Postgres);
    let service = serve(&place);
    let log = |service: &Process| {
        let head = service.ask("GET", "/users", "").head;
        let position = head.lines().find_map(|line| line.strip_prefix("roster-position: "));
        position.unwrap().split_once('-').unwrap().0.to_owned()
    };
    service.create(r#"{"username":"ada"}"#);
    let before = log(&service);
    service.stop();
    let manual = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scaling.md"));
    let manual = manual.unwrap();
    let blocks = manual.split("```sql\n").skip(1).filter_map(|block| block.split("```").next());
    let statement = blocks.filter(|block| block.contains("log_head")).collect::<String>();
    place.database().unwrap().sql(&statement);
    let service = serve(&place);
    assert_ne!(log(&service), before);
    service.create(r#"{"username":"eve"}"#);
    service.stop();
}
