//! Purging: soon afterwards no file contains data of the purged user, even after a crash or a
//! restart.

use std::{
    collections::BTreeSet,
    fs,
    ops::Range,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use roster_core::{Command, SchemaDraft, Store, json};
use roster_testkit::conformance::Harness;
use rusqlite::Connection;
use tokio::runtime::Runtime;

use super::support::{apply, command, create, delete, patch, purge, restore, settings};
use crate::{
    Settings, Sqlite,
    purge::{mark, sweep},
    settings::DATABASE,
};

/// A pseudo-random generator (SplitMix64), which returns the same numbers in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn of(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }
}

/// A user whose values all contain the mark, in lower or upper case, or the number.
fn person(n: u64, chance: &mut Chance) -> String {
    let (mark, number) = (format!("zq{n:04}w"), format!("99755{n:04}"));
    let padding = match chance.of(0..6) {
        0 => chance.of(4000..15_000),
        1 => chance.of(500..4000),
        _ => chance.of(0..500),
    };
    let words = usize::try_from(padding / 8).unwrap();
    let own = format!("{mark} ").repeat(words);
    format!(
        r#"{{"username":"{mark}","name":"Name {upper}","family_name":"{mark}-{upper}{tail}",
        "emails":[{{"value":"{mark}@{mark}.example"}},{{"value":"{upper}{tail}@x.example"}}],
        "phone_numbers":[{{"value":"+{number}"}},{{"value":"+1{number}{tail}"}}],
        "addresses":[{{"street_address":"{tail} {mark} Street"}}],"external_id":"{upper}",
        "attributes":{{"own":"{own}"}}}}"#,
        upper = mark.to_uppercase(),
        tail = chance.of(0..1_000_000),
    )
}

/// The numbers of the users whose data is in any file.
fn found(directory: &Path) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap().to_ascii_lowercase();
        for start in [&b"zq"[..], b"99755"] {
            for (at, _) in bytes.windows(start.len()).enumerate().filter(|(_, it)| *it == start) {
                let digits = &bytes[at + start.len()..(at + start.len() + 4).min(bytes.len())];
                if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit) {
                    found.insert(std::str::from_utf8(digits).unwrap().parse().unwrap());
                }
            }
        }
    }
    found
}

fn is_swept(directory: &Path) -> bool {
    let connection = Connection::open(directory.join(DATABASE)).unwrap();
    mark::number(&connection, mark::NAME).unwrap().is_none()
}

fn wait_until_swept(directory: &Path) {
    let begin = Instant::now();
    while !is_swept(directory) {
        assert!(begin.elapsed() < Duration::from_mins(1), "it is never swept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Creates many users, changes them and purges some. Returns the numbers of the purged users and of
/// the others.
fn live(store: &Sqlite, chance: &mut Chance) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let runtime = Runtime::new().unwrap();
    let people = 240;
    let (mut at, mut purged) = (0, BTreeSet::new());
    let run = |commands: Vec<Command>| {
        for result in runtime.block_on(store.apply(commands)) {
            result.unwrap();
        }
    };
    run((0..people).map(|n| create(n, &person(n, chance))).collect());
    for round in 0..700 {
        at += 1;
        let n = chance.of(0..people);
        if purged.contains(&n) {
            continue;
        }
        match chance.of(0..8) {
            0 if round > 200 => {
                run(vec![delete(at, n), purge(at, n)]);
                purged.insert(n);
            }
            1 => run(vec![delete(at, n), restore(at, n)]),
            _ => run(vec![patch(at, n, &person(n, chance))]),
        }
    }
    let left = (0..people).filter(|n| !purged.contains(n)).collect();
    (purged, left)
}

fn nothing_is_left(seed: u64, adjust: impl FnOnce(&mut Settings)) {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(directory.path());
    adjust(&mut settings);
    let store = Sqlite::open(settings).unwrap();
    let mut chance = Chance(seed);
    let (purged, left) = live(&store, &mut chance);
    assert!(purged.len() > 20, "{}", purged.len());
    wait_until_swept(directory.path());
    assert_eq!(found(directory.path()), left, "purged: {purged:?}");
    // The pages in the writer's memory must not bring purged data back.
    let runtime = Runtime::new().unwrap();
    for n in &left {
        runtime.block_on(apply(&store, patch(9999, *n, &person(*n, &mut chance)))).unwrap();
    }
    assert_eq!(found(directory.path()), left);
    drop(store);
    assert_eq!(found(directory.path()), left);
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let sound: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn no_file_contains_data_of_a_purged_user() {
    for seed in 0..3 {
        nothing_is_left(seed, |_| {});
    }
}

#[test]
fn no_file_contains_data_of_a_purged_user_under_constant_checkpoints() {
    for seed in 10..12 {
        nothing_is_left(seed, |settings| {
            settings.checkpoint_pages = 20;
            settings.writer_cache_kib = 64;
            settings.sweep_save_pages = 1;
        });
    }
}

#[test]
fn a_sweep_interrupted_by_a_crash_runs_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let store = Sqlite::open(settings(directory.path())).unwrap();
    let runtime = Runtime::new().unwrap();
    let mut chance = Chance(1);
    let people = (0..40).map(|n| create(n, &person(n, &mut chance))).collect();
    assert!(runtime.block_on(store.apply(people)).iter().all(Result::is_ok));
    // A reader with an older snapshot prevents the log from being emptied.
    let reader = Connection::open(directory.path().join(DATABASE)).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
    for n in 0..20 {
        runtime.block_on(store.apply(vec![delete(100, n), purge(100, n)]));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(!is_swept(directory.path()));
    assert_eq!(found(directory.path()).len(), 40, "the log holds them all");
    runtime.block_on(apply(&store, create(90, r#"{"username":"writes go on"}"#))).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for name in [DATABASE, "roster.db-wal"] {
        fs::copy(directory.path().join(name), crashed.path().join(name)).unwrap();
    }
    let left: BTreeSet<u64> = (20..40).collect();
    reader.execute_batch("COMMIT").unwrap();
    wait_until_swept(directory.path());
    assert_eq!(found(directory.path()), left);
    let _store = Sqlite::open(settings(crashed.path())).unwrap();
    wait_until_swept(crashed.path());
    assert_eq!(found(crashed.path()), left);
}

#[test]
fn a_close_does_not_wait_for_a_sweep_and_the_next_start_sweeps() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let store = Sqlite::open(settings(directory.path())).unwrap();
    let mut chance = Chance(2);
    let people = (0..40).map(|n| create(n, &person(n, &mut chance))).collect();
    assert!(runtime.block_on(store.apply(people)).iter().all(Result::is_ok));
    let reader = Connection::open(directory.path().join(DATABASE)).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
    runtime.block_on(store.apply(vec![delete(100, 7), purge(100, 7)]));
    drop(store);
    drop(reader);
    assert!(!is_swept(directory.path()));
    let _store = Sqlite::open(settings(directory.path())).unwrap();
    wait_until_swept(directory.path());
    assert!(!found(directory.path()).contains(&7));
}

/// A closed store in which one user was purged and the files are not swept yet.
fn purged_and_closed(directory: &Path) {
    let runtime = Runtime::new().unwrap();
    let store = Sqlite::open(settings(directory)).unwrap();
    let mut chance = Chance(3);
    let people = (0..40).map(|n| create(n, &person(n, &mut chance))).collect();
    assert!(runtime.block_on(store.apply(people)).iter().all(Result::is_ok));
    let reader = Connection::open(directory.join(DATABASE)).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
    runtime.block_on(store.apply(vec![delete(100, 7), purge(100, 7)]));
    drop(store);
    drop(reader);
    assert!(!is_swept(directory));
}

/// Writes a byte into the gap of the first leaf page of a table. Returns the offset of the byte.
fn soil(database: &Path) -> u64 {
    let file = fs::File::options().read(true).write(true).open(database).unwrap();
    let mut page = [0; 4096];
    for number in 1.. {
        file.read_exact_at(&mut page, number * 4096).unwrap();
        let pointers = 8 + 2 * u64::from(u16::from_be_bytes([page[3], page[4]]));
        let content = u64::from(u16::from_be_bytes([page[5], page[6]]));
        if page[0] == 13 && pointers + 8 < content {
            let place = number * 4096 + content - 1;
            file.write_all_at(b"!", place).unwrap();
            return place;
        }
    }
    unreachable!("there is one")
}

fn byte_at(database: &Path, place: u64) -> u8 {
    let mut byte = [0];
    fs::File::open(database).unwrap().read_exact_at(&mut byte, place).unwrap();
    byte[0]
}

#[test]
fn a_sweep_continues_after_a_restart_from_its_stored_page() {
    for (page, expected) in [(1, 0), (1_000_000, b'!')] {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join(DATABASE);
        purged_and_closed(directory.path());
        let place = {
            let connection = Connection::open(&database).unwrap();
            connection
                .execute_batch(&format!(
                    "INSERT INTO settings SELECT 0, 'sweep_purged', value FROM settings \
                     WHERE name = 'purged'; \
                     INSERT INTO settings VALUES (0, 'sweep_page', {page}); \
                     PRAGMA wal_checkpoint(TRUNCATE)"
                ))
                .unwrap();
            soil(&database)
        };
        let store = Sqlite::open(settings(directory.path())).unwrap();
        wait_until_swept(directory.path());
        drop(store);
        assert_eq!(byte_at(&database, place), expected, "from page {page}");
        let left = Connection::open(&database).unwrap().query_row(
            "SELECT count(*) FROM settings WHERE name LIKE 'sweep%'",
            [],
            |row| row.get::<_, i64>(0),
        );
        assert_eq!(left.unwrap(), 0, "a pass that is over leaves no note");
    }
}

#[test]
fn the_pause_before_a_sweep_is_proportional_to_the_last_sweep() {
    let mut pace = sweep::Pace::default();
    assert!(pace.wait().is_zero(), "the first one begins at once");
    pace.passed(Duration::from_mins(1));
    let wait = pace.wait();
    assert!((8..=9).contains(&(wait.as_secs().div_ceil(60))), "{wait:?}");
}

#[test]
fn a_user_purged_while_an_index_is_dropped_is_not_left_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = Sqlite::open(settings(directory.path())).unwrap();
    let runtime = Runtime::new().unwrap();
    let act = |command: Command| runtime.block_on(apply(&store, command)).unwrap();
    for n in 1..=60 {
        let user = format!(r#"{{"username":"u{n}","attributes":{{"badge":"zq{n:04}w"}}}}"#);
        act(create(n, &user));
    }
    let build = || runtime.block_on(Harness::new(Arc::new(store.clone())).build_indexes(99));
    let declare = |n, text: &str| {
        act(command(n, SchemaDraft::parse(json::read(text.as_bytes()).unwrap())));
    };
    declare(70, r#"{"attributes":[{"name":"badge","type":"string","indexed":true}]}"#);
    build();
    declare(71, r#"{"attributes":[]}"#);
    act(delete(72, 7));
    act(purge(73, 7));
    wait_until_swept(directory.path());
    assert!(found(directory.path()).contains(&7), "it is still in the dropped index");
    build();
    wait_until_swept(directory.path());
    assert!(!found(directory.path()).contains(&7));
    assert!(found(directory.path()).contains(&8));
}
