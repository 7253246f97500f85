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

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use super::{
    Peer,
    watch::{Exchange, InHand, Watch},
};

/// The body of an answer: nothing, bytes that are at hand, or chunks as they are made.
#[derive(Debug, Default)]
pub struct Body {
    content: Content,
    exchange: Option<Exchange>,
}

/// What is still to be sent.
#[derive(Debug, Default)]
enum Content {
    #[default]
    Empty,
    Full(Bytes),
    Streamed(Chunks),
}

/// The chunks of a body that is made while it is sent.
#[derive(Debug)]
struct Chunks {
    coming: mpsc::Receiver<Bytes>,
    complete: Arc<AtomicBool>,
    breaking: bool,
}

/// The maker's end of a streamed body. Dropped without [`BodySender::finish`], it breaks the
/// body off.
#[derive(Debug)]
pub struct BodySender {
    chunks: mpsc::Sender<Bytes>,
    complete: Arc<AtomicBool>,
    watch: Arc<Watch>,
}

/// Room for one chunk.
#[derive(Debug)]
pub struct Room<'a> {
    permit: mpsc::Permit<'a, Bytes>,
    watch: &'a Arc<Watch>,
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
        Self { content, exchange: None }
    }

    /// A body that is made while it is sent to this peer, one chunk waiting at a time.
    pub fn streamed(peer: &Peer) -> (Self, BodySender) {
        let (sender, coming) = mpsc::channel(1);
        let complete = Arc::new(AtomicBool::new(false));
        let watch = Arc::clone(&peer.watch);
        let sender = BodySender { chunks: sender, complete: Arc::clone(&complete), watch };
        let content = Content::Streamed(Chunks { coming, complete, breaking: false });
        (Self { content, exchange: None }, sender)
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

    /// Puts other bytes in the place of those at hand.
    pub(crate) fn change(&mut self, change: impl FnOnce(Bytes) -> Bytes) {
        if let Content::Full(bytes) = &mut self.content {
            *bytes = change(mem::take(bytes));
        }
    }

    /// Ties the body to its exchange, which ends when the last byte has been handed over.
    pub(crate) fn attach(&mut self, exchange: Exchange) {
        self.exchange = Some(exchange);
    }
}

impl BodySender {
    /// Waits until the chunk before has been taken, so that at most one waits beside the one that
    /// is being sent.
    pub async fn room(&self) -> Result<Room<'_>, Gone> {
        let permit = self.chunks.reserve().await.map_err(|_| Gone)?;
        Ok(Room { permit, watch: &self.watch })
    }

    /// The body is whole.
    pub fn finish(self) {
        self.complete.store(true, Ordering::Release);
    }
}

impl Room<'_> {
    /// Hands a chunk over. An empty one is no chunk.
    pub fn send(self, chunk: impl Into<Bytes>) {
        let chunk = chunk.into();
        if !chunk.is_empty() {
            self.permit.send(InHand::mark(chunk, self.watch));
        }
    }
}

impl Chunks {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
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
    type Data = Bytes;
    /// A body at hand cannot fail; one that is made while it is sent can.
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
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
            Content::Full(bytes) => {
                let bytes = match self.exchange.take() {
                    Some(exchange) => exchange.end_with(bytes),
                    None => bytes,
                };
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
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
