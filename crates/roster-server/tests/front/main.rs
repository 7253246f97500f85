//! The server over raw sockets: slow, silent and broken clients, too many clients, and a handler
//! that fails.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod bodies;
mod caller;
mod drain;
mod floods;
mod http2;
mod memory;
mod order;
mod slow;
mod streams;
mod tls;
mod tls_caller;
mod uploads;
