//! The body of an answer.
//!
//! One that is at hand has a length that is known before the first byte is sent, so that it
//! carries Content-Length and is never chunked without need. One that is made while it is sent
//! ends only by the word of its maker: a maker that fails or vanishes breaks it off, so that no
//! caller takes a part for the whole. A body also keeps its exchange open: the front counts an
//! exchange as ended when the last byte has left our hands, not when the handler returned. It
//! must not know what it carries.

use std::{
    io, mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use super::{
    Peer,
    memory::{ConnectionMemory, HeldBytes},
    watch::{Exchange, InHand, Progress, Watch},
};

/// Smaller HTTP/1 responses are not counted: a connection sends one at a time.
const HTTP1_HELD_FROM_BYTES: usize = 16 * 1024;

/// The body of an answer: nothing, bytes that are at hand, or chunks as they are made.
#[derive(Debug, Default)]
pub struct Body {
    content: Content,
    exchange: Option<Exchange>,
    /// Counts the bytes at hand.
    held: Option<HeldBytes>,
    progress: Option<Arc<Progress>>,
}

/// Bytes on their way to the connection.
#[derive(Debug)]
pub struct Chunk {
    bytes: Bytes,
    on_the_way: Option<Box<OnTheWay>>,
}

/// What counts a chunk until the connection has written it. Nothing of it is read: it is dropped.
#[derive(Debug)]
struct OnTheWay {
    progress: Arc<Progress>,
    _held: Option<HeldBytes>,
    _in_hand: Option<InHand>,
    /// Ends with the chunk. With HTTP/2 that may lie in buffers for as long as the peer's window
    /// is shut.
    _exchange: Option<Exchange>,
}

/// What is still to be sent.
#[derive(Debug, Default)]
enum Content {
    #[default]
    Empty,
    Full(Bytes),
    Streamed(Chunks),
}

impl From<Bytes> for Chunk {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, on_the_way: None }
    }
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

/// The chunks of a body that is made while it is sent.
#[derive(Debug)]
struct Chunks {
    coming: mpsc::Receiver<Chunk>,
    complete: Arc<AtomicBool>,
    breaking: bool,
}

/// The maker's end of a streamed body. Dropped without [`BodySender::finish`], it breaks the
/// body off.
#[derive(Debug)]
pub struct BodySender {
    chunks: mpsc::Sender<Chunk>,
    complete: Arc<AtomicBool>,
    watch: Arc<Watch>,
    progress: Arc<Progress>,
}

/// Room for one chunk.
#[derive(Debug)]
pub struct Room<'a> {
    permit: mpsc::Permit<'a, Chunk>,
    sender: &'a BodySender,
}

/// Nobody takes the body any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

impl Body {
    /// No body.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A body of these bytes; they are shared, not copied.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let content = if bytes.is_empty() { Content::Empty } else { Content::Full(bytes) };
        Self { content, ..Self::default() }
    }

    /// A body that is made while it is sent to this peer, one chunk waiting at a time.
    pub fn streamed(peer: &Peer) -> (Self, BodySender) {
        let (sender, coming) = mpsc::channel(1);
        let complete = Arc::new(AtomicBool::new(false));
        let progress = Arc::<Progress>::default();
        let sender = BodySender {
            chunks: sender,
            complete: Arc::clone(&complete),
            watch: Arc::clone(&peer.watch),
            progress: Arc::clone(&progress),
        };
        let content = Content::Streamed(Chunks { coming, complete, breaking: false });
        (Self { content, progress: Some(progress), ..Self::default() }, sender)
    }

    /// How many bytes at hand are still to be sent.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Empty | Content::Streamed(_) => 0,
            Content::Full(bytes) => bytes.len(),
        }
    }

    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        matches!(self.content, Content::Empty)
    }

    /// Whether the body is made while it is sent.
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self.content, Content::Streamed(_))
    }

    /// Counts the bytes at hand against the memory budget, unless the connection or its caller then
    /// exceeds its share.
    pub(crate) fn try_hold(&mut self, memory: &Arc<ConnectionMemory>) -> bool {
        self.held = memory.try_hold(self.len());
        self.held.is_some()
    }

    /// Ties the body to its exchange, which ends when the last byte has been handed over.
    pub(crate) fn attach(&mut self, mut exchange: Exchange) {
        let length = self.len();
        if self.held.is_none() && (exchange.is_http2() || length >= HTTP1_HELD_FROM_BYTES) {
            self.held = Some(exchange.watch().memory().hold(length));
        }
        if exchange.is_http2() && !self.is_empty() {
            let progress = self.progress.get_or_insert_default();
            progress.add_made(length);
            exchange.observe(Arc::clone(progress), self.is_streamed());
        }
        self.exchange = Some(exchange);
    }

    /// The bytes at hand, on their way to the connection.
    fn send(&mut self, bytes: Bytes) -> Chunk {
        let (held, exchange) = (self.held.take(), self.exchange.take());
        // The exchange of HTTP/1 ends here: a blocked socket shows that the peer reads slowly.
        let exchange = exchange.filter(Exchange::is_http2);
        if held.is_none() && exchange.is_none() {
            return Chunk::from(bytes);
        }
        let progress = self.progress.take().unwrap_or_default();
        let on_the_way = OnTheWay { progress, _held: held, _in_hand: None, _exchange: exchange };
        Chunk { bytes, on_the_way: Some(Box::new(on_the_way)) }
    }
}

impl BodySender {
    /// Waits until the chunk before has been taken, so that at most one waits beside the one that
    /// is being sent.
    pub async fn room(&self) -> Result<Room<'_>, Gone> {
        let permit = self.chunks.reserve().await.map_err(|_| Gone)?;
        Ok(Room { permit, sender: self })
    }

    /// The body is whole.
    pub fn finish(self) {
        self.complete.store(true, Ordering::Release);
    }
}

impl Room<'_> {
    /// Hands a chunk over. An empty one is no chunk.
    pub fn send(self, chunk: impl Into<Bytes>) {
        let bytes = chunk.into();
        if bytes.is_empty() {
            return;
        }
        let BodySender { watch, progress, .. } = self.sender;
        progress.add_made(bytes.len());
        let on_the_way = OnTheWay {
            progress: Arc::clone(progress),
            _held: Some(watch.memory().hold(bytes.len())),
            _in_hand: Some(InHand::mark(watch)),
            _exchange: None,
        };
        self.permit.send(Chunk { bytes, on_the_way: Some(Box::new(on_the_way)) });
    }
}

impl Chunks {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Chunk>>> {
        if let Some(chunk) = ready!(self.coming.poll_recv(context)) {
            return Poll::Ready(Some(Ok(chunk)));
        }
        if self.complete.load(Ordering::Acquire) {
            return Poll::Ready(None);
        }
        // hyper drops the connection at once, and with it what it has not yet written: one more
        // round lets it write what it holds.
        if !mem::replace(&mut self.breaking, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("the answer broke off"))))
    }
}

impl http_body::Body for Body {
    type Data = Chunk;
    /// A body at hand cannot fail; one that is made while it is sent can.
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, io::Error>>> {
        if let Content::Streamed(chunks) = &mut self.content {
            let next = ready!(chunks.poll_next(context));
            if !matches!(next, Some(Ok(_))) {
                self.content = Content::Empty;
                self.exchange = None;
            }
            return Poll::Ready(next.map(|chunk| chunk.map(Frame::data)));
        }
        match mem::take(&mut self.content) {
            Content::Empty | Content::Streamed(_) => Poll::Ready(None),
            Content::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(self.send(bytes))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_streamed() {
            return SizeHint::default();
        }
        SizeHint::with_exact(u64::try_from(self.len()).unwrap_or(u64::MAX))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::full(bytes)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::full(bytes)
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::full(text)
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::full(text)
    }
}
