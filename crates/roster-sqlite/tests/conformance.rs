//! The SQLite engine passes every case that the oracle passes, with the default settings and with
//! minimal memory.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use std::sync::Arc;

use roster_core::{Rules, TenantId};
use roster_sqlite::{Settings, Sqlite};
use roster_testkit::{conformance, conformance::Subject};
use rusqlite::Connection;

fn open(rules: Rules) -> Subject {
    subject(rules, |_| {})
}

/// No byte cache, few pages in memory, one reader, a checkpoint after every commit, rows of indexes
/// of a few users at a time.
fn open_cramped(rules: Rules) -> Subject {
    subject(rules, |settings| {
        settings.cache_entries = 0;
        settings.readers = 1;
        settings.reader_cache_kib = 64;
        settings.writer_cache_kib = 64;
        settings.checkpoint_pages = 1;
        settings.index_rows_bytes_max = 10_000;
    })
}

fn subject(rules: Rules, adjust: impl FnOnce(&mut Settings)) -> Subject {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut settings = Settings::new(directory.path().to_owned(), rules);
    adjust(&mut settings);
    let store = Sqlite::open(settings).expect("a new store opens");
    Subject { store: Arc::new(store), keep: Box::new(directory) }
}

/// Another tenant than the default one, in a store whose default tenant has users with the same ids
/// and names.
fn open_tenant(rules: Rules) -> Subject {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let settings = Settings::new(directory.path().to_owned(), rules);
    let store = Sqlite::open(settings).expect("a new store opens");
    let database = Connection::open(directory.path().join("roster.db")).expect("it is there");
    database
        .execute_batch(
            "INSERT INTO tenants VALUES (7, NULL, 1, 0, NULL, NULL, NULL, 0, 0, NULL, 0, 0, 0, 0)",
        )
        .expect("a tenant is created");
    let tenant = TenantId::new(7).expect("a tenant may have it");
    let store = store.of(tenant).expect("its schema is read");
    Subject { store: Arc::new(store), keep: Box::new(directory) }
}

conformance!(sqlite, open);
conformance!(sqlite_tenant, open_tenant);
conformance!(sqlite_cramped, open_cramped);
