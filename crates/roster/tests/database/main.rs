//! The built binary and the database that it is told to keep its users with.
//!
//! A database that cannot serve ends the start with a sentence for whoever typed the command, and
//! soon. No sentence tells the password. Every process that a test starts is stopped by that test.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod ask;
mod check;
mod commands;
mod policy;
mod refused;
mod roles;
mod served;
