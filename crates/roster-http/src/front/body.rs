//! The body of an answer.
//!
//! Its length is known before the first byte is sent, so that every answer carries
//! Content-Length and none is chunked without need. A body also keeps its exchange open: the
//! front counts an exchange as ended when the last byte has left our hands, not when the handler
//! returned. It must not know what it carries.

use std::{
    io, mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::watch::Exchange;

/// The body of an answer: nothing, or bytes that are at hand.
#[derive(Debug, Default)]
pub struct Body {
    content: Content,
    exchange: Option<Exchange>,
}

/// What is still to be sent. A body that is produced while it is sent becomes a variant here.
#[derive(Debug, Default)]
enum Content {
    #[default]
    Empty,
    Full(Bytes),
}

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

    /// How many bytes are still to be sent.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Empty => 0,
            Content::Full(bytes) => bytes.len(),
        }
    }

    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ties the body to its exchange, which ends when the last byte has been handed over.
    pub(crate) fn attach(&mut self, exchange: Exchange) {
        self.exchange = Some(exchange);
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    /// A body at hand cannot fail; one that is produced while it is sent can.
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match mem::take(&mut self.content) {
            Content::Empty => Poll::Ready(None),
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
        matches!(self.content, Content::Empty)
    }

    fn size_hint(&self) -> SizeHint {
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
