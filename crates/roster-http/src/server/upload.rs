//! A request body that is taken in piece by piece while its answer is already on its way.
//!
//! Only time spent waiting for the caller counts against it: what we need to carry out the pieces
//! does not. While it lasts, the caller need not read the answer. This module must not know what
//! the pieces are: who takes them says how many of their bytes count for the floor, since a caller
//! could keep above it by bytes that say nothing.

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

use super::{BodyFault, Floor, Peer, connection_state::CountGuard};

/// A request body of any length, held to its floor.
#[derive(Debug)]
pub struct Upload {
    incoming: Body,
    peer: Peer,
    /// What of the present window was spent waiting, and what came in it.
    waited: Duration,
    in_window: u64,
    /// Since when the caller is being waited for, and when the window will be over if it goes on.
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    receiving: Option<CountGuard>,
    ended: bool,
}

impl Upload {
    /// Begins to take in a body.
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

    /// No more can be taken in until the caller reads some of the answer: from here on it is held
    /// to the speed at which answers must be taken.
    pub fn hold(&mut self) {
        self.receiving = None;
    }

    /// More can be taken in again.
    pub fn resume(&mut self) {
        if !self.ended && self.receiving.is_none() {
            self.receiving = Some(CountGuard::receiving(&self.peer.state));
        }
    }

    /// The next piece; `None` at the end. Dropped before it is done, nothing is lost and the wait
    /// is over.
    pub async fn next(&mut self) -> Result<Option<Bytes>, BodyFault> {
        let wait = Wait { upload: self };
        poll_fn(|context| wait.upload.poll_next(context)).await
    }

    /// Counts bytes that came, and say something, for the floor of speed.
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
                    // Trailers mean nothing to us and are passed over (RFC 9110 6.5.1).
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

    /// Whether the window is over.
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

    /// From here on the caller has nothing to do but to read.
    fn end(&mut self) {
        self.ended = true;
        self.receiving = None;
    }
}

/// A wait for the caller, over when it is dropped.
struct Wait<'a> {
    upload: &'a mut Upload,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.upload.pause();
    }
}
