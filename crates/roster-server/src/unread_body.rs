//! The body of an HTTP/1 request that the handler does not read to its end.
//!
//! What is left must be read before the next request. A short rest is discarded. Otherwise the
//! connection ends with the response, and the response says so (RFC 9112 section 9.6).

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Version, header::EXPECT};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;

/// The largest rest of a body that is discarded.
const DISCARDED_BYTES_MAX: u64 = 64 * 1024;
/// The maximum time for the rest to arrive.
const REST_WITHIN: Duration = Duration::from_millis(50);

/// What the handler leaves of a body. `None` for a request without a body, or one over HTTP/2.
pub(crate) struct UnreadBody {
    left: Option<Arc<Mutex<Option<Incoming>>>>,
    /// Whether the client waits for `100 Continue` before it sends the body.
    expects_continue: bool,
}

/// A body that puts back what is left of it.
struct WatchedBody {
    incoming: Option<Incoming>,
    left: Arc<Mutex<Option<Incoming>>>,
}

impl UnreadBody {
    /// A request whose body is watched.
    pub(crate) fn watch(request: Request<Incoming>) -> (Request<Body>, Self) {
        let expectation = request.headers().get(EXPECT);
        let expects_continue =
            expectation.is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"100-continue"));
        if request.body().is_end_stream() {
            return (request.map(|_| Body::empty()), Self { left: None, expects_continue });
        }
        if request.version() == Version::HTTP_2 {
            return (request.map(Body::new), Self { left: None, expects_continue });
        }
        let left = Arc::default();
        let watched = request.map(|incoming| {
            Body::new(WatchedBody { incoming: Some(incoming), left: Arc::clone(&left) })
        });
        (watched, Self { left: Some(left), expects_continue })
    }

    /// Whether a part of the body is left that is not discarded.
    pub(crate) async fn is_left(&self) -> bool {
        let left = self.left.as_ref();
        let left = left.and_then(|left| left.lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(rest) = left else { return false };
        // Reading would ask the client for the body.
        if self.expects_continue || rest.size_hint().lower() > DISCARDED_BYTES_MAX {
            return true;
        }
        !matches!(timeout(REST_WITHIN, discard(rest)).await, Ok(true))
    }
}

/// Reads a short rest of a body. Returns whether it ended.
async fn discard(mut rest: Incoming) -> bool {
    let mut count = 0;
    while let Some(frame) = rest.frame().await {
        let Ok(frame) = frame else { return false };
        count += frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
        if count > DISCARDED_BYTES_MAX {
            return false;
        }
    }
    true
}

impl http_body::Body for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(incoming).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.incoming = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        let rest = mem::take(&mut self.incoming).filter(|rest| !rest.is_end_stream());
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = rest;
    }
}
