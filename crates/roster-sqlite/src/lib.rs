//! The embedded engine: users, change log and settings in one SQLite file.
//!
//! One thread writes, with one commit for all commands that were queued meanwhile. Reads run on the
//! calling thread and never wait for writes. An acknowledged write is on disk. The rules are not
//! here: the engine loads data, calls [`roster_core::decide()`] and stores the result. It does not
//! know HTTP or other engines.
//!
//! - `sqlite`, `engine`: the open store, and its implementation of [`roster_core::Store`]
//! - `writer`, `wal`: the thread that writes, and the one that copies the write-ahead log
//! - `reads`: connections for reads, and threads for long ones
//! - `purge`: erasing the history of purged users, and their bytes in the file
//! - `establish`, `schema`, `lock`, `lost`: opening the file, its schema, the lock of the
//!   directory, and the refusal of a directory whose database was lost
//! - `policy`, `key_file`: the uniqueness policy, and API keys
//! - `backup`, `check`, [`unload`]: `roster backup`, `roster check`, and the source of `roster
//!   migrate`
//! - `load`: a new store that is filled, for `roster import`
//!
//! ```no_run
//! use roster_core::{Rules, Store as _};
//! use roster_sqlite::{OpenError, Settings, Sqlite};
//!
//! # async fn run() -> Result<(), OpenError> {
//! let settings = Settings::new("roster-data".into(), Rules::default());
//! let store = Sqlite::open(settings)?;
//! let head = store.head().await.expect("the file is readable");
//! println!("{} users", head.live());
//! # Ok(())
//! # }
//! ```

mod backup;
mod cache;
mod check;
mod columns;
mod connection;
mod engine;
mod establish;
mod failure;
mod health;
mod load;
mod lock;
mod lost;
mod migrations;
mod mutex;
mod offline_api_keys;
mod open_error;
mod policy;
mod purge;
mod quick_check;
mod reads;
mod settings;
mod sqlite;
#[cfg(test)]
mod tests;
pub mod unload;
mod wal;
mod webhooks;
mod writer;

pub use backup::{BackupError, Made, Making, Manifest, Sealed, backup};
pub use check::{Findings, Line, check};
pub use connection::has_store;
pub use load::Load;
pub use migrations::MIGRATIONS;
pub use offline_api_keys::KeyFile;
pub use open_error::OpenError;
pub use policy::{change_policy, read_policy};
pub use settings::{Purpose, Settings};
pub use sqlite::Sqlite;
