//! Compression of responses with gzip, for callers that accept it.
//!
//! Only responses of operations that are marked as compressible are compressed, with a fast level:
//! the caller waits less, and the service uses little more processor time. A body is compressed in
//! small pieces, so that no other request waits long. A streamed body is flushed after each of its
//! pieces, so that a caller sees the progress of an export. A response with a strong entity tag is
//! never compressed, because its tag names the bytes that are sent.

use std::{
    io::{self, Write as _},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{body::Body, response::Response};
use bytes::{Buf as _, Bytes};
use flate2::{Compression, write::GzEncoder};
use futures_util::FutureExt as _;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, VARY},
};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;

use crate::{
    connection_state::Progress,
    content_coding::{AcceptedCoding, Coding},
    response_body::{Coded, StreamProgress, length},
};

/// The fastest level: a page of 50 users shrinks to a fifth of its bytes.
const LEVEL: Compression = Compression::fast();
/// Smaller bodies fit into one packet in any case.
const BYTES_MIN: usize = 1024;
/// The number of bytes that are compressed at a time, which takes at most half a millisecond.
const PIECE_BYTES: usize = 64 * 1024;
const BY_ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("Accept-Encoding");
const BY_ACCEPT_AND_ENCODING: HeaderValue = HeaderValue::from_static("Accept, Accept-Encoding");

/// The content codings that a request for a compressible response accepts.
pub fn accepted(headers: &HeaderMap) -> AcceptedCoding {
    AcceptedCoding::of(headers, &[Coding::Gzip])
}

/// Compresses the response of a compressible operation if the caller accepts that.
pub fn compress(response: Response, accepted: AcceptedCoding) -> Response {
    let (mut parts, body) = response.into_parts();
    let is_strong = |tag: &HeaderValue| !tag.as_bytes().starts_with(b"W/");
    if !matches!(parts.status, StatusCode::OK | StatusCode::NOT_MODIFIED)
        || parts.headers.get(ETAG).is_some_and(is_strong)
        || parts.headers.contains_key(CONTENT_ENCODING)
        || parts.headers.get(CACHE_CONTROL).is_some_and(forbids_changes)
    {
        return Response::from_parts(parts, body);
    }
    // No other header than `Accept` selects the responses of operations.
    let varies = parts.headers.insert(VARY, BY_ACCEPT_ENCODING);
    if varies.is_some() {
        parts.headers.insert(VARY, BY_ACCEPT_AND_ENCODING);
    }
    let bytes = length(&body);
    let is_small =
        bytes.is_some_and(|bytes| bytes == 0 || bytes < BYTES_MIN && !accepted.only_coded);
    if accepted.coding.is_none() || parts.status != StatusCode::OK || is_small {
        return Response::from_parts(parts, body);
    }
    parts.headers.insert(CONTENT_ENCODING, Coding::Gzip.header());
    parts.headers.remove(CONTENT_LENGTH);
    let known = parts.extensions.remove::<StreamProgress>();
    let progress = known.map(|StreamProgress(progress)| progress).unwrap_or_default();
    let mut body = GzipBody::new(body, Arc::clone(&progress));
    // A short body is complete at once, so its response has a length.
    if let Some(made) = bytes.filter(|bytes| *bytes <= PIECE_BYTES).and_then(|_| body.next_now()) {
        return Response::from_parts(parts, Body::from(made));
    }
    progress.add_made(bytes.unwrap_or(0));
    parts.extensions.insert(StreamProgress(progress));
    parts.extensions.insert(Coded { bytes });
    Response::from_parts(parts, Body::new(body))
}

/// Whether nothing on the way may change the body (RFC 9111 section 5.2.2.6).
fn forbids_changes(cache_control: &HeaderValue) -> bool {
    let mut directives = cache_control.as_bytes().split(|byte| *byte == b',');
    directives.any(|directive| directive.trim_ascii() == b"no-transform")
}

/// A body that is compressed while it is sent.
struct GzipBody {
    body: Body,
    /// `None` once the end was written.
    encoder: Option<GzEncoder<Vec<u8>>>,
    /// What is left of the last frame of the body.
    rest: Bytes,
    is_read: bool,
    error: Option<axum::Error>,
    /// What is ready: bytes that wait for their compression, and compressed ones.
    progress: Arc<Progress>,
}

impl GzipBody {
    fn new(body: Body, progress: Arc<Progress>) -> Self {
        let encoder = Some(GzEncoder::new(Vec::new(), LEVEL));
        let is_read = body.is_end_stream();
        Self { body, encoder, rest: Bytes::new(), is_read, error: None, progress }
    }

    /// All compressed bytes, if the whole body is there and makes one frame.
    fn next_now(&mut self) -> Option<Bytes> {
        let made = match self.frame().now_or_never()?? {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(error) => {
                self.error = Some(error);
                return None;
            }
        };
        let Some(encoder) = &mut self.encoder else { return Some(made) };
        encoder.get_mut().extend_from_slice(&made);
        None
    }
}

impl http_body::Body for GzipBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if let Some(error) = self.error.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if self.encoder.is_none() {
                return Poll::Ready(None);
            }
            if self.rest.is_empty() && !self.is_read {
                match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                    Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                    // The body is aborted without the end of the gzip stream.
                    Some(Err(error)) => {
                        self.encoder = None;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => self.is_read = true,
                }
                self.is_read |= self.body.is_end_stream();
            }
            let made = self.encode().map_err(axum::Error::new)?;
            self.progress.add_made(made.len());
            if !made.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(made))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.encoder.is_none() && self.error.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl GzipBody {
    /// Compresses the next piece. Flushes at the end of what the body returned.
    fn encode(&mut self) -> io::Result<Bytes> {
        let Some(encoder) = &mut self.encoder else { return Ok(Bytes::new()) };
        let piece = self.rest.split_to(self.rest.len().min(PIECE_BYTES));
        encoder.write_all(&piece)?;
        // Its compressed bytes wait in its place.
        self.progress.add_written(piece.len());
        if self.rest.has_remaining() {
            return Ok(std::mem::take(encoder.get_mut()).into());
        }
        if !self.is_read {
            encoder.flush()?;
            return Ok(std::mem::take(encoder.get_mut()).into());
        }
        self.encoder.take().map_or(Ok(Bytes::new()), |encoder| encoder.finish().map(Bytes::from))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use futures_util::{StreamExt as _, stream};

    use super::*;

    const GZIP: AcceptedCoding = AcceptedCoding { coding: Some(Coding::Gzip), only_coded: false };

    type Piece = Result<Bytes, io::Error>;

    fn streamed(pieces: Vec<Piece>) -> Response {
        let pieces = stream::iter(pieces).chain(stream::pending());
        compress(Response::new(Body::from_stream(pieces)), GZIP)
    }

    /// The frames that come without more of the body.
    fn ready(response: Response) -> Vec<Result<Bytes, axum::Error>> {
        let mut frames = Vec::new();
        let mut body = response.into_body();
        while let Some(Some(frame)) = body.frame().now_or_never() {
            frames.push(frame.map(|frame| frame.into_data().expect("data")));
        }
        frames
    }

    fn text(frames: &[Result<Bytes, axum::Error>]) -> Vec<u8> {
        let coded: Vec<u8> = frames.iter().flatten().flatten().copied().collect();
        let (mut text, mut part) = (Vec::new(), [0; 1024]);
        let mut decoder = GzDecoder::new(&coded[..]);
        // Without the end of the stream, the last read fails.
        while let Ok(read @ 1..) = decoder.read(&mut part) {
            text.extend_from_slice(&part[..read]);
        }
        text
    }

    #[test]
    fn what_was_produced_is_sent_before_the_body_ends() {
        let frames = ready(streamed(vec![Ok("one\n".into()), Ok("two\n".into())]));
        assert_eq!(text(&frames), b"one\ntwo\n");
    }

    #[test]
    fn a_body_that_is_aborted_does_not_end() {
        let broken = io::Error::other("broken off");
        let frames = ready(streamed(vec![Ok("one\n".into()), Err(broken)]));
        assert_eq!(text(&frames), b"one\n");
        assert!(frames.last().is_some_and(Result::is_err));
    }

    #[test]
    fn a_long_body_is_compressed_in_pieces_and_a_short_one_at_once() {
        let long: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_be_bytes).collect();
        let response = compress(Response::new(Body::from(long.clone())), GZIP);
        assert_eq!(length(response.body()), None);
        let frames = ready(response);
        assert!(frames.iter().flatten().all(|frame| frame.len() <= 2 * PIECE_BYTES));
        assert_eq!(text(&frames), long);
        let response = compress(Response::new(Body::from("x".repeat(BYTES_MIN))), GZIP);
        assert!(length(response.body()).is_some_and(|bytes| bytes < 100));
        assert_eq!(text(&ready(response)), "x".repeat(BYTES_MIN).into_bytes());
    }

    #[test]
    fn bytes_are_unwritten_until_they_are_compressed_and_then_as_compressed_ones() {
        let long: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
        let response = compress(Response::new(Body::from(long.clone())), GZIP);
        let marks = response.extensions().clone();
        let StreamProgress(progress) = marks.get().expect("it is sent piece by piece");
        let coded: &Coded = marks.get().expect("it is compressed meanwhile");
        assert_eq!(coded.bytes, Some(long.len()));
        assert_eq!(usize::try_from(progress.unwritten()), Ok(long.len()));
        let frames = ready(response);
        let compressed: usize = frames.iter().flatten().map(Bytes::len).sum();
        assert_eq!(usize::try_from(progress.unwritten()), Ok(compressed));
        let small = compress(Response::new(Body::from("x".repeat(BYTES_MIN))), GZIP);
        assert!(small.extensions().get::<Coded>().is_none());
    }

    #[test]
    fn a_response_with_a_strong_tag_stays_as_it_is() {
        let body = "x".repeat(BYTES_MIN);
        for (tag, is_coded) in [("\"1\"", false), ("W/\"1\"", true)] {
            let mut response = Response::new(Body::from(body.clone()));
            response.headers_mut().insert(ETAG, HeaderValue::from_static(tag));
            let response = compress(response, GZIP);
            assert_eq!(response.headers().contains_key(CONTENT_ENCODING), is_coded, "{tag}");
        }
    }
}
