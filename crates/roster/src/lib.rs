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
//! - `webhooks`: sends events to webhooks
//! - [`tls`]: the certificate, reloaded when its files change
//! - [`data_dir`]: the data directory
//! - [`first_key`]: the first key
//! - [`clock`]: the system clock
//!
//! ```
//! use roster::config::BaseUrl;
//!
//! // Everything that a setting can contain is checked before the service starts.
//! let url = BaseUrl::parse("https://directory.example.com/v1")?;
//! assert_eq!((url.mount(), url.is_loopback()), ("/v1", false));
//! assert!(BaseUrl::parse("directory.example.com").is_err());
//! # Ok::<(), String>(())
//! ```

pub mod cli;
pub mod clock;
pub mod config;
pub mod data_dir;
pub mod engine;
pub mod first_key;
pub mod housekeeping;
pub mod service;
pub mod tls;
mod webhooks;
