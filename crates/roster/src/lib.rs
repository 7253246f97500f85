//! The binary `roster`: settings, command line and wiring.
//!
//! This crate joins the engine and the HTTP faces to a process: it reads the settings, opens the
//! data directory, listens, and stops when it is told to. It must always hold that only `config`
//! reads the environment and the settings file. It must not know SQL or the JSON of a user.

pub mod cli;
pub mod clock;
pub mod config;
pub mod data_dir;
pub mod engine;
pub mod first_key;
pub mod housekeeping;
pub mod service;
pub mod tls;
