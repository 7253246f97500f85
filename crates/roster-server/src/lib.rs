//! The server: everything between the accepted socket and a function from request to response.
//!
//! Connections are bounded in number, time and memory, independently of routes: slow heads, slow
//! bodies, clients that do not read, idle connections. HTTP/1.1 and HTTP/2 share one port, with or
//! without TLS. Each parsed request gets a response, even if its handler panics. The server does
//! not know routes, problems or the directory; the guards behind it check host, origin and caller.

use std::{net::SocketAddr, sync::Arc};

use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_rustls::rustls::ServerConfig;

mod accept;
mod address_limit;
mod body;
pub mod compression;
mod concurrency;
mod connection;
mod connection_state;
mod content_coding;
mod counters;
mod identity;
pub mod limits;
mod memory;
mod monitored_stream;
mod proxies;
mod read_body;
mod reaper;
mod settings;
mod tls;
mod upload;

pub use accept::serve;
pub use body::{BodySender, Gone, Room, StreamedBody, length};
pub use concurrency::{ConcurrencyLimit, ConcurrencyPermit};
pub use connection::close_after;
pub use content_coding::{AcceptedCoding, Coding, thousandths};
pub use counters::ServerCounters;
pub use identity::{Identity, network};
pub use memory::{
    CALLER_BYTES_MAX, CALLER_SPILL_BYTES_MAX, CONNECTION_BYTES_MAX, ConnectionMemory, HeldBytes,
    MemoryBudget, SpilledBytes, TOTAL_BYTES_MAX, TOTAL_SPILL_BYTES_MAX,
};
pub use proxies::TrustedProxies;
pub use read_body::{BodyFault, read_body};
pub use settings::{Floor, ServerSettings};
pub use tls::{LeastTls, tls_config};
pub use upload::Upload;

use connection_state::ConnectionState;

/// The handler of requests.
pub trait Handle: Send + Sync + 'static {
    /// Handles one request. The future is dropped if the client disconnects first.
    fn handle(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
    ) -> impl Future<Output = Response> + Send;

    /// The response if the handler panicked: a 500 without details.
    fn on_panic(&self) -> Response;
}

/// The peer of a connection, and the limits that the server applies to it.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address of the other end of the socket, which may be a proxy's.
    pub address: SocketAddr,
    /// Whether the connection is under TLS.
    pub tls: bool,
    /// The minimum speed of a request body, for [`read_body`].
    pub body_floor: Floor,
    /// The state of the connection, to which streamed bodies report.
    state: Arc<ConnectionState>,
}

/// The listening port. It accepts only TLS or only plain connections.
#[derive(Debug)]
pub struct Port {
    /// Takes the connections.
    pub listener: TcpListener,
    /// The TLS configuration from [`tls_config`]; `None` for plain connections.
    pub tls: Option<Arc<ServerConfig>>,
}

impl Peer {
    /// The memory that the connection uses.
    pub fn memory(&self) -> &Arc<ConnectionMemory> {
        self.state.memory()
    }
}

impl From<TcpListener> for Port {
    fn from(listener: TcpListener) -> Self {
        Self { listener, tls: None }
    }
}

/// The result of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainReport {
    /// Connections that were open at the start and finished normally.
    pub finished: u64,
    /// Connections that were cut off at the end of the drain.
    pub cut: u64,
}
