//! The bodies of responses.
//!
//! A handler returns a body of axum. The connection sends it as a [`MonitoredBody`], which counts
//! the bytes against the memory budget until the connection has written them, and keeps the
//! exchange open until then. A body of known length has a `Content-Length`.
//!
//! A [`StreamedBody`] is produced while it is sent. It ends normally only when its sender finishes
//! it. If the sender fails or is dropped, the body is aborted, so no client mistakes a part for the
//! whole body.

use std::{
    io, mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::{Buf, Bytes};
use http_body::{Body as _, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::{
    Peer,
    connection_state::{ConnectionState, CountGuard, Exchange, Progress},
    memory::{HeldBytes, with_guard},
};

/// Smaller HTTP/1 responses are not counted: a connection sends one at a time.
const HTTP1_HELD_FROM_BYTES: usize = 16 * 1024;

/// The body of a response that is being sent.
#[derive(Debug)]
pub(crate) struct MonitoredBody {
    body: Body,
    streamed: bool,
    /// Whether it is compressed while it is sent.
    coded: bool,
    exchange: Option<Arc<Exchange>>,
    /// Counts the bytes of a body whose length is known, also before its compression.
    held: Option<HeldBytes>,
    progress: Option<Arc<Progress>>,
}

/// Bytes that are being sent.
#[derive(Debug)]
pub(crate) struct Chunk {
    bytes: Bytes,
    on_the_way: Option<Box<OnTheWay>>,
}

/// Counts a chunk until the connection has written it.
#[derive(Debug)]
struct OnTheWay {
    progress: Arc<Progress>,
    _held: Option<HeldBytes>,
    /// Dropped with the chunk. With HTTP/2 a chunk may be buffered as long as the peer's window is
    /// closed.
    _exchange: Option<Arc<Exchange>>,
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(on_the_way) = &self.on_the_way {
            on_the_way.progress.add_written(count);
        }
    }
}

/// The length of a body; `None` if it is streamed.
pub fn length(body: &Body) -> Option<usize> {
    body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX))
}

impl MonitoredBody {
    /// Makes the body of a response end the exchange once it is sent.
    pub(crate) fn monitor(response: Response, mut exchange: Exchange) -> Response<Self> {
        let (mut parts, body) = response.into_parts();
        exchange.state().responses.fetch_add(1, Ordering::Relaxed);
        let length = length(&body);
        let coded = parts.extensions.remove::<Coded>();
        let bytes = length.or(coded.as_ref().and_then(|coded| coded.bytes)).unwrap_or(0);
        // A streamed response counts as handled at its end, because until then the service may be
        // the slow side.
        if bytes > 0 || length.is_some() {
            exchange.answer();
        }
        let is_held = exchange.is_http2() || bytes >= HTTP1_HELD_FROM_BYTES;
        let held = is_held.then(|| exchange.state().memory().hold(bytes));
        let mut progress = parts.extensions.remove::<StreamProgress>().map(|shared| shared.0);
        if exchange.is_http2() && length != Some(0) {
            let progress = progress.get_or_insert_default();
            progress.add_made(length.unwrap_or(0));
            exchange.observe(Arc::clone(progress), length.is_none());
        }
        let streamed = length.is_none();
        if streamed {
            exchange.note_stream();
        }
        let (exchange, coded) = (Some(Arc::new(exchange)), coded.is_some());
        let monitored = Self { body, streamed, coded, exchange, held, progress };
        Response::from_parts(parts, monitored)
    }

    fn send(&mut self, bytes: Bytes) -> Chunk {
        if self.streamed {
            let progress = self.progress.as_ref().map(Arc::clone).unwrap_or_default();
            let exchange = self.exchange.clone().filter(|exchange| exchange.is_http2());
            // Other chunks of a stream count themselves.
            let coded = exchange.as_ref().filter(|_| self.coded);
            let held = coded.map(|exchange| exchange.state().memory().hold(bytes.len()));
            let on_the_way = OnTheWay { progress, _held: held, _exchange: exchange };
            return Chunk { bytes, on_the_way: Some(Box::new(on_the_way)) };
        }
        let (held, exchange) = (self.held.take(), self.exchange.take());
        // The exchange of HTTP/1 ends here: a blocked socket shows that the peer reads slowly.
        let exchange = exchange.filter(|exchange| exchange.is_http2());
        if held.is_none() && exchange.is_none() {
            return Chunk { bytes, on_the_way: None };
        }
        let progress = self.progress.take().unwrap_or_default();
        let on_the_way = OnTheWay { progress, _held: held, _exchange: exchange };
        Chunk { bytes, on_the_way: Some(Box::new(on_the_way)) }
    }
}

impl http_body::Body for MonitoredBody {
    type Data = Chunk;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.exchange = None;
        }
        Poll::Ready(frame.map(|frame| Ok(frame?.map_data(|bytes| self.send(bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that is produced while it is sent, with at most one waiting chunk.
#[derive(Debug)]
pub struct StreamedBody {
    chunks: mpsc::Receiver<Bytes>,
    complete: Arc<AtomicBool>,
    breaking: bool,
    progress: Arc<Progress>,
}

/// Creates a streamed body. If the sender is dropped without [`BodySender::finish`], the body is
/// aborted.
#[derive(Debug)]
pub struct BodySender {
    chunks: mpsc::Sender<Bytes>,
    complete: Arc<AtomicBool>,
    state: Arc<ConnectionState>,
    progress: Arc<Progress>,
}

/// The progress of a streamed response, among the extensions of the response.
#[derive(Clone)]
pub(crate) struct StreamProgress(pub(crate) Arc<Progress>);

/// Marks a response that is compressed while it is sent, among its extensions.
#[derive(Clone)]
pub(crate) struct Coded {
    /// The number of bytes before the compression; `None` if the body is streamed.
    pub(crate) bytes: Option<usize>,
}

/// Room for one chunk.
#[derive(Debug)]
pub struct Room<'a> {
    permit: mpsc::Permit<'a, Bytes>,
    sender: &'a BodySender,
}

/// The connection no longer accepts the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

impl StreamedBody {
    /// Creates a body for this peer, and its sender.
    pub fn new(peer: &Peer) -> (Self, BodySender) {
        let (sender, chunks) = mpsc::channel(1);
        let complete = Arc::new(AtomicBool::new(false));
        let progress = Arc::<Progress>::default();
        let sender = BodySender {
            chunks: sender,
            complete: Arc::clone(&complete),
            state: Arc::clone(&peer.state),
            progress: Arc::clone(&progress),
        };
        (Self { chunks, complete, breaking: false, progress }, sender)
    }
}

impl IntoResponse for StreamedBody {
    fn into_response(self) -> Response {
        let progress = StreamProgress(Arc::clone(&self.progress));
        let mut response = Response::new(Body::new(self));
        response.extensions_mut().insert(progress);
        response
    }
}

impl http_body::Body for StreamedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(chunk) = ready!(self.chunks.poll_recv(context)) {
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        if self.complete.load(Ordering::Acquire) {
            return Poll::Ready(None);
        }
        // hyper then drops the connection with its unwritten bytes. One more poll lets it write
        // them.
        if !mem::replace(&mut self.breaking, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("the response broke off"))))
    }
}

impl BodySender {
    /// Waits until the previous chunk was taken, so that at most one waits in addition to the one
    /// that is being sent.
    pub async fn room(&self) -> Result<Room<'_>, Gone> {
        let permit = self.chunks.reserve().await.map_err(|_| Gone)?;
        Ok(Room { permit, sender: self })
    }

    /// Waits until the connection no longer accepts the body.
    pub async fn gone(&self) {
        self.chunks.closed().await;
    }

    /// Ends the body normally.
    pub fn finish(self) {
        self.complete.store(true, Ordering::Release);
    }
}

impl Room<'_> {
    /// Sends a chunk. An empty one is ignored.
    pub fn send(self, chunk: impl Into<Bytes>) {
        let bytes = chunk.into();
        if bytes.is_empty() {
            return;
        }
        let BodySender { state, progress, .. } = self.sender;
        progress.add_made(bytes.len());
        let held = state.memory().hold(bytes.len());
        // Counted until the connection has written it.
        self.permit.send(with_guard(bytes, (held, CountGuard::in_hand(state))));
    }
}
