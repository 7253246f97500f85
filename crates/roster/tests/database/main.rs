//! The built binary and its database.
//!
//! If the database cannot be used, the start fails soon, with a message for the operator. No
//! message contains the password. Each test stops every process that it starts.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod ask;
mod audit;
mod check;
mod commands;
mod policy;
mod refused;
mod roles;
mod served;
