//! `roster check` over a database.

use std::process::Output;

use roster_testkit::{
    postgres::{Cluster, SERVICE_ROLE},
    process::{Engine, Place, Process},
};

use super::ask::{failure, roster};

/// The output of the command, and whether it finds no fault.
fn check(place: &Place, url: &str) -> (String, bool) {
    let output = roster(place.path(), &["check", "--database", url]).output().unwrap();
    let Output { status, stdout, stderr } = output;
    assert_eq!(String::from_utf8(stderr).unwrap(), "");
    (String::from_utf8(stdout).unwrap(), status.success())
}

#[test]
fn a_database_is_checked_while_it_is_served_and_faults_are_named() {
    let place = Place::new(Engine::Postgres);
    let (database, url) = (place.database().unwrap(), place.database().unwrap().url());
    let service = Process::start(&mut place.serve(env!("CARGO_BIN_EXE_roster")));
    for n in 0..30 {
        service.create(&format!(r#"{{"username":"u{n}","email":"u{n}@x.example"}}"#));
    }
    let (told, is_sound) = check(&place, &url);
    assert!(is_sound && told.ends_with("all is well\n"), "{told}");
    assert!(told.contains("users                        30  ok\n"), "{told}");

    database.sql("UPDATE tenants SET active = 31");
    let (told, is_sound) = check(&place, &url);
    assert!(!is_sound && told.ends_with("1 fault was found\n"), "{told}");
    assert!(told.contains("  tenants.active of 0: is 31, but there are 30\n"), "{told}");
    service.stop();
}

#[test]
fn the_role_of_the_service_may_check() {
    let place = Place::new(Engine::Postgres);
    let url = place.database().unwrap().url();
    let service = Cluster::shared().as_service(&url);
    let mut prepare = roster(place.path(), &["prepare", "--database", &url]);
    assert!(prepare.args(["--service-role", SERVICE_ROLE]).output().unwrap().status.success());
    let (told, is_sound) = check(&place, &service);
    assert!(is_sound, "{told}");
}

#[test]
fn a_database_without_a_store_is_told() {
    let place = Place::new(Engine::Postgres);
    let url = place.database().unwrap().url();
    let said = failure(roster(place.path(), &["check", "--database", &url]), 1);
    assert!(said.contains("the database holds no store"), "{said}");
}

/// A command about keys that creates none creates no store either, such as one with a wrong URL.
#[test]
fn reading_and_revoking_keys_creates_no_store() {
    let place = Place::new(Engine::Postgres);
    let url = place.database().unwrap().url();
    let dry = ["keys", "create", "x", "--scope", "all", "--tenant", "acme", "--dry-run"];
    for command in [&["keys", "list"][..], &["keys", "revoke", "AAAAAAAAAA", "--yes"], &dry] {
        let said = failure(roster(place.path(), &[command, &["--database", &url]].concat()), 1);
        assert!(said.contains("the database holds no store"), "{said}");
    }
    let said = failure(roster(place.path(), &["check", "--database", &url]), 1);
    assert!(said.contains("the database holds no store"), "{said}");
}

#[test]
fn a_directory_that_is_named_is_checked_though_a_database_is_set() {
    let place = Place::new(Engine::Postgres);
    let url = place.database().unwrap().url();
    let mut command = roster(place.path(), &["check", "--data", "none"]);
    command.env("ROSTER_DATABASE", url);
    let said = failure(command, 1);
    assert!(said.contains("there is no Roster database in none"), "{said}");
}
