//! The TLS handshake of an accepted connection.
//!
//! The offered parameters are Mozilla's "intermediate" profile, or its "modern" one if TLS 1.3 is
//! the minimum. Sessions are not resumed: every connection gets the current certificate, and no
//! secret outlives its connection. A client that sends plain HTTP gets an error response, not a
//! redirect. This module does not know where certificates come from.

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

use crate::{
    connection_state::{ConnectionState, Order},
    counters::ServerCounters,
    monitored_stream::MonitoredStream,
};

/// The ALPN protocols, the preferred one first (RFC 7301).
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// The response to a client that sends plain HTTP.
const PLAIN_HTTP_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: application/problem+json\r\n\
    content-length: 148\r\n\
    connection: close\r\n\r\n\
    {\"title\":\"The request is not well formed\",\"status\":400,\"code\":\"invalid-request\"\
    ,\"detail\":\"this port speaks TLS: write https:// in place of http://\"}";

/// The minimum version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeastTls {
    /// 1.2, only with forward secrecy and authenticated ciphers.
    V1_2,
    /// 1.3.
    V1_3,
}

/// The TLS configuration with these certificates; for [`crate::Port`].
///
/// Fails only if the cryptography provider supports neither version; the one used here supports
/// both.
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
    // Without session storage there are no tickets, and without tickets no early data.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Whether HTTP/2 was negotiated. The negotiated protocol is then used (RFC 9113 section 3.2).
pub(crate) fn is_http2(stream: &TlsStream<MonitoredStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP2)
}

/// Why there is no TLS stream.
enum Failure {
    /// The client disconnected without sending a byte, as a port scanner does.
    Silent,
    /// The client sent plain HTTP.
    PlainHttp(MonitoredStream),
    Handshake(io::Error),
}

/// Performs the handshake. Returns `None` if it fails, which is counted, or if the connection is
/// ordered to end meanwhile. The reaper allows it the time of a first request head.
pub(crate) async fn accept_tls(
    acceptor: &TlsAcceptor,
    stream: MonitoredStream,
    state: &ConnectionState,
    counters: &ServerCounters,
) -> Option<TlsStream<MonitoredStream>> {
    let failure = match unless_ordered_to_end(state, accept(acceptor, stream)).await? {
        Ok(stream) => {
            state.greeted();
            return Some(stream);
        }
        Err(failure) => failure,
    };
    match failure {
        Failure::Silent => return None,
        Failure::PlainHttp(stream) => {
            tracing::debug!("a client sent plain HTTP to a TLS port");
            unless_ordered_to_end(state, reject_plain_http(stream)).await;
        }
        Failure::Handshake(error) => tracing::debug!(%error, "a TLS handshake failed"),
    }
    counters.failed_handshakes.inc();
    None
}

async fn accept(
    acceptor: &TlsAcceptor,
    stream: MonitoredStream,
) -> Result<TlsStream<MonitoredStream>, Failure> {
    match stream.first_bytes(&mut [0]).await {
        // The name of a method begins with a capital letter. No TLS record does.
        Ok([byte]) if byte.is_ascii_uppercase() => Err(Failure::PlainHttp(stream)),
        Ok([_, ..]) => acceptor.accept(stream).await.map_err(Failure::Handshake),
        Ok([]) | Err(_) => Err(Failure::Silent),
    }
}

async fn reject_plain_http(mut stream: MonitoredStream) {
    let written = stream.write_all(PLAIN_HTTP_RESPONSE).await;
    if let Err(error) = written.and(stream.shutdown().await) {
        tracing::debug!(%error, "a client that sent plain HTTP has disconnected");
    }
}

/// The result of `work`, or `None` once the connection is ordered to finish or to end.
pub(crate) async fn unless_ordered_to_end<T>(
    state: &ConnectionState,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context: &mut Context<'_>| {
        state.wake_me(context.waker());
        let polled = work.as_mut().poll(context);
        if polled.is_pending() && state.order() >= Order::Finish {
            return Poll::Ready(None);
        }
        polled.map(Some)
    })
    .await
}
