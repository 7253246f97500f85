//! The front over raw sockets: what it does with callers who are slow, silent, broken or too
//! many, and with a handler that fails.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod bodies;
mod caller;
mod drain;
mod http2;
mod memory;
mod order;
mod slow;
mod streams;
mod tls;
mod tls_caller;
mod uploads;
