//! The built binary with TLS: its start, its certificates, and its responses.
//!
//! Every process that a test starts is stopped by that test.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod caller;
mod refused;
mod renewed;
mod served;
mod service;
