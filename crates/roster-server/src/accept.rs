//! The accept loop and the drain.
//!
//! The loop never ends by itself: a failed accept is counted and tried again. At most
//! `connections_max` connections are open. This module does not know HTTP, except for one fixed
//! response to connections beyond the maximum.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, Interval, MissedTickBehavior, interval, sleep},
};
use tokio_rustls::TlsAcceptor;

use crate::identity::Identity;
use crate::{
    DrainReport, Handle, Peer, Port,
    address_limit::AddressLimit,
    connection::{Protocols, Shared, serve_connection},
    connection_state::ConnectionState,
    counters::ServerCounters,
    memory::ConnectionMemory,
    monitored_stream::prepare,
    reaper::Reaper,
    settings::{ServerSettings, milliseconds},
};

/// The pause after a failed accept for lack of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The minimum time for which connections are accepted after a stop while some are open. Active
/// clients get their last response within it.
const PARTING_MIN: Duration = Duration::from_millis(100);

/// The maximum number of connections that are taken from the kernel's queue at the stop.
const WAITING_MAX: usize = 4_096;

/// The maximum interval between two checks of the connections while they finish.
const DRAIN_TICK: Duration = Duration::from_millis(10);

/// The response to a connection beyond the limits, sent without reading a request.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\n\
    content-length: 116\r\n\
    retry-after: 1\r\n\
    connection: close\r\n\r\n\
    {\"title\":\"The service has too much to do\",\"status\":503\
    ,\"code\":\"overloaded\",\"detail\":\"too many connections are open\"}";

/// Serves connections from `port` until `stop` completes, then lets the open requests finish.
///
/// For `drain_delay_ms` after `stop` connections are still accepted, and every response is the last
/// of its connection. Then no connection is accepted. Returns when no connection is left, at most
/// `drain_timeout_ms` later. Another process may hold the listening socket too; connections that
/// were not accepted then wait for it.
pub async fn serve<H: Handle>(
    port: impl Into<Port>,
    handler: Arc<H>,
    settings: ServerSettings,
    counters: Arc<ServerCounters>,
    stop: impl Future<Output = ()>,
) -> DrainReport {
    let Port { listener, tls } = port.into();
    let reaper = Reaper::new(&settings, Arc::clone(&counters));
    let tls = tls.map(TlsAcceptor::from);
    let protocols = Protocols::new(&settings);
    let shared = Arc::new(Shared { handler, protocols, tls, counters, settings });
    let addresses = AddressLimit::new(&shared.settings);
    let mut gate = AcceptLoop { shared, reaper, addresses };
    gate.take_until(&listener, stop).await;
    gate.part(&listener).await;
    gate.take_waiting(listener);
    gate.drain().await
}

/// Accepts connections and runs the reaper.
struct AcceptLoop<H> {
    shared: Arc<Shared<H>>,
    reaper: Reaper,
    addresses: AddressLimit,
}

impl<H: Handle> AcceptLoop<H> {
    /// Accepts connections until `end` completes.
    async fn take_until(&mut self, listener: &TcpListener, end: impl Future<Output = ()>) {
        let mut ticker = ticker(self.shared.settings.tick());
        let mut end = pin!(end);
        let memory = Arc::clone(&self.shared.counters.memory);
        loop {
            tokio::select! {
                biased;
                () = &mut end => return,
                now = ticker.tick() => self.reaper.pass(now),
                () = memory.exceeded() => self.reaper.free_memory(Instant::now()),
                accepted = listener.accept() => match accepted {
                    Ok((stream, address)) => self.take(stream, address),
                    Err(error) => failed(&self.shared.counters, &error).await,
                },
            }
        }
    }

    /// Continues for the drain's delay, with responses that are the last of their connection. So an
    /// active client learns of the end from a response, and sends no request on a closing
    /// connection.
    async fn part(&mut self, listener: &TcpListener) {
        self.reaper.announce();
        let delay = milliseconds(self.shared.settings.drain_delay_ms);
        if self.shared.counters.open.get() > 0 {
            self.take_until(listener, sleep(delay.max(PARTING_MIN))).await;
        } else if !delay.is_zero() {
            self.take_until(listener, sleep(delay)).await;
        }
    }

    /// Accepts the connections that the kernel has queued and would reset, then stops listening.
    /// Unless another process holds the socket too, the kernel then refuses new connections.
    fn take_waiting(&mut self, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else { return };
        for _ in 0..WAITING_MAX {
            let Ok((stream, address)) = listener.accept() else { return };
            let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            if let Ok(stream) = stream {
                self.take(stream, address);
            }
        }
    }

    fn take(&mut self, stream: TcpStream, address: SocketAddr) {
        let Self { shared, reaper, addresses } = self;
        let counters = &shared.counters;
        let limit = u64::try_from(shared.settings.connections_max).unwrap_or(u64::MAX);
        let permit = addresses.take(address.ip());
        let count = if permit.is_none() { &counters.refused_of_address } else { &counters.refused };
        let Some(permit) = permit.filter(|_| counters.open.get() < limit) else {
            count.inc();
            // A client that expects a TLS handshake could not parse it.
            if shared.tls.is_none() {
                refuse(stream);
            }
            return;
        };
        shared.counters.accepted.inc();
        shared.counters.open.inc();
        if let Err(error) = prepare(&stream, &shared.settings) {
            tracing::debug!(%error, "a socket option was refused");
        }
        let memory = ConnectionMemory::new(&counters.memory, Identity::of_address(address.ip()));
        let state = Arc::new(ConnectionState::new(memory));
        reaper.add(Arc::clone(&state), Instant::now());
        let tls = shared.tls.is_some();
        let peer = Peer { address, tls, body_floor: shared.settings.body_floor(), state };
        tokio::spawn(serve_connection(Arc::clone(shared), stream, peer, permit));
    }

    /// Waits for the connections to finish, and closes those that do not finish in time.
    async fn drain(mut self) -> DrainReport {
        let Self { shared, reaper, .. } = &mut self;
        let deadline = Instant::now() + milliseconds(shared.settings.drain_timeout_ms);
        let open = shared.counters.open.get();
        let mut ticker = ticker(shared.settings.tick().min(DRAIN_TICK));
        while shared.counters.open.get() > 0 {
            let now = ticker.tick().await;
            if now >= deadline {
                let cut = reaper.cut_all();
                return DrainReport { finished: open.saturating_sub(cut), cut };
            }
            reaper.finish(now);
            reaper.pass(now);
        }
        DrainReport { finished: open, cut: 0 }
    }
}

fn ticker(every: Duration) -> Interval {
    let mut ticker = interval(every);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticker
}

/// Sends the fixed response with a single write, and closes the connection.
fn refuse(stream: TcpStream) {
    let told = stream.into_std().and_then(|mut stream| stream.write(REFUSAL));
    if let Err(error) = told {
        tracing::debug!(%error, "a refused connection was gone already");
    }
}

/// Handles a failed accept. An error of a single connection is ignored. A lack of file descriptors
/// or memory lasts, so the loop pauses instead of using up the processor.
async fn failed(counters: &ServerCounters, error: &io::Error) {
    let own = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    );
    if !own {
        counters.accept_failures.inc();
        tracing::warn!(%error, "cannot accept connections; trying again");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}
