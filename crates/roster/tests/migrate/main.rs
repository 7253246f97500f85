//! `roster migrate`: a store of one engine becomes the same store of the other.
//!
//! Every process that a test starts is stopped by that test.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]
#![expect(clippy::indexing_slicing, reason = "a member that is missing is `null`")]

mod breaks;
mod erasures;
mod kept;
mod refused;
mod store;
mod view;
mod wire;
