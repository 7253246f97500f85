//! The PostgreSQL engine, for several machines: any number of processes use one database, and none
//! of them stores anything itself.
//!
//! Writes are executed in batches. Each batch is one transaction that updates the head of the log
//! last. Reads use the primary, so they never return old data. The rules are not here: the engine
//! loads data, calls [`roster_core::decide()`] and stores the result. It does not know HTTP or
//! other engines.
//!
//! - `postgres`, `engine`: the open store, and its implementation of [`roster_core::Store`]
//! - `connect`, `pool`: connections, TLS, and failover to another server
//! - `writer`, `in_force`: batches, and the policy and schema that they were decided under
//! - `page`, `rows`, `user_lookups`, `walks`: reads
//! - `establish`, `prepare`, `schema`: opening the database, its roles, and its tables
//! - `events`, `policy`, `key_table`, `erasure`: the change log, the uniqueness policy, API keys,
//!   and erasing after a purge
//! - `check`, [`load`]: `roster check`, and the target of `roster migrate`
//!
//! ```no_run
//! use roster_core::{Rules, Store as _};
//! use roster_postgres::{Connector, Postgres, Settings};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let connector = Connector::parse("postgres://roster@localhost/roster")?;
//! let store = Postgres::open(Settings::new(connector, Rules::default())).await?;
//! println!("{} users", store.head().await?.live());
//! # Ok(())
//! # }
//! ```

mod api_keys;
mod check;
mod columns;
mod connect;
mod connection;
mod engine;
mod erasure;
mod establish;
mod failure;
mod in_force;
mod indexes;
pub mod load;
mod migrations;
mod offline_api_keys;
mod open_error;
mod policy;
mod pool;
mod postgres;
mod prepare;
mod reads;
mod settings;
mod tenants;
#[cfg(test)]
mod tests;
mod uniqueness;
mod webhooks;
mod writer;

pub use check::check;
pub use connect::{ConnectError, Connector, UrlError};
pub use offline_api_keys::KeyTable;
pub use open_error::OpenError;
pub use policy::{change_policy, read_policy};
pub use postgres::Postgres;
pub use prepare::prepare;
pub use roster_engine::Findings;
pub use settings::Settings;
