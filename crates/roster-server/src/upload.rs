//! A request body that is read piece by piece while its response is being sent.
//!
//! Only time spent waiting for the client counts for the minimum speed, not the time to process the
//! pieces. While the upload lasts, the client need not read the response. This module does not know
//! what the pieces are: the reader says how many of their bytes count for the minimum speed,
//! because a client could otherwise reach it with bytes that have no effect.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::atomic::Ordering,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::Body as _;
use tokio::time::{Instant, Sleep, sleep};

use crate::{BodyFault, Floor, Peer, connection_state::CountGuard};

/// A request body of any length, with its minimum speed.
#[derive(Debug)]
pub struct Upload {
    incoming: Body,
    peer: Peer,
    /// How much of the current window was spent waiting, and what arrived in it.
    waited: Duration,
    in_window: u64,
    /// When the wait for the client began, and when the window ends if the wait continues.
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    receiving: Option<CountGuard>,
    ended: bool,
}

impl Upload {
    /// Begins to read a body.
    pub fn new(incoming: Body, peer: &Peer) -> Self {
        Self {
            incoming,
            receiving: Some(CountGuard::receiving(&peer.state)),
            peer: peer.clone(),
            waited: Duration::ZERO,
            in_window: 0,
            since: None,
            timer: None,
            ended: false,
        }
    }

    /// Pauses reading until the client reads some of the response. Meanwhile the minimum speed of
    /// reading responses applies.
    pub fn hold(&mut self) {
        self.receiving = None;
    }

    /// Continues reading.
    pub fn resume(&mut self) {
        if !self.ended && self.receiving.is_none() {
            self.receiving = Some(CountGuard::receiving(&self.peer.state));
        }
    }

    /// The next piece; `None` at the end. Cancel-safe: dropping the future loses nothing and ends
    /// the wait.
    pub async fn next(&mut self) -> Result<Option<Bytes>, BodyFault> {
        let wait = Wait { upload: self };
        poll_fn(|context| wait.upload.poll_next(context)).await
    }

    /// Counts bytes that arrived and have an effect, for the minimum speed.
    pub const fn progress(&mut self, bytes: u64) {
        self.in_window = self.in_window.saturating_add(bytes);
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyFault>> {
        if self.ended {
            return Poll::Ready(Ok(None));
        }
        self.resume();
        loop {
            match Pin::new(&mut self.incoming).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers are ignored (RFC 9110 section 6.5.1).
                    let Ok(piece) = frame.into_data() else { continue };
                    return Poll::Ready(Ok(Some(piece)));
                }
                Poll::Ready(Some(Err(_))) => {
                    return Poll::Ready(Err(self.fail(BodyFault::Aborted)));
                }
                Poll::Ready(None) => {
                    self.end();
                    return Poll::Ready(Ok(None));
                }
                Poll::Pending => {}
            }
            ready!(self.poll_window(context));
            if self.in_window < self.peer.body_floor.bytes_per_window() {
                self.peer.state.slow_bodies.fetch_add(1, Ordering::Relaxed);
                return Poll::Ready(Err(self.fail(BodyFault::TooSlow)));
            }
            self.begin_window();
        }
    }

    /// Whether the window has ended.
    fn poll_window(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.since.is_none() {
            let left = self.window().saturating_sub(self.waited);
            let now = Instant::now();
            self.since = Some(now);
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(now + left),
                None => self.timer = Some(Box::pin(sleep(left))),
            }
        }
        self.timer.as_mut().map_or(Poll::Ready(()), |timer| timer.as_mut().poll(context))
    }

    fn begin_window(&mut self) {
        self.since = None;
        self.waited = Duration::ZERO;
        self.in_window = 0;
    }

    fn pause(&mut self) {
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
    }

    fn window(&self) -> Duration {
        Floor::window(self.peer.body_floor)
    }

    fn fail(&mut self, fault: BodyFault) -> BodyFault {
        self.end();
        fault
    }

    /// Ends the upload: from now on the client only has to read.
    fn end(&mut self) {
        self.ended = true;
        self.receiving = None;
    }
}

/// A wait for the client, which ends when this is dropped.
struct Wait<'a> {
    upload: &'a mut Upload,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.upload.pause();
    }
}
