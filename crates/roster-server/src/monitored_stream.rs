//! The accepted socket, which hyper or TLS reads and writes.
//!
//! It records in the connection's state which bytes were received and which the kernel accepted. It
//! closes the sending side first and waits until the peer closes its own. When the connection is
//! reset, it discards the bytes that the kernel has not sent. This module does not know HTTP or
//! time.

use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    task::coop,
};

use crate::{
    connection_state::{ConnectionState, Order},
    memory::HeldBytes,
    settings::{ServerSettings, milliseconds},
};

/// The unsent bytes at which the kernel reports the socket as full. The kernel's own buffers grow
/// to megabytes, which would hide a client that never reads.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 64 * 1024;

/// The bytes that are read and discarded after the end of an HTTP/2 connection.
const DISCARDED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Each time this many bytes were read, the connection uses up one unit of the work that its task
/// may do before other tasks have their turn. Small frames, records and requests cost more time
/// than their number of reads shows.
const BYTES_PER_COOP_UNIT: usize = 128;

/// A socket that reports to the state of its connection.
pub(crate) struct MonitoredStream {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    received: u64,
    /// The bytes that were read and have used no unit of work yet.
    uncharged: usize,
    written: u64,
    blocked: bool,
    peer_ended: bool,
    shut: bool,
    discarded: usize,
    /// The counted memory of a head that has not arrived completely.
    head: Option<HeldBytes>,
    /// The size at which a head is refused.
    head_bytes_max: usize,
}

impl MonitoredStream {
    pub(crate) fn new(
        stream: TcpStream,
        state: Arc<ConnectionState>,
        head_bytes_max: usize,
    ) -> Self {
        Self {
            stream,
            state,
            received: 0,
            uncharged: 0,
            written: 0,
            blocked: false,
            peer_ended: false,
            shut: false,
            discarded: 0,
            head: None,
            head_bytes_max,
        }
    }

    /// Waits for the first bytes, without consuming them. Returns those that arrived, as far as
    /// the buffer has room; none if the peer closes first.
    pub(crate) async fn first_bytes<'b>(&self, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let count = self.stream.peek(buffer).await?;
        Ok(buffer.get(..count).unwrap_or_default())
    }

    /// Turns off the kernel's timeout once a long body has begun. A client that sends such a body
    /// before it reads the response keeps its receive window closed meanwhile, and the kernel would
    /// drop the connection. The reaper alone then decides when to close it.
    fn disable_kernel_timeout(&self) {
        if !self.state.grows_patient() {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Err(error) = SockRef::from(&self.stream).set_tcp_user_timeout(None) {
            tracing::debug!(%error, "a socket option was refused");
        }
    }

    fn count_received(&mut self, bytes: usize) {
        self.received += u64::try_from(bytes).unwrap_or_default();
        self.state.received.store(self.received, Ordering::Relaxed);
        self.uncharged += bytes;
        self.count_head(bytes);
    }

    /// Counts the memory of an incomplete head of HTTP/1, or of a TLS handshake, until it is
    /// parsed. A head that arrives at once is not counted here. Frames of HTTP/2 are counted by
    /// the [`crate::flood_guard`], and heads after parsing.
    fn count_head(&mut self, bytes: usize) {
        if self.shut || self.state.is_http2() || !self.state.is_within_head() {
            self.head = None;
            return;
        }
        let memory = self.state.memory();
        // A longer head is refused and not kept.
        match &mut self.head {
            Some(head) => head.set((head.bytes() + bytes).min(self.head_bytes_max)),
            None => self.head = Some(memory.hold(bytes.min(self.head_bytes_max))),
        }
    }

    /// Lets other tasks have their turn after a certain number of bytes.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.uncharged >= BYTES_PER_COOP_UNIT {
            ready!(coop::poll_proceed(context)).made_progress();
            self.uncharged -= BYTES_PER_COOP_UNIT;
        }
        Poll::Ready(())
    }

    fn wrote(&mut self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &outcome {
            Poll::Ready(Ok(count)) => {
                self.written += u64::try_from(*count).unwrap_or_default();
                self.state.written.store(self.written, Ordering::Relaxed);
                self.set_blocked(false);
            }
            Poll::Ready(Err(error)) => self.failed(error),
            Poll::Pending => self.set_blocked(true),
        }
        outcome
    }

    fn set_blocked(&mut self, blocked: bool) {
        if self.blocked != blocked {
            self.blocked = blocked;
            self.state.blocked.set(blocked);
        }
    }

    /// Checks for unread bytes in the socket before the connection is shut down, because the
    /// runtime may not have reported them yet. Once it reports them, they are read.
    fn look_for_unread_bytes(&self) {
        if self.state.order() != Order::Finish {
            return;
        }
        let mut first = [MaybeUninit::uninit(); 1];
        if SockRef::from(&self.stream).peek(&mut first).is_ok_and(|count| count > 0) {
            self.state.note_read();
        }
    }

    /// Whether a client of HTTP/2 has sent more after the end than its window allowed. Over HTTP/1
    /// a client may send a long body before it reads the response.
    fn has_discarded_enough(&self) -> bool {
        self.state.is_http2() && self.discarded > DISCARDED_BYTES_MAX
    }

    fn failed(&self, error: &io::Error) {
        if error.kind() == io::ErrorKind::TimedOut {
            self.state.stalled.set(true);
        }
    }
}

/// Sets the options of an accepted socket. If an option fails, the socket is served without it: the
/// peer may have disconnected, which the next read reports.
pub(crate) fn prepare(stream: &TcpStream, settings: &ServerSettings) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    {
        let socket = SockRef::from(stream);
        socket.set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
        socket.set_tcp_user_timeout(Some(milliseconds(settings.stall_timeout_ms)))?;
    }
    Ok(())
}

impl AsyncRead for MonitoredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.disable_kernel_timeout();
        ready!(self.poll_turn(context));
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(Ok(())) if buffer.filled().len() == before => self.peer_ended = true,
            Poll::Ready(Ok(())) => {
                self.count_received(buffer.filled().len() - before);
                self.state.note_read();
            }
            Poll::Ready(Err(error)) => self.failed(error),
            Poll::Pending => self.look_for_unread_bytes(),
        }
        outcome
    }
}

impl AsyncWrite for MonitoredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes the sending side, then reads and discards until the peer closes its own. Closing a
    /// socket with unread bytes makes the kernel send a reset, which can overtake the last response
    /// (RFC 9112 section 9.6). The reaper bounds the time.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.shut {
            // hyper has written the whole response.
            self.state.ends_with_connection.set(false);
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.shut = true;
            self.state.closing.set(true);
        }
        if self.state.is_quiet() {
            return Poll::Ready(Ok(()));
        }
        let mut scratch = [0_u8; 4_096];
        while !self.peer_ended && !self.has_discarded_enough() {
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) => {
                    self.peer_ended = buffer.filled().is_empty();
                    self.discarded += buffer.filled().len();
                }
                // The peer is gone.
                Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for MonitoredStream {
    fn drop(&mut self) {
        // With a normal end, a client of HTTP/1.0 would take a part for the whole response.
        let is_cut = self.state.ends_with_connection.is_set();
        if self.state.order() == Order::Reset || is_cut {
            // Without this the kernel would keep and resend the data that the peer never reads. If
            // it fails, the connection closes normally.
            let _closed_anyway = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, io::Write as _, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn bytes_that_the_runtime_has_not_reported_prevent_shutdown() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let state = Arc::new(ConnectionState::default());
        let mut stream =
            MonitoredStream::new(TcpStream::from_std(stream).unwrap(), Arc::clone(&state), 8_192);
        let mut read = async || {
            let mut bytes = [0; 8];
            let mut buffer = ReadBuf::new(&mut bytes);
            poll_fn(|context| {
                let read = Pin::new(&mut stream).poll_read(context, &mut buffer);
                Poll::Ready(read.is_ready())
            })
            .await
        };
        state.tell(Order::Finish);
        assert!(!read().await);
        assert!(state.may_leave());
        // There is no await in between, so the runtime has not noticed the bytes.
        peer.write_all(b"GET").unwrap();
        assert!(!read().await, "the runtime knows of the bytes, so this test checks nothing");
        assert!(!state.may_leave());
    }
}
