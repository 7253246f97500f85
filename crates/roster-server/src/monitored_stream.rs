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

/// A socket that reports to the state of its connection.
pub(crate) struct MonitoredStream {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    written: u64,
    blocked: bool,
    peer_ended: bool,
    shut: bool,
    /// The counted memory of a head after its first piece.
    head: Option<HeldBytes>,
}

impl MonitoredStream {
    pub(crate) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self {
            stream,
            state,
            written: 0,
            blocked: false,
            peer_ended: false,
            shut: false,
            head: None,
        }
    }

    /// Waits for the first byte, without consuming it. Returns `None` if the peer closes first.
    pub(crate) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let count = self.stream.peek(&mut first).await?;
        Ok((count > 0).then_some(first[0]))
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

    /// Counts the memory of an incomplete head until the request is parsed. A head that arrives at
    /// once is not counted here. Over HTTP/2 heads are counted after parsing.
    fn count_head(&mut self, bytes: usize) {
        if self.state.is_http2() || !self.state.is_within_head() {
            self.head = None;
            return;
        }
        let memory = self.state.memory();
        // A head has its own limit.
        match &mut self.head {
            Some(head) => head.grow(bytes),
            None => self.head = Some(memory.hold(bytes)),
        }
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
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(Ok(())) if buffer.filled().len() == before => self.peer_ended = true,
            Poll::Ready(Ok(())) => {
                self.count_head(buffer.filled().len() - before);
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
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.shut = true;
            self.state.closing.set(true);
        }
        if self.state.is_quiet() {
            return Poll::Ready(Ok(()));
        }
        let mut scratch = [0_u8; 4_096];
        while !self.peer_ended {
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) => self.peer_ended = buffer.filled().is_empty(),
                // The peer is gone.
                Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for MonitoredStream {
    fn drop(&mut self) {
        if self.state.order() == Order::Reset {
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
            MonitoredStream::new(TcpStream::from_std(stream).unwrap(), Arc::clone(&state));
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
