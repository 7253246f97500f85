//! The limit of what a peer sends that belongs to no request.
//!
//! With HTTP/2 a client may send frames without end that ask for nothing: priorities, windows,
//! pings, settings, resets of requests, frames of unknown types. Under TLS it may send records
//! without content. The service must read all of them, so each connection has an allowance. What
//! carries a body restores it, and so do responses, written bytes, and time. A connection that has
//! used up its allowance is closed. This module counts plain bytes: it is between TLS and HTTP.

use std::{
    io::{self, IoSlice},
    mem,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    task::coop,
    time::Instant,
};

use crate::{
    connection_state::ConnectionState,
    frames::{Frame, Protocol},
    memory::HeldBytes,
};

/// What a connection may send at once that belongs to no request, in points: one for each byte, and
/// those of its frames.
const POINTS_MAX: u64 = 256_000;
/// What each millisecond restores.
const POINTS_PER_MS: u64 = 6;
/// The points of a frame, in addition to its bytes.
const FRAME_POINTS: u64 = 64;
/// The points of a frame with header fields. Its bytes belong to a request.
const HEADERS_POINTS: u64 = 128;
/// The points of a frame that the service answers or that cancels a request, in addition to its
/// bytes.
const DEMAND_POINTS: u64 = 128;
/// What each byte of a body restores.
const BODY_POINTS: u64 = 4;
/// What each response restores: more than an ordinary client uses up for a request.
const RESPONSE_POINTS: u64 = 1_024;
/// What each written byte restores. The answer to a demand restores less than the demand costs.
const WRITTEN_POINTS: u64 = 4;
/// Each time this many frames arrived, the connection uses up one unit of the work that its task
/// may do before other tasks have their turn.
const FRAMES_PER_COOP_UNIT: u64 = 4;
/// TLS may have read this many bytes more than it has returned.
const TLS_BUFFER_BYTES: u64 = 64 * 1024;

/// A stream that counts what arrives.
pub(crate) struct FloodGuard<S> {
    stream: S,
    state: Arc<ConnectionState>,
    protocol: Protocol,
    allowance: Allowance,
    /// The responses that have restored points.
    responses: u32,
    /// The bytes that were read from this stream, and those that the socket had received before.
    plain: u64,
    /// The bytes of TLS that are charged.
    tls: u64,
    /// The memory of frames and header blocks that are not complete.
    unfinished: Option<HeldBytes>,
    /// The frames that arrived and have used no unit of work yet.
    uncharged: u64,
}

/// The points that a connection has used.
#[derive(Debug)]
struct Allowance {
    used: u64,
    restored: Instant,
}

impl Allowance {
    fn new() -> Self {
        Self { used: 0, restored: Instant::now() }
    }

    fn charge(&mut self, points: u64) {
        self.used = self.used.saturating_add(points);
    }

    fn restore(&mut self, points: u64) {
        self.used = self.used.saturating_sub(points);
    }

    /// Whether the connection has used more than it may. The clock is read only then.
    fn is_exceeded(&mut self) -> bool {
        if self.used <= POINTS_MAX {
            return false;
        }
        let passed = self.restored.elapsed();
        self.restored += passed;
        self.restore(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX) * POINTS_PER_MS);
        self.used > POINTS_MAX
    }
}

impl<S> FloodGuard<S> {
    pub(crate) fn new(stream: S, state: Arc<ConnectionState>) -> Self {
        Self {
            stream,
            protocol: Protocol::Unknown(0),
            allowance: Allowance::new(),
            responses: 0,
            plain: state.received.load(Ordering::Relaxed),
            tls: 0,
            unfinished: None,
            uncharged: 0,
            state,
        }
    }

    /// Counts what was read. Fails once the allowance is used up.
    fn count(&mut self, read: &[u8]) -> io::Result<()> {
        let responses = self.state.responses.load(Ordering::Relaxed);
        let new = responses.wrapping_sub(mem::replace(&mut self.responses, responses));
        self.allowance.restore(u64::from(new) * RESPONSE_POINTS);
        let Self { protocol, allowance, uncharged, .. } = self;
        protocol.take(read, |frame| {
            *uncharged += 1;
            match frame {
                Frame::Headers => allowance.charge(HEADERS_POINTS),
                Frame::Data(length) => {
                    allowance.charge(FRAME_POINTS);
                    allowance.restore(points(length) * BODY_POINTS);
                }
                Frame::Demand(length) => allowance.charge(DEMAND_POINTS + points(length)),
                Frame::Other(length) => allowance.charge(FRAME_POINTS + points(length)),
            }
        });
        match protocol {
            Protocol::Http1 => allowance.restore(points(read.len()) * BODY_POINTS),
            Protocol::Http2(_) => self.state.set_http2(),
            Protocol::Unknown(_) => {}
        }
        self.count_memory();
        self.count_tls(read.len());
        if self.allowance.is_exceeded() {
            self.state.flooded.set(true);
            return Err(io::Error::other("the peer sent too much that belongs to no request"));
        }
        Ok(())
    }

    fn count_memory(&mut self) {
        let bytes = self.protocol.unfinished();
        match &mut self.unfinished {
            Some(held) => held.set(bytes),
            None if bytes > 0 => self.unfinished = Some(self.state.memory().hold(bytes)),
            None => {}
        }
    }

    /// Charges what TLS reads and does not return.
    fn count_tls(&mut self, read: usize) {
        self.plain = self.plain.saturating_add(points(read));
        let received = self.state.received.load(Ordering::Relaxed);
        let lost = received.saturating_sub(self.plain).saturating_sub(TLS_BUFFER_BYTES);
        self.allowance.charge(lost.saturating_sub(self.tls));
        self.tls = self.tls.max(lost);
    }

    fn wrote(&mut self, outcome: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(count)) = outcome {
            self.allowance.restore(points(*count) * WRITTEN_POINTS);
        }
    }
}

fn points(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl<S: AsyncRead + Unpin> AsyncRead for FloodGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.uncharged >= FRAMES_PER_COOP_UNIT {
            ready!(coop::poll_proceed(context)).made_progress();
            self.uncharged -= FRAMES_PER_COOP_UNIT;
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.count(buffer.filled().get(before..).unwrap_or_default())?;
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FloodGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};

    use super::*;

    fn guard() -> (FloodGuard<DuplexStream>, DuplexStream, Arc<ConnectionState>) {
        let (stream, peer) = duplex(1_000_000);
        let state = Arc::<ConnectionState>::default();
        (FloodGuard::new(stream, Arc::clone(&state)), peer, state)
    }

    #[tokio::test]
    async fn records_without_content_use_up_the_allowance() {
        let (mut guard, mut peer, state) = guard();
        let mut content = [0; 10];
        for received in (0..).step_by(10_000) {
            state.received.store(received, Ordering::Relaxed);
            tokio::io::AsyncWriteExt::write_all(&mut peer, b"x").await.unwrap();
            if guard.read(&mut content).await.is_err() {
                assert!(received >= POINTS_MAX && state.flooded.is_set());
                return;
            }
            assert!(received < 2 * POINTS_MAX);
        }
    }

    #[tokio::test]
    async fn content_that_tls_returns_later_uses_up_nothing() {
        let (mut guard, mut peer, state) = guard();
        let mut content = [0; 10_000];
        for round in 1..1_000 {
            state.received.store(round * 10_000, Ordering::Relaxed);
            tokio::io::AsyncWriteExt::write_all(&mut peer, &[b'x'; 9_500]).await.unwrap();
            guard.read_exact(&mut content[..5_000]).await.unwrap();
            guard.read_exact(&mut content[..4_500]).await.unwrap();
        }
        assert!(!state.flooded.is_set());
    }

    #[test]
    fn time_restores_the_allowance() {
        let mut allowance = Allowance::new();
        allowance.charge(POINTS_MAX);
        assert!(!allowance.is_exceeded());
        allowance.charge(1);
        assert!(allowance.is_exceeded());
        allowance.restored -= std::time::Duration::from_secs(1);
        assert!(!allowance.is_exceeded());
    }
}
