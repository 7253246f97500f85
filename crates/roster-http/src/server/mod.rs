//! The server: everything from the accepted socket to a function from request to answer.
//!
//! Every connection is bounded in number, time and memory before any route is looked at: a slow
//! head, a slow body, a caller that does not read, a connection that rests. HTTP/1.1 and HTTP/2
//! share one port, under TLS or not. Each request that was read is answered, also when its
//! handler panics. The server must not know routes, problems or the directory; which host, origin
//! or caller may come in is for the guards behind it.

use std::{net::SocketAddr, sync::Arc};

use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_rustls::rustls::ServerConfig;

mod accept;
mod address_limit;
mod body;
mod connection;
mod connection_state;
mod counters;
mod memory;
mod monitored_stream;
mod read_body;
mod reaper;
mod settings;
mod tls;
mod upload;

pub use accept::serve;
pub use body::{BodySender, Gone, Room, StreamedBody};
pub use connection::close_after;
pub use counters::ServerCounters;
pub use memory::{
    CALLER_BYTES_MAX, CALLER_SPILL_BYTES_MAX, CONNECTION_BYTES_MAX, MemoryBudget, TOTAL_BYTES_MAX,
    TOTAL_SPILL_BYTES_MAX,
};
pub use read_body::{BodyFault, read_body};
pub use settings::{Floor, ServerSettings};
pub use tls::{LeastTls, tls_config};
pub use upload::Upload;

pub(crate) use body::length;
use connection_state::ConnectionState;
pub(crate) use memory::{ConnectionMemory, HeldBytes, SpilledBytes};

/// What answers requests.
pub trait Handle: Send + Sync + 'static {
    /// Answers one request. The future is dropped when the caller goes away first.
    fn handle(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
    ) -> impl Future<Output = Response> + Send;

    /// The answer in place of that of a handler that panicked: a 500 that tells nothing.
    fn on_panic(&self) -> Response;
}

/// Who is at the other end, and what the server holds it to.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address of the other end of the socket, which may be a proxy's.
    pub address: SocketAddr,
    /// Whether the connection is under TLS.
    pub tls: bool,
    /// The least speed of a request body, for [`read_body`].
    pub body_floor: Floor,
    /// What the connection tells about itself: bodies that are streamed report to it.
    state: Arc<ConnectionState>,
}

/// Where connections come in. A port speaks TLS alone or not at all.
#[derive(Debug)]
pub struct Port {
    /// Takes the connections.
    pub listener: TcpListener,
    /// How TLS is spoken, as [`tls_config`] makes it; none for plain connections.
    pub tls: Option<Arc<ServerConfig>>,
}

impl Peer {
    /// What the connection makes us hold.
    pub(crate) fn memory(&self) -> &Arc<ConnectionMemory> {
        self.state.memory()
    }
}

impl From<TcpListener> for Port {
    fn from(listener: TcpListener) -> Self {
        Self { listener, tls: None }
    }
}

/// How a drain went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainReport {
    /// Connections that were open at the start and ended in good order.
    pub finished: u64,
    /// Connections that were cut off at the end of the drain.
    pub cut: u64,
}
