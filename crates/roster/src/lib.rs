//! The binary `roster`: settings, command line and wiring.
//!
//! This crate connects an engine and the HTTP interfaces to a process. It reads the settings, opens
//! the store, listens, and stops on a signal. Only [`config`] reads the environment and the
//! settings file. The crate contains no SQL and does not know the JSON of a user.
//!
//! - [`cli`]: the commands
//! - [`config`]: the settings
//! - [`service`]: builds the service from the settings
//! - [`engine`]: opens the SQLite or PostgreSQL engine
//! - [`housekeeping`]: deletion by age, and erasure after purges
//! - [`tls`]: the certificate, reloaded when its files change
//! - [`data_dir`]: the data directory
//! - [`first_key`]: the first key
//! - [`clock`]: the system clock

pub mod cli;
pub mod clock;
pub mod config;
pub mod data_dir;
pub mod engine;
pub mod first_key;
pub mod housekeeping;
pub mod service;
pub mod tls;
