//! One connection, from its socket to the handler and back.
//!
//! Every parsed request gets a response, even if the handler panics. A response that is sent before
//! the whole request body was read ends the connection, and an HTTP/1 response says so. This module
//! does not know routes.

use std::{
    convert::Infallible,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, response::Response};
use http::{HeaderValue, Method, Request, StatusCode, Version, header};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    Handle, Peer,
    address_limit::AddressPermit,
    connection_state::{ConnectionState, Exchange, Order},
    counters::ServerCounters,
    flood_guard::FloodGuard,
    monitored_stream::MonitoredStream,
    response_body::{MonitoredBody, length},
    settings::ServerSettings,
    tls::{accept_tls, is_http2, unless_ordered_to_end},
    unread_body::UnreadBody,
};

/// The HTTP/2 limits that cannot be configured: header list, windows and abuse limits.
const HTTP2_HEADER_LIST_BYTES_MAX: u32 = 32 * 1024;
const HTTP2_WINDOW_BYTES: u32 = 1024 * 1024;
const HTTP2_SEND_BYTES_MAX: usize = 256 * 1024;
const HTTP2_PENDING_RESETS_MAX: usize = 20;
const HTTP2_ERROR_RESETS_MAX: usize = 256;
const HTTP2_PING_EVERY: Duration = Duration::from_secs(20);
const HTTP2_PONG_WITHIN: Duration = Duration::from_secs(10);
/// The memory of an open HTTP/2 request, without its head and its bodies.
const HTTP2_STREAM_BYTES: usize = 1024;
/// hyper's default maximum of header fields of an HTTP/1 request.
const HTTP1_HEADERS_DEFAULT: usize = 100;

/// What all connections of a server share.
pub(crate) struct Shared<H> {
    pub(crate) handler: Arc<H>,
    pub(crate) protocols: Protocols,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) counters: Arc<ServerCounters>,
    pub(crate) settings: ServerSettings,
}

/// What the requests of one connection share.
struct Link<H> {
    shared: Arc<Shared<H>>,
    peer: Peer,
}

/// The HTTP protocols: a plain connection may use either; under TLS the negotiated one is used.
pub(crate) struct Protocols {
    either: Builder<TokioExecutor>,
    http1: Builder<TokioExecutor>,
    http2: Builder<TokioExecutor>,
}

impl Protocols {
    pub(crate) fn new(settings: &ServerSettings) -> Self {
        let either = protocol(settings);
        let (http1, http2) = (either.clone().http1_only(), either.clone().http2_only());
        Self { either, http1, http2 }
    }
}

/// The settings of both protocols.
fn protocol(settings: &ServerSettings) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        // hyper's timer restarts as soon as a response is sent, so it cannot allow an idle
        // connection more time than a request head. The reaper distinguishes the two.
        .header_read_timeout(None)
        // A client that has closed its sending side still gets its response.
        .half_close(true)
        .max_buf_size(settings.buffer_bytes_max());
    // With hyper's default no memory is allocated per request.
    if settings.headers_max != HTTP1_HEADERS_DEFAULT {
        builder.http1().max_headers(settings.headers_max);
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING_EVERY)
        .keep_alive_timeout(HTTP2_PONG_WITHIN)
        .max_concurrent_streams(settings.streams_max)
        .max_header_list_size(HTTP2_HEADER_LIST_BYTES_MAX)
        .initial_stream_window_size(HTTP2_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_WINDOW_BYTES)
        .max_send_buf_size(HTTP2_SEND_BYTES_MAX)
        .max_pending_accept_reset_streams(HTTP2_PENDING_RESETS_MAX)
        .max_local_error_reset_streams(HTTP2_ERROR_RESETS_MAX);
    builder
}

/// Serves one connection until it ends or is ordered to end.
pub(crate) async fn serve_connection<H: Handle>(
    shared: Arc<Shared<H>>,
    stream: TcpStream,
    peer: Peer,
    permit: AddressPermit,
) {
    let state = Arc::clone(&peer.state);
    let _open = Open { counters: Arc::clone(&shared.counters), state: Arc::clone(&state) };
    // Released before the connection counts as closed.
    let _permit = permit;
    let head_bytes_max = shared.settings.buffer_bytes_max();
    let stream = MonitoredStream::new(stream, Arc::clone(&state), head_bytes_max);
    match &shared.tls {
        None => serve_plain(&shared, stream, peer).await,
        // Boxed, so that a connection without TLS does not reserve the memory.
        Some(acceptor) => Box::pin(serve_https(&shared, acceptor, stream, peer)).await,
    }
    if state.stalled.is_set() {
        shared.counters.closed_slow_read.inc();
    }
    if state.flooded.is_set() {
        shared.counters.closed_flood.inc();
    }
    let slow_bodies = state.slow_bodies.load(Ordering::Relaxed);
    shared.counters.closed_slow_body.inc_by(slow_bodies.into());
}

/// Chooses the protocol by the first bytes, then serves HTTP. If hyper chooses, it reads into a
/// buffer that doubles with the second read: 8 KiB more for each connection.
async fn serve_plain<H: Handle>(shared: &Arc<Shared<H>>, stream: MonitoredStream, peer: Peer) {
    let mut buffer = [0; 2];
    let first = unless_ordered_to_end(&peer.state, stream.first_bytes(&mut buffer)).await;
    let protocol = match first {
        None => return,
        // The preface of HTTP/2, or a method such as PUT of which one byte has arrived.
        Some(Ok(b"P" | b"PR")) => &shared.protocols.either,
        Some(Ok(_) | Err(_)) => &shared.protocols.http1,
    };
    serve_http(shared, protocol, stream, peer).await;
}

/// Performs the TLS handshake, then serves HTTP.
async fn serve_https<H: Handle>(
    shared: &Arc<Shared<H>>,
    acceptor: &TlsAcceptor,
    stream: MonitoredStream,
    peer: Peer,
) {
    if let Some(stream) = accept_tls(acceptor, stream, &peer.state, &shared.counters).await {
        let Protocols { http1, http2, .. } = &shared.protocols;
        let protocol = if is_http2(&stream) { http2 } else { http1 };
        serve_http(shared, protocol, stream, peer).await;
    }
}

/// Serves HTTP over a stream.
async fn serve_http<H: Handle>(
    shared: &Arc<Shared<H>>,
    protocol: &Builder<TokioExecutor>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
) {
    let state = Arc::clone(&peer.state);
    // Each request clones this connection's own `Arc`. The reference counts of what all connections
    // share would be contended by all processors.
    let link = Arc::new(Link { shared: Arc::clone(shared), peer });
    let service = service_fn(|request| {
        let exchange = Exchange::start(Arc::clone(&state), request.version());
        respond(Arc::clone(&link), request, exchange)
    });
    let stream = FloodGuard::new(stream, Arc::clone(&state));
    let mut connection = pin!(protocol.serve_connection(TokioIo::new(stream), service));
    let mut leaving = false;
    let mut has_waker = false;
    let ended = poll_fn(|context| {
        if !has_waker {
            has_waker = true;
            state.wake_me(context.waker());
        }
        if state.order() > Order::Finish {
            return Poll::Ready(None);
        }
        // Data that arrived is read before the connection is shut down, because hyper closes an
        // idle connection at once, even with an unread request.
        let polled = connection.as_mut().poll(context);
        if polled.is_ready() || leaving || !state.may_leave() {
            return polled.map(Some);
        }
        leaving = true;
        state.leave();
        connection.as_mut().graceful_shutdown();
        connection.as_mut().poll(context).map(Some)
    })
    .await;
    if let Some(Err(error)) = ended {
        tracing::debug!(error = error.as_ref(), "a connection ended early");
    }
}

/// Responds to one request, even if the handler panics.
async fn respond<H: Handle>(
    link: Arc<Link<H>>,
    request: Request<Incoming>,
    exchange: Exchange,
) -> Result<Response<MonitoredBody>, Infallible> {
    let Link { shared, peer } = link.as_ref();
    let head_only = request.method() == Method::HEAD;
    let http2 = request.version() == Version::HTTP_2;
    let head_bytes = if http2 { HTTP2_STREAM_BYTES + head_bytes(&request) } else { 0 };
    let _head = http2.then(|| peer.state.memory().hold(head_bytes));
    let (request, unread) = UnreadBody::watch(request);
    // Boxed, because hyper keeps the memory of this future while the connection is idle.
    let mut handled = Box::pin(async { shared.handler.handle(request, peer).await });
    let mut response = caught(handled.as_mut()).await.unwrap_or_else(|| {
        shared.counters.panics.inc();
        shared.handler.on_panic()
    });
    let status = response.status();
    if status == StatusCode::REQUEST_TIMEOUT {
        shared.counters.closed_slow_body.inc();
    }
    let last = peer.state.order() >= Order::Last
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE);
    if !http2 && (last || unread.is_left().await) {
        close_after(&mut response);
    }
    if head_only {
        leave_body_out(&mut response);
    }
    Ok(MonitoredBody::monitor(response, exchange))
}

/// The length of a request's head, without its framing.
fn head_bytes<B>(request: &Request<B>) -> usize {
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len());
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    target + fields.sum::<usize>()
}

/// Marks an HTTP/1 response as the last of its connection (RFC 9112 section 9.6). For responses
/// that are sent before the request body was read; the server does this itself for 408 and 413.
pub fn close_after(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// Makes the response to HEAD: the length that GET would send, and no content (RFC 9110 section
/// 9.3.2). hyper does this only for HTTP/1.
fn leave_body_out(response: &mut Response) {
    let length = length(response.body());
    *response.body_mut() = Body::empty();
    if let Some(length @ 1..) = length {
        let headers = response.headers_mut();
        headers.entry(header::CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
}

/// The outcome of a future, or `None` if it panicked. The future is not polled again, so no other
/// code sees its inconsistent state.
async fn caught<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context: &mut Context<'_>| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(Poll::Ready(output)) => Poll::Ready(Some(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_panic) => Poll::Ready(None),
        }
    })
    .await
}

/// Counts the connection as open until this is dropped.
struct Open {
    counters: Arc<ServerCounters>,
    state: Arc<ConnectionState>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.state.gone.set(true);
        self.counters.open.dec();
    }
}
