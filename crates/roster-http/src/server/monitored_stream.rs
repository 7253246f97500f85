//! The accepted socket, as hyper, or TLS below it, reads and writes it.
//!
//! It notes in the connection's state what comes in and what the kernel takes, closes our side
//! first and waits for the peer's, and throws away what the kernel holds when the connection is
//! reset. It must not know HTTP or time.

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

use super::{
    connection_state::{ConnectionState, Order},
    memory::HeldBytes,
    settings::{ServerSettings, milliseconds},
};

/// How much unsent data the kernel takes before it reports a full socket. The kernel's own
/// buffers grow to megabytes, in which a caller that never reads would go unnoticed.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 64 * 1024;

/// A socket that reports to the state of its connection.
pub(super) struct MonitoredStream {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    written: u64,
    blocked: bool,
    peer_ended: bool,
    shut: bool,
    /// Counts what came of a head after its first piece.
    head: Option<HeldBytes>,
}

impl MonitoredStream {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
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

    /// The first byte that comes in, which is left to be read; nothing if the peer ends before.
    pub(super) async fn first_byte(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let count = self.stream.peek(&mut first).await?;
        Ok((count > 0).then_some(first[0]))
    }

    /// A caller that sends a long body before it reads a byte of the answer keeps its window shut
    /// for as long as that takes, and the kernel would drop it. Once such a body has begun, the
    /// reaper alone judges the connection.
    fn be_patient(&self) {
        if !self.state.grows_patient() {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Err(error) = SockRef::from(&self.stream).set_tcp_user_timeout(None) {
            tracing::debug!(%error, "a socket option was refused");
        }
    }

    /// Counts the pieces of a head until the request is read: what arrives at once costs nothing
    /// here. Over HTTP/2 heads are counted once they are read.
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

    /// Whoever is about to take leave looks once more: bytes may lie in the socket of which the
    /// runtime has not heard yet. It will, and then they are read.
    fn look(&self) {
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

/// Sets what every accepted socket has. A socket that refuses an option is served without it:
/// the peer may have gone already, which shows soon enough.
pub(super) fn prepare(stream: &TcpStream, settings: &ServerSettings) -> io::Result<()> {
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
        self.be_patient();
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(Ok(())) if buffer.filled().len() == before => self.peer_ended = true,
            Poll::Ready(Ok(())) => {
                self.count_head(buffer.filled().len() - before);
                self.state.note_read();
            }
            Poll::Ready(Err(error)) => self.failed(error),
            Poll::Pending => self.look(),
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

    /// Closes our side, then reads and discards until the peer closes its own. Closing a socket
    /// with unread bytes makes the kernel send a reset, which can overtake our last answer (RFC
    /// 9112 9.6). How long that may take is for the reaper to say.
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
                // The peer is gone: there is nobody left to wait for.
                Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for MonitoredStream {
    fn drop(&mut self) {
        if self.state.order() == Order::Reset {
            // Without this the kernel would go on holding and offering what the peer never reads.
            // Where it fails the connection closes in the usual way.
            let _closed_anyway = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, io::Write as _, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn bytes_of_which_the_runtime_has_not_heard_keep_a_connection_from_leaving() {
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
        // No await in between lets the runtime hear of it.
        peer.write_all(b"GET").unwrap();
        assert!(!read().await, "the runtime has heard of it: this test tests nothing");
        assert!(!state.may_leave());
    }
}
