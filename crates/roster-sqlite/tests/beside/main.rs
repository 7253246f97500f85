//! Work beside a running service: backups while it writes, restoring them, and the deep check.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod backups;
mod damage;
mod files;
mod log_damage;
mod once_and_gone;
mod sound;
mod support;
