//! Stop, drain and handover of the built binary, as seen by a supervisor and by clients.
//!
//! The tests act as the supervisor: they hold the listening socket and pass it to the processes.
//! Every process that a test starts is stopped by that test.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

mod drain;
mod process;
mod socket;
