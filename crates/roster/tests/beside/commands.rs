//! The output of the commands, their errors, and their exit statuses.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use roster_testkit::process::Answer;
use serde_json::Value;
use tempfile::TempDir;

use super::process::{roster, serve};

/// A place with a data directory of two users, served once and stopped.
fn served() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let service = serve(place.path(), "data");
    service.create(r#"{"email":"ada@example.com","name":"Ada Lovelace"}"#);
    service.create(r#"{"email":"grace@example.com","name":"Grace Hopper"}"#);
    service.stop();
    place
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_backup_of_a_running_service_restores_to_the_same_users() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let service = serve(place, "data");
    let ada = service.create(r#"{"email":"ada@example.com","name":"Ada Lovelace"}"#);
    let ada = service.get(&ada).body;
    let told = roster(place, "backup --data data --json today.backup").success();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["users"], &told["position"]), (&1.into(), &1.into()));
    assert_eq!(told["bytes"], fs::metadata(place.join("today.backup")).unwrap().len());
    service.create(r#"{"email":"grace@example.com"}"#);

    let told = roster(place, "restore --data again --json today.backup").success();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["users"], 1);
    assert_ne!(told["new_log_id"], told["log_id"]);
    let restored = serve(place, "again");
    let Answer { head, body: users, .. } = restored.get("/users");
    assert_eq!(users["items"], Value::Array(vec![ada]));
    // Its first event says that the log continues that of the backup.
    let position = format!("{}-2", told["new_log_id"].as_str().unwrap());
    assert!(head.to_lowercase().contains(&format!("roster-position: {position}")), "{head}");
    restored.create(r#"{"email":"grace@example.com"}"#);
    restored.stop();
    service.stop();
    let mode = |name: &str| fs::metadata(place.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("again"), mode("again/roster.db")), (0o700, 0o600));
}

#[test]
fn the_webhooks_of_a_restored_store_are_paused_by_events() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let service = serve(place, "data");
    let body = r#"{"name":"search","url":"https://search.example.com/"}"#;
    assert_eq!(service.ask("POST", "/webhooks", body).status, 201);
    service.stop();
    roster(place, "backup --data data today.backup").success();
    roster(place, "restore today.backup --data again").success();
    let told = roster(place, "check --data again").success();
    assert!(told.ends_with("all is well\n"), "{told}");
    let restored = serve(place, "again");
    let webhooks = restored.get("/webhooks").body;
    let webhook = &webhooks["items"][0];
    assert_eq!((&webhook["status"], &webhook["version"]), (&"paused".into(), &2.into()));
    let events = restored.get("/events?type=webhook.updated").body;
    assert_eq!(events["items"][0]["data"]["webhook"]["status"], "paused", "{events}");
    restored.stop();
}

#[test]
fn each_command_tells_in_a_line_what_it_did() {
    let place = served();
    let place = place.path();
    let told = roster(place, "backup --data data today.backup").success();
    let bytes = fs::metadata(place.join("today.backup")).unwrap().len();
    assert!(told.starts_with("today.backup: 2 users and 0 deleted users, log "), "{told}");
    assert!(told.ends_with(&format!(", {bytes} bytes\n")), "{told}");
    let told = roster(place, "restore today.backup --data again").success();
    assert!(told.contains("again: 2 users and 0 deleted users, log "), "{told}");
    assert!(told.contains("; the new log id is "), "{told}");
    assert_eq!(told.lines().count(), 1);
}

#[test]
fn a_sound_store_and_its_backup_are_told_line_by_line() {
    let place = served();
    let place = place.path();
    roster(place, "backup --data data today.backup").success();
    for words in ["check --data data", "check --backup today.backup"] {
        let told = roster(place, words).success();
        assert!(told.ends_with("all is well\n"), "{told}");
        for name in ["pages", "counters", "users", "deleted users", "events"] {
            assert!(told.lines().any(|line| line.starts_with(name) && line.ends_with("ok")));
        }
        let users = told.lines().find(|line| line.starts_with("users")).unwrap();
        assert_eq!(users.split_whitespace().nth(1), Some("2"));
    }
    assert!(!place.join("roster-data").exists(), "looking makes no directory");
}

#[test]
fn damage_is_named_without_the_person_and_ends_with_1() {
    let place = served();
    let place = place.path();
    let path = place.join("data/roster.db");
    let mut bytes = fs::read(&path).unwrap();
    // A page contains her record or that of her event; the first match is changed.
    let at = bytes.windows(12).position(|window| window == b"Ada Lovelace").unwrap();
    bytes[at] = b'I';
    fs::write(&path, bytes).unwrap();
    let outcome = roster(place, "check --data data");
    assert_eq!((outcome.status, outcome.err.as_str()), (Some(1), ""));
    assert!(outcome.out.contains("fault"), "{}", outcome.out);
    assert!(!outcome.out.contains("Lovelace"), "{}", outcome.out);
    assert!(!outcome.out.contains("all is well"), "{}", outcome.out);
}

#[test]
fn a_damaged_backup_is_refused_and_nothing_is_made() {
    let place = served();
    let place = place.path();
    roster(place, "backup --data data today.backup").success();
    let mut bytes = fs::read(place.join("today.backup")).unwrap();
    bytes[5000] ^= 1;
    fs::write(place.join("damaged"), &bytes).unwrap();
    for words in ["restore damaged --data again", "check --backup damaged"] {
        let said = roster(place, words).failure(1);
        let expected = "error: the backup damaged is damaged: its bytes are not those";
        assert!(said.starts_with(expected), "{said}");
    }
    fs::write(place.join("short"), &bytes[..bytes.len() - 1]).unwrap();
    let said = roster(place, "restore short --data again").failure(1);
    assert!(said.contains("short is not a backup made by `roster backup`, or its end"), "{said}");
    assert!(!place.join("again").exists());
}

#[test]
fn what_stands_in_the_way_is_named_and_left_alone() {
    let place = served();
    let place = place.path();
    roster(place, "backup --data data today.backup").success();
    let before = fs::read(place.join("today.backup")).unwrap();
    let said = roster(place, "backup --data data today.backup").failure(1);
    assert!(said.contains("today.backup is there already"), "{said}");
    assert_eq!(fs::read(place.join("today.backup")).unwrap(), before);
    let said = roster(place, "restore today.backup --data data").failure(1);
    assert!(said.contains("holds a database already: name another directory"), "{said}");
    let said = roster(place, "backup --data none b").failure(1);
    assert_eq!(said, "error: there is no Roster database in none\n");
    let said = roster(place, "check --data none").failure(1);
    assert_eq!(said, "error: there is no Roster database in none\n");
    let said = roster(place, "backup --data data none/b").failure(1);
    assert!(said.contains("none") && said.contains("No such file"), "{said}");
    let said = roster(place, "restore none --data again").failure(1);
    assert!(said.contains("none cannot be used: No such file"), "{said}");
    let said = roster(place, "check --backup data").failure(1);
    assert!(said.contains("data is not a backup made by `roster backup`"), "{said}");
    let said = roster(place, "backup --data data -").failure(2);
    assert!(said.contains("cannot go to stdout"), "{said}");
    assert_eq!(names(place), ["data", "today.backup"]);
}

#[test]
fn a_restore_is_refused_while_the_directory_is_served() {
    let place = served();
    let place = place.path();
    roster(place, "backup --data data today.backup").success();
    fs::create_dir(place.join("again")).unwrap();
    let held = fs::File::create(place.join("again/roster.lock")).unwrap();
    held.lock().unwrap();
    let said = roster(place, "restore today.backup --data again").failure(1);
    assert!(said.contains("another process holds"), "{said}");
    assert_eq!(names(&place.join("again")), ["roster.lock"]);
}

#[test]
fn the_command_line_is_judged_as_that_of_the_service() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    for (words, status) in [
        ("backup", 2),
        ("backup --fast b", 2),
        ("restore", 2),
        ("check extra", 2),
        ("check --backup b --data d", 2),
        ("backup --config /nonexistent.toml b", 78),
        ("check --config /nonexistent.toml", 78),
    ] {
        roster(place, words).failure(status);
    }
    for command in ["backup", "restore", "check"] {
        let help = roster(place, &format!("{command} --help")).success();
        assert!(help.contains("--data") && help.contains("ROSTER_DATA"), "{help}");
        assert!(roster(place, "--help").success().contains(&format!("  {command}")));
    }
    fs::write(place.join("roster.toml"), "data = \"elsewhere\"\n").unwrap();
    let said = roster(place, "backup --config roster.toml b").failure(1);
    assert_eq!(said, "error: there is no Roster database in elsewhere\n");
    assert_eq!(names(place), ["roster.toml"]);
}

#[test]
fn the_commands_of_the_manual_run() {
    let place = served();
    let place = place.path();
    fs::rename(place.join("data"), place.join("roster")).unwrap();
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let manual = fs::read_to_string(manual).unwrap();
    let blocks = manual.split("```").skip(1).step_by(2);
    let lines = blocks.filter_map(|block| block.strip_prefix("sh\n")).flat_map(str::lines);
    let mut run = 0;
    for line in lines {
        let here = line.replace("/var/lib/", "").replace("/backups/", "");
        // The manual also shows commands of other programs.
        let Some(words) = here.strip_prefix("roster ") else { continue };
        // These start a service, or ask the one of the package.
        if !["serve ", "login ", "users ", "health "].iter().any(|one| words.starts_with(one)) {
            roster(place, words).success();
            run += 1;
        }
    }
    assert_eq!(run, 4, "backup, restore and both checks are shown");
}

/// The permission bits of every file in a directory, by name.
fn modes(path: &Path) -> Vec<(String, u32)> {
    let mode = |name: String| {
        let mode = fs::metadata(path.join(&name)).unwrap().permissions().mode() & 0o777;
        (name, mode)
    };
    names(path).into_iter().map(mode).collect()
}

#[test]
fn a_store_that_keys_create_begins_is_sound_and_for_its_owner_alone() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    // The file exists already and is readable by others.
    fs::create_dir(place.join("data")).unwrap();
    let made = roster(place, "keys create first --scope all --data data");
    assert_eq!(made.status, Some(0), "{made:?}");
    for (name, mode) in modes(&place.join("data")) {
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
    let told = roster(place, "check --data data").success();
    assert!(told.ends_with("all is well\n"), "{told}");
    roster(place, "backup --data data today.backup").success();
    roster(place, "restore today.backup --data again").success();
    for path in [place.join("data"), place.join("again")] {
        for (name, mode) in modes(&path) {
            assert_eq!(mode & 0o077, 0, "{}: {name}: {mode:o}", path.display());
        }
    }
    let mode_of = |name: &str| fs::metadata(place.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode_of("today.backup"), 0o600);
}

#[test]
fn a_start_takes_the_permissions_of_others_from_the_files_of_the_store() {
    let place = served();
    let data = place.path().join("data");
    for name in names(&data) {
        fs::set_permissions(data.join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let service = serve(place.path(), "data");
    service.create(r#"{"email":"alan@example.com"}"#);
    let names: Vec<String> = modes(&data)
        .into_iter()
        .map(|(name, mode)| {
            assert_eq!(mode, 0o600, "{name}: {mode:o}");
            name
        })
        .collect();
    assert_eq!(names, ["roster.db", "roster.db-shm", "roster.db-wal", "roster.lock"]);
    service.stop();
}
