//! Keys with the built binary: created offline, created at the first start, shared by processes.
//!
//! Every process that a test starts is stopped by that test.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod proxies;
mod refusals;
mod streams;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use roster_testkit::{
    over_each_engine,
    process::{Engine, Place, Process},
};

const BINARY: &str = env!("CARGO_BIN_EXE_roster");

/// `roster keys` on the store of a place.
fn keys(place: &Place, arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.arg("keys").args(arguments).env_clear().current_dir(place.path());
    // Nobody is logged in there.
    command.env("HOME", place.path());
    if let Some(database) = place.database() {
        command.args(["--database", &database.url()]);
    }
    command.output().unwrap()
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().trim_end().to_owned()
}

fn refused(output: &Output) -> String {
    refused_with(1, output)
}

fn refused_with(status: i32, output: &Output) -> String {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn users(service: &Process, key: &str) -> u16 {
    let line = format!("Authorization: Bearer {key}\r\n");
    service.ask_with(&line, "GET", "/users", "").status
}

fn id(key: &str) -> &str {
    key.split('_').nth(1).unwrap()
}

over_each_engine! {
    keys_of_tenants_are_listed_and_revoked_offline,
    a_key_of_a_tenant_is_created_offline,
    a_key_that_is_revoked_twice_is_logged_once,
    keys_are_made_listed_rotated_and_revoked_offline,
    a_start_that_finds_no_key_makes_the_first_one,
    a_service_that_requires_a_key_starts_without_one,
}

fn keys_are_made_listed_rotated_and_revoked_offline(engine: Engine) {
    let place = Place::new(engine);
    refused_with(2, &keys(&place, &["create", "x", "--scope", "root"]));
    out(&keys(&place, &["create", "x", "--scope", "scim", "--dry-run"]));
    let files = place.path().read_dir().unwrap().count();
    assert_eq!(files, 0, "a key that is refused creates no data directory");
    let one = out(&keys(&place, &["create", "Billing", "--scope", "users:read,events:read"]));
    let all = out(&keys(
        &place,
        &["create", "admin", "--scope", "all", "--days", "never", "--all-tenants"],
    ));
    let listed = out(&keys(&place, &["list"]));
    assert!(listed.contains("Billing  active  users:read,events:read  "), "{listed}");
    assert!(listed.lines().any(|line| line.ends_with(" all")), "{listed}");
    assert!(!listed.contains(&one) && listed.lines().count() == 3, "{listed}");
    let new = out(&keys(&place, &["rotate", id(&one), "--overlap", "0"]));
    assert_eq!(id(&new), id(&one));
    assert!(refused_with(2, &keys(&place, &["revoke", id(&all)])).contains("Revoke "));
    out(&keys(&place, &["revoke", id(&all), "--yes"]));

    let service = Process::start(&mut place.serve(BINARY));
    assert_eq!([&new, &one, &all].map(|key| users(&service, key)), [200, 401, 401]);
    assert_eq!(service.ask("GET", "/users", "").status, 401);
    service.stop();

    for (status, arguments, words) in [
        (2, vec!["create", "x", "--scope", "root"], "[possible values: all, users:read, "),
        (2, vec!["create", "", "--scope", "scim"], "say what the key is for"),
        (1, vec!["create", "a\u{7}", "--scope", "scim"], "the key is not valid: "),
        (2, vec!["create", "x", "--scope", "scim", "--days", "0"], "not a number of days"),
        (6, vec!["rotate", id(&all)], "is revoked"),
        (5, vec!["revoke", "3hGk9PzQ7a"], "no key has the id or the name 3hGk9PzQ7a"),
        (5, vec!["revoke", "x"], "no key has the id or the name x"),
    ] {
        let said = refused_with(status, &keys(&place, &arguments));
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

fn keys_of_tenants_are_listed_and_revoked_offline(engine: Engine) {
    let place = Place::new(engine);
    let operator = out(&keys(&place, &["create", "op", "--scope", "all", "--all-tenants"]));
    let service = Process::start(&mut place.serve(BINARY));
    let line = format!("Authorization: Bearer {operator}\r\n");
    let post = |target: &str, body: &str| {
        let reply = service.ask_with(&line, "POST", target, body);
        assert_eq!(reply.status, 201, "{target}");
    };
    post("/tenants", r#"{"name":"acme"}"#);
    post("/tenants/acme/keys", r#"{"name":"Okta of Acme","scopes":["scim"]}"#);
    service.stop();
    let listed = out(&keys(&place, &["list"]));
    let of_acme = listed.lines().find(|line| line.ends_with(" acme")).unwrap();
    assert!(of_acme.contains("  Okta of Acme  active  scim  "), "{listed}");
    let (id, _) = of_acme.split_once(' ').unwrap();
    out(&keys(&place, &["rotate", id]));
    assert!(out(&keys(&place, &["revoke", "Okta of Acme", "-y"])).ends_with("is revoked"));
    let listed = out(&keys(&place, &["list", "--tenant", "acme"]));
    assert!(listed.contains(&format!("{id}  Okta of Acme  revoked  ")), "{listed}");
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

fn a_key_of_a_tenant_is_created_offline(engine: Engine) {
    let place = Place::new(engine);
    let create = |tenant| ["create", "scim of acme", "--scope", "scim", "--tenant", tenant];
    if place.database().is_none() {
        assert!(refused(&keys(&place, &create("acme"))).contains("there is no Roster database"));
    }
    let operator = out(&keys(&place, &["create", "op", "--scope", "all", "--all-tenants"]));
    let service = Process::start(&mut place.serve(BINARY));
    let line = format!("Authorization: Bearer {operator}\r\n");
    let send = |method: &str, target: &str, body: &str| {
        service.ask_with(&line, method, target, body).status
    };
    for name in ["acme", "gone"] {
        assert_eq!(send("POST", "/tenants", &format!(r#"{{"name":"{name}"}}"#)), 201);
    }
    assert_eq!(send("DELETE", "/tenants/gone", ""), 204);
    service.stop();
    for name in ["nobody", "Acme", ".."] {
        let said = refused(&keys(&place, &create(name)));
        assert!(said.contains(&format!("there is no tenant {name:?}")), "{said}");
    }
    let said = refused(&keys(&place, &create("gone")));
    assert!(said.contains("the tenant \"gone\" is deleted; restore it first"), "{said}");
    let key = out(&keys(&place, &create("acme")));
    let listed = out(&keys(&place, &["list"]));
    assert!(listed.lines().any(|line| line.ends_with(" acme")), "{listed}");
    let both = keys(&place, &[&create("acme")[..], &["--all-tenants"]].concat());
    assert!(!both.status.success());
    let service = Process::start(&mut place.serve(BINARY));
    let line = format!("Authorization: Bearer {key}\r\n");
    let status = |target: &str| service.ask_with(&line, "GET", target, "").status;
    assert_eq!(status("/tenants/acme/scim/v2/Users"), 200);
    assert_eq!(status("/scim/v2/Users"), 403);
}

fn a_key_that_is_revoked_twice_is_logged_once(engine: Engine) {
    let place = Place::new(engine);
    let one = out(&keys(&place, &["create", "one", "--scope", "scim"]));
    let two = out(&keys(&place, &["create", "two", "--scope", "scim"]));
    let admin = out(&keys(&place, &["create", "admin", "--scope", "all"]));
    let mut service = Process::start(place.serve_telling(BINARY, "info").stderr(Stdio::piped()));
    let line = format!("Authorization: Bearer {admin}\r\n");
    for _ in 0..2 {
        let reply = service.ask_with(&line, "DELETE", &format!("/keys/{}", id(&one)), "");
        assert_eq!(reply.status, 204);
        // The service tells two revocations apart by their time in milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    service.signal("TERM");
    let (_, log) = service.end();
    assert_eq!(log.matches("a key was revoked").count(), 1, "{log}");
    assert!(out(&keys(&place, &["revoke", id(&two), "--yes"])).ends_with("(two) is revoked"));
    assert!(
        out(&keys(&place, &["revoke", id(&two), "--yes"])).ends_with("(two) was revoked before")
    );
}

fn a_service_that_requires_a_key_starts_without_one(engine: Engine) {
    let place = Place::new(engine);
    let start = || {
        let flags = ["--require-key", "--base-url", "https://directory.example.com"];
        Process::start(place.serve(BINARY).args(flags))
    };
    let service = start();
    assert!(service.banner().contains("\nNo one: no key exists"), "{}", service.banner());
    service.ask("GET", "/users", "").must_be(401, "unauthenticated");
    let key = r#"{"name":"one","scopes":["scim"]}"#;
    service.ask("POST", "/keys", key).must_be(401, "unauthenticated");
    for open in ["/", "/docs", "/livez", "/readyz"] {
        assert_eq!(service.ask("GET", open, "").status, 200, "{open}");
    }
    service.stop();
    let key = out(&keys(&place, &["create", "admin", "--scope", "all"]));
    let service = start();
    assert!(service.banner().contains("\nCallers with a key, "), "{}", service.banner());
    assert_eq!(users(&service, &key), 200);
    service.ask("GET", "/users", "").must_be(401, "unauthenticated");
    service.stop();
}

fn a_start_that_finds_no_key_makes_the_first_one(engine: Engine) {
    let place = Place::new(engine);
    let file = place.path().join("first-key");
    let start = || Process::start(place.serve(BINARY).arg("--first-key-file").arg(&file));
    let service = start();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let key = fs::read_to_string(&file).unwrap();
    assert_eq!(users(&service, key.trim_end()), 200);
    assert_eq!(service.ask("GET", "/users", "").status, 401);
    service.stop();
    // The next start finds the key and creates none.
    let service = start();
    assert_eq!(users(&service, key.trim_end()), 200);
    assert_eq!(fs::read_to_string(&file).unwrap(), key);
    service.stop();
}

#[test]
fn a_key_revoked_through_one_process_opens_no_other_a_second_later() {
    let place = Place::new(Engine::Postgres);
    let admin = out(&keys(&place, &["create", "admin", "--scope", "all"]));
    let key = out(&keys(&place, &["create", "one", "--scope", "users:read"]));
    let services = [(); 2].map(|()| Process::start(&mut place.serve(BINARY)));
    let [one, other] = &services;
    assert_eq!((users(one, &key), users(other, &key)), (200, 200));
    let line = format!("Authorization: Bearer {admin}\r\n");
    let revoked = one.ask_with(&line, "DELETE", &format!("/keys/{}", id(&key)), "");
    let answered = Instant::now();
    assert_eq!(revoked.status, 204);
    assert_eq!(users(one, &key), 401, "at once where it was revoked");
    loop {
        let asked = Instant::now();
        match users(other, &key) {
            401 => break,
            200 => assert!(asked.duration_since(answered) < Duration::from_secs(1)),
            status => panic!("{status}"),
        }
        sleep(Duration::from_millis(20));
    }
    for service in services {
        service.stop();
    }
}

#[test]
fn a_served_directory_says_where_to_ask_for_keys() {
    let place = Place::new(Engine::Sqlite);
    let one = out(&keys(&place, &["create", "one", "--scope", "all"]));
    let service = Process::start(&mut place.serve(BINARY));
    for arguments in
        [&["create", "x", "--scope", "scim"][..], &["rotate", id(&one)], &["revoke", "one", "-y"]]
    {
        let said = refused(&keys(&place, arguments));
        assert!(said.contains("roster.lock") && said.contains("`roster login URL`"), "{said}");
    }
    service.stop();
}

#[test]
fn the_keys_of_a_served_directory_can_be_listed() {
    let place = Place::new(Engine::Sqlite);
    let one = out(&keys(&place, &["create", "one", "--scope", "all"]));
    let service = Process::start(&mut place.serve(BINARY));
    let line = format!("Authorization: Bearer {one}\r\n");
    let two = r#"{"name":"two","scopes":["scim"]}"#;
    assert_eq!(service.ask_with(&line, "POST", "/keys", two).status, 201);
    let listed = out(&keys(&place, &["list"]));
    assert!(listed.lines().count() == 3 && listed.contains("two   active  scim  "), "{listed}");
    service.stop();
}

#[test]
fn a_first_key_that_has_no_place_closes_nothing() {
    let place = Place::new(Engine::Sqlite);
    let file = place.path().join("first-key");
    fs::write(&file, "mine").unwrap();
    let start = place.serve(BINARY).arg("--first-key-file").arg(&file).output().unwrap();
    let said = refused(&start);
    assert!(said.contains("for the first key cannot be created"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let service = Process::start(&mut place.serve(BINARY));
    assert_eq!(service.ask("GET", "/users", "").status, 200, "still open");
    service.stop();
}
