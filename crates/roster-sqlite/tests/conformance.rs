//! The SQLite engine passes every case that the oracle passes, with the default settings and with
//! minimal memory.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use std::sync::Arc;

use roster_core::Rules;
use roster_sqlite::{Settings, Sqlite};
use roster_testkit::{conformance, conformance::Subject};

fn open(rules: Rules) -> Subject {
    subject(rules, |_| {})
}

/// No byte cache, few pages in memory, one reader, a checkpoint after every commit.
fn open_cramped(rules: Rules) -> Subject {
    subject(rules, |settings| {
        settings.cache_entries = 0;
        settings.readers = 1;
        settings.reader_cache_kib = 64;
        settings.writer_cache_kib = 64;
        settings.checkpoint_pages = 1;
    })
}

fn subject(rules: Rules, adjust: impl FnOnce(&mut Settings)) -> Subject {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut settings = Settings::new(directory.path().to_owned(), rules);
    adjust(&mut settings);
    let store = Sqlite::open(settings).expect("a new store opens");
    Subject { store: Arc::new(store), keep: Box::new(directory) }
}

conformance!(sqlite, open);
conformance!(sqlite_cramped, open_cramped);
