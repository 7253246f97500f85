//! Backups of a service in another process, during writes from several clients.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use roster_core::{Event, EventKind, EventsQuery, Rules, Store};
use roster_sqlite::{Settings, Sqlite};
use roster_testkit::{process::ask, replay::replay};

use super::process::{roster, serve};

/// Creates, changes and deletes users until it is stopped.
fn write(address: &str, caller: usize, done: &AtomicBool) {
    for n in 0.. {
        if done.load(Ordering::Relaxed) {
            return;
        }
        let user = format!(r#"{{"username":"u{caller}-{n}","name":"Ada Lovelace"}}"#);
        let created = ask(address, "POST", "/users", &user);
        assert_eq!(created.status, 201, "{created:?}");
        let path = format!("/users/{}", created.body["id"].as_str().unwrap());
        let patched = ask(address, "PATCH", &path, r#"{"title":"Countess"}"#);
        assert_eq!(patched.status, 200, "{patched:?}");
        if n % 3 == 0 {
            assert_eq!(ask(address, "DELETE", &path, "").status, 204);
        }
    }
}

fn events(runtime: &tokio::runtime::Runtime, store: &Sqlite) -> Vec<(i64, Event)> {
    let mut all: Vec<(i64, Event)> = Vec::new();
    loop {
        let after = all.last().map_or(0, |(position, _)| *position);
        let query = EventsQuery::after(after, 1000);
        let page = runtime.block_on(store.events(query)).unwrap();
        if page.events.is_empty() {
            return all;
        }
        all.extend(page.events);
    }
}

fn open(path: &Path) -> Sqlite {
    Sqlite::open(Settings::new(path.to_owned(), Rules::default())).unwrap()
}

#[test]
fn backups_under_writes_restore_to_prefixes_of_the_truth() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let service = serve(place, "data");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for caller in 0..4 {
            let (address, done) = (service.address(), &done);
            scope.spawn(move || write(address, caller, done));
        }
        for n in 0..3 {
            thread::sleep(Duration::from_millis(150));
            roster(place, &format!("backup --data data b{n}")).success();
            roster(place, "check --data data").success();
        }
        done.store(true, Ordering::Relaxed);
    });
    service.stop();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let truth = events(&runtime, &open(&place.join("data")));
    let mut before = 0;
    for n in 0..3 {
        roster(place, &format!("restore b{n} --data r{n}")).success();
        roster(place, &format!("check --data r{n}")).success();
        let store = open(&place.join(format!("r{n}")));
        let mut log = events(&runtime, &store);
        let (_, forked) = log.pop().unwrap();
        assert_eq!(forked.kind, EventKind::LogForked);
        assert!(log.len() > before && log.len() < truth.len(), "taken while it was written");
        assert_eq!(log, truth[..log.len()]);
        before = log.len();
        let users = replay(log.into_iter().map(|(_, event)| event));
        let head = runtime.block_on(store.head()).unwrap();
        assert_eq!(i64::try_from(users.len()).unwrap(), head.live());
        for (id, user) in users {
            assert_eq!(runtime.block_on(store.get(id)).unwrap(), Some(user));
        }
    }
}
