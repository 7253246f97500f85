//! The settings of the engine.

use std::{path::PathBuf, time::Duration};

use roster_core::{
    PolicyKey, Rules,
    limits::{DATABASE_BYTES_MAX, WAL_BYTES_MAX},
};

pub(crate) const PAGE_BYTES: u32 = 4096;

/// The name of the database file in the data directory.
pub(crate) const DATABASE: &str = "roster.db";
/// The name of the lock file in the data directory.
pub(crate) const LOCK: &str = "roster.lock";
/// The directory of an incomplete store, in the data directory.
pub(crate) const LOADING: &str = "loading";

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To serve it: each commit is synced.
    Serve,
    /// To fill a new one, as [`Load`] does: nothing is synced, and indexes are missing until the
    /// end.
    ///
    /// [`Load`]: crate::Load
    Fill,
}

/// The settings of an engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data directory; it exists already.
    pub directory: PathBuf,
    /// The settings that the rules depend on. The policy is that of a new store.
    pub rules: Rules,
    /// The keys whose policy the configuration states: another one in the store is refused. Of
    /// other keys, the policy of the store applies.
    pub stated: Vec<PolicyKey>,
    /// The number of records in the byte cache, each counted once per started KiB; 0 turns it off.
    pub cache_entries: usize,
    /// The maximum number of waiting commands; further ones are rejected at once.
    pub write_queue_max: usize,
    /// How long a single command may wait to be written; afterwards it is refused and not begun.
    pub write_wait_max: Duration,
    /// Connections that read, opened when first used. At least 1.
    pub readers: usize,
    /// Page cache of each reading connection, in KiB. It has room for the inner pages of the trees
    /// of a million users.
    pub reader_cache_kib: u32,
    /// Page cache of the writing connection, in KiB.
    pub writer_cache_kib: u32,
    /// The write-ahead log is copied into the database once it has this many pages.
    pub checkpoint_pages: u32,
    /// The maximum number of pages of 4 KiB in the write-ahead log while only this process reads.
    /// At a quarter of it, new long reads wait for a reset of the log; at three eighths, running
    /// ones are interrupted; at a half, the next transaction waits. The rest is for one
    /// transaction.
    pub wal_pages_max: u32,
    /// The number of pages after which a sweep saves its progress.
    pub sweep_save_pages: u32,
    /// The maximum number of pages of 4 KiB in the database file; writes beyond it fail as on a
    /// full disk.
    pub pages_max: u32,
    /// About how much memory the rows of a new index may occupy before they are written.
    pub index_rows_bytes_max: usize,
    /// What the store is opened for.
    pub purpose: Purpose,
}

impl Settings {
    /// The settings of a store in that directory, with these rules; the rest by default.
    pub fn new(directory: PathBuf, rules: Rules) -> Self {
        Self {
            directory,
            rules,
            stated: PolicyKey::ALL.to_vec(),
            cache_entries: 50_000,
            write_queue_max: 8192,
            write_wait_max: Duration::from_secs(5),
            readers: 4,
            reader_cache_kib: 8 * 1024,
            writer_cache_kib: 16 * 1024,
            checkpoint_pages: 10_000,
            sweep_save_pages: 16 * 1024,
            wal_pages_max: pages(WAL_BYTES_MAX),
            index_rows_bytes_max: 16 << 20,
            pages_max: pages(DATABASE_BYTES_MAX),
            purpose: Purpose::Serve,
        }
    }
}

/// How many pages have this number of bytes.
fn pages(bytes: u64) -> u32 {
    u32::try_from(bytes / u64::from(PAGE_BYTES)).unwrap_or(u32::MAX)
}
