//! The engine over PostgreSQL, for when one machine is not enough: any number of processes over
//! one database, none of which keeps anything.
//!
//! Writes go in batches, each one transaction that moves the head of the log last; reads go to the
//! server that takes writes, so that nothing old is ever answered. The rules are not here: the
//! engine loads, lets [`roster_core::decide()`] decide, and writes that down. Knows nothing of
//! HTTP or of other engines.

mod check;
mod columns;
mod connect;
mod engine;
mod erasure;
mod establish;
mod events;
mod failure;
mod in_force;
mod key_table;
mod keys;
pub mod load;
mod open_error;
mod page;
mod policy;
mod pool;
mod postgres;
mod prepare;
mod query_error;
mod reads;
mod rows;
mod schema;
mod settings;
#[cfg(test)]
mod tests;
mod user_lookups;
mod walks;
mod writer;

pub use check::check;
pub use connect::{ConnectError, Connector, UrlError};
pub use key_table::KeyTable;
pub use open_error::OpenError;
pub use policy::{change_policy, read_policy};
pub use postgres::Postgres;
pub use prepare::prepare;
pub use roster_engine::Findings;
pub use settings::Settings;
