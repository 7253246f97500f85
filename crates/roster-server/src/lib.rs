//! The HTTP server of Roster: everything between the listening socket and a function from a request
//! to a response.
//!
//! The server limits connections in number, time and memory. It closes connections with slow heads,
//! slow bodies, clients that do not read, and idle ones. HTTP/1.1 and HTTP/2 share one port, with
//! or without TLS. Each parsed request gets a response, even if its handler panics. The server does
//! not know routes, problems or users.
//!
//! # Modules
//!
//! Connections:
//! - `accept`, `connection`, `tls`: accepted sockets, HTTP/1.1 and HTTP/2 on them, TLS
//! - `connection_state`, `monitored_stream`, `reaper`: what a connection waits for, and when it is
//!   closed
//! - `flood_guard`, `frames`: the limit of what belongs to no request
//! - `address_limit`, `concurrency`: the number of connections of an address
//! - `settings`, `counters`: the limits, and the counters for `/metrics`
//!
//! Bodies:
//! - `read_body`, `upload`, `unread_body`: request bodies, whole, in pieces, or not read
//! - `body`: streamed response bodies
//! - `memory`: the memory of connections and callers
//! - [`compression`], `content_coding`: gzip, and `Accept-Encoding`
//!
//! Callers:
//! - `identity`, `proxies`: to whom a request is charged, and the client behind a trusted proxy
//! - [`limits`]: rate limits, failed authentication, admission control
//!
//! # Example
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use axum::{body::Body, response::Response};
//! use http::Request;
//! use roster_server::{Handle, Peer, ServerCounters, ServerSettings, serve};
//!
//! struct Hello;
//!
//! impl Handle for Hello {
//!     async fn handle(&self, _: Request<Body>, _: &Peer) -> Response {
//!         Response::new(Body::from("hello"))
//!     }
//!
//!     fn on_panic(&self) -> Response {
//!         Response::new(Body::from("the handler panicked"))
//!     }
//! }
//!
//! # async fn run() -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! let counters = Arc::new(ServerCounters::default());
//! let stop = std::future::pending();
//! serve(listener, Arc::new(Hello), ServerSettings::default(), counters, stop).await;
//! # Ok(())
//! # }
//! ```

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{body::Body, response::Response};
use http::Request;
use tokio::net::TcpListener;
use tokio_rustls::rustls::ServerConfig;

mod accept;
mod address_limit;
pub mod compression;
mod concurrency;
mod connection;
mod connection_state;
mod content_coding;
mod counters;
mod flood_guard;
mod frames;
mod identity;
pub mod limits;
mod memory;
mod monitored_stream;
mod proxies;
mod read_body;
mod reaper;
mod response_body;
mod settings;
mod tls;
mod unread_body;
mod upload;

pub use accept::serve;
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
pub use response_body::{BodySender, Gone, Room, StreamedBody, length};
pub use settings::{Floor, ServerSettings};
pub use tls::{LeastTls, tls_config};
pub use upload::Upload;

use connection_state::ConnectionState;

/// The handler of requests.
pub trait Handle: Send + Sync + 'static {
    /// Handles one request. The future is dropped if the client disconnects first.
    fn handle(&self, request: Request<Body>, peer: &Peer) -> impl Future<Output = Response> + Send;

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
    /// The peer of a request that this process itself makes, without a connection. Its body has no
    /// minimum speed.
    pub fn in_process() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: false,
            body_floor: Floor { bytes_per_s: 0, grace_ms: u32::MAX },
            state: Arc::default(),
        }
    }

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
