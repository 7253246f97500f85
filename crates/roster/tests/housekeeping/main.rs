//! Housekeeping: data with a limited lifetime is deleted when that lifetime ends.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod clocks;
mod erasures;
mod expiry;
mod failing;
mod rounds;
mod service;
mod store;
