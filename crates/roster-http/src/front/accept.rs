//! The accept loop and the drain.
//!
//! The loop never ends by itself: a failing accept is counted and tried again. At most
//! `connections_max` connections are open. It must not know HTTP, but for the one fixed answer to
//! connections beyond that.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    DrainReport, Handle, Peer,
    connection::{Shared, protocol, serve_connection},
    counters::FrontCounters,
    settings::{FrontSettings, milliseconds},
    sweep::Sweep,
    watch::Watch,
    wire::prepare,
};

/// How long accepting rests when the system is out of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a connection beyond `connections_max` is told, without being read.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\n\
    content-length: 117\r\n\
    retry-after: 1\r\n\
    connection: close\r\n\r\n\
    {\"title\":\"The service cannot do this now\",\"status\":503\
    ,\"code\":\"unavailable\",\"detail\":\"too many connections are open\"}";

/// Serves connections from `listener` until `stop` completes, then lets the open requests finish.
///
/// Returns when no connection is left, at the latest `drain_timeout_ms` after `stop`.
pub async fn serve<H: Handle>(
    listener: TcpListener,
    handler: Arc<H>,
    settings: FrontSettings,
    counters: Arc<FrontCounters>,
    stop: impl Future<Output = ()>,
) -> DrainReport {
    let mut sweep = Sweep::new(&settings, Arc::clone(&counters));
    let shared = Arc::new(Shared { handler, protocol: protocol(&settings), counters, settings });
    let mut ticker = interval(shared.settings.tick());
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            now = ticker.tick() => sweep.pass(now),
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => take(&shared, &mut sweep, stream, address),
                Err(error) => failed(&shared.counters, &error).await,
            },
        }
    }
    // The kernel refuses further connections from here on.
    drop(listener);
    drain(&shared, &mut sweep).await
}

fn take<H: Handle>(
    shared: &Arc<Shared<H>>,
    sweep: &mut Sweep,
    stream: TcpStream,
    address: SocketAddr,
) {
    let limit = u64::try_from(shared.settings.connections_max).unwrap_or(u64::MAX);
    if shared.counters.open.get() >= limit {
        shared.counters.refused.up();
        refuse(stream);
        return;
    }
    shared.counters.accepted.up();
    shared.counters.open.up();
    if let Err(error) = prepare(&stream, &shared.settings) {
        tracing::debug!(%error, "a socket option was refused");
    }
    let watch = Arc::new(Watch::default());
    sweep.add(Arc::clone(&watch), Instant::now());
    let peer = Peer { address, body_floor: shared.settings.body_floor(), watch };
    tokio::spawn(serve_connection(Arc::clone(shared), stream, peer));
}

/// Tells a caller that we are full, as far as one write goes, and hangs up.
fn refuse(stream: TcpStream) {
    let told = stream.into_std().and_then(|mut stream| stream.write(REFUSAL));
    if let Err(error) = told {
        tracing::debug!(%error, "a refused connection was gone already");
    }
}

/// A failed accept. What concerns one connection alone is passed over; want of file descriptors
/// or memory lasts, and trying at once would only burn the processor.
async fn failed(counters: &FrontCounters, error: &io::Error) {
    let own = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    );
    if !own {
        counters.accept_failures.up();
        tracing::warn!(%error, "cannot accept connections; trying again");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

async fn drain<H>(shared: &Shared<H>, sweep: &mut Sweep) -> DrainReport {
    let began = Instant::now();
    let deadline = began + milliseconds(shared.settings.drain_timeout_ms);
    let open = shared.counters.open.get();
    sweep.finish_all(began);
    let mut ticker = interval(shared.settings.tick().min(Duration::from_millis(20)));
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while shared.counters.open.get() > 0 {
        let now = ticker.tick().await;
        if now >= deadline {
            let cut = sweep.cut_all();
            return DrainReport { finished: open.saturating_sub(cut), cut };
        }
        sweep.pass(now);
    }
    DrainReport { finished: open, cut: 0 }
}
