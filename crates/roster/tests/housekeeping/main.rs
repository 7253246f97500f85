//! What is kept for a time only goes when that is over, by itself.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod clocks;
mod erasures;
mod failing;
mod rounds;
mod service;
mod store;
