//! The commands beside a running service: `roster backup`, `roster restore`, `roster
//! import`, `roster check`.
//!
//! Every process that a test starts is stopped by that test.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]
#![expect(clippy::indexing_slicing, reason = "a member that is missing is `null`")]

mod commands;
mod imports;
mod process;
mod under_load;
