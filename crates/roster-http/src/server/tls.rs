//! The handshake: from a bare stream to a protected one, or to nothing.
//!
//! What is offered is what Mozilla calls intermediate, or modern where TLS 1.3 is the least. No
//! session is resumed: every connection is shown the present certificate, and no secret outlives
//! its connection. Whoever speaks HTTP in the clear is told so and never redirected. This module
//! must not know where certificates come from.

use std::{
    future::poll_fn,
    io,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::AsyncWriteExt as _;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig, SupportedProtocolVersion,
        crypto::ring::default_provider,
        server::{NoServerSessionStorage, ResolvesServerCert},
        version::{TLS12, TLS13},
    },
    server::TlsStream,
};

use super::{
    connection_state::{ConnectionState, Order},
    counters::ServerCounters,
    monitored_stream::MonitoredStream,
};

/// The protocols that are offered within the handshake, the better one first (RFC 7301).
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// What a caller is told who speaks HTTP in the clear.
const IN_THE_CLEAR: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: application/problem+json\r\n\
    content-length: 148\r\n\
    connection: close\r\n\r\n\
    {\"title\":\"The request is not well formed\",\"status\":400,\"code\":\"invalid-request\"\
    ,\"detail\":\"this port speaks TLS: write https:// in place of http://\"}";

/// The least version of TLS that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeastTls {
    /// 1.2, with forward secrecy and authenticated ciphers alone.
    V1_2,
    /// 1.3.
    V1_3,
}

/// How TLS is spoken with these certificates; for [`super::Port`].
///
/// The error is rustls' own, for a provider that knows neither version: ours knows both.
pub fn tls_config(
    least: LeastTls,
    certificates: Arc<dyn ResolvesServerCert>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let versions: &[&SupportedProtocolVersion] = match least {
        LeastTls::V1_2 => &[&TLS13, &TLS12],
        LeastTls::V1_3 => &[&TLS13],
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    // Where nothing is kept, no ticket is given out, and without tickets there is no early data.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Whether HTTP/2 was agreed upon. What was agreed upon is what is spoken (RFC 9113 section 3.2).
pub(super) fn is_http2(stream: &TlsStream<MonitoredStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP2)
}

/// Why there is no protected stream.
enum Failure {
    /// The caller left without a word, as who looks whether a port is open does.
    Silent,
    /// The caller speaks HTTP in the clear.
    InTheClear(MonitoredStream),
    Handshake(io::Error),
}

/// Makes the handshake. Nothing comes of one that fails, which is counted, nor of one that is under
/// way when the connection has to end. The reaper bounds its time as that of a first head.
pub(super) async fn protect(
    acceptor: &TlsAcceptor,
    stream: MonitoredStream,
    state: &ConnectionState,
    counters: &ServerCounters,
) -> Option<TlsStream<MonitoredStream>> {
    let failure = match unless_told(state, greet(acceptor, stream)).await? {
        Ok(stream) => {
            state.greeted();
            return Some(stream);
        }
        Err(failure) => failure,
    };
    match failure {
        Failure::Silent => return None,
        Failure::InTheClear(stream) => {
            tracing::debug!("a caller speaks HTTP in the clear on a port of TLS");
            unless_told(state, tell_in_the_clear(stream)).await;
        }
        Failure::Handshake(error) => tracing::debug!(%error, "a TLS handshake failed"),
    }
    counters.failed_handshakes.inc();
    None
}

async fn greet(
    acceptor: &TlsAcceptor,
    stream: MonitoredStream,
) -> Result<TlsStream<MonitoredStream>, Failure> {
    match stream.first_byte().await {
        // A method begins with a capital, and no record of TLS begins with one.
        Ok(Some(byte)) if byte.is_ascii_uppercase() => Err(Failure::InTheClear(stream)),
        Ok(Some(_)) => acceptor.accept(stream).await.map_err(Failure::Handshake),
        Ok(None) | Err(_) => Err(Failure::Silent),
    }
}

async fn tell_in_the_clear(mut stream: MonitoredStream) {
    let written = stream.write_all(IN_THE_CLEAR).await;
    if let Err(error) = written.and(stream.shutdown().await) {
        tracing::debug!(%error, "a caller in the clear was gone already");
    }
}

/// What `work` comes to; nothing once the connection is told to finish or to end.
async fn unless_told<T>(state: &ConnectionState, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context: &mut Context<'_>| {
        state.wake_me(context.waker());
        if state.order() >= Order::Finish {
            return Poll::Ready(None);
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}
