//! The handshake and the stream, as the driver wants them.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::{
    TlsConnector, client,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::{binding::server_end_point, error::HandshakeError};

/// Makes the handshakes of a URL's hosts.
#[derive(Clone)]
pub(in crate::connect) struct Handshakes {
    connector: TlsConnector,
}

/// A handshake with one host.
pub(in crate::connect) struct Handshake {
    connector: TlsConnector,
    host: ServerName<'static>,
}

/// A protected wire.
pub(in crate::connect) struct Stream<S>(client::TlsStream<S>);

impl Handshakes {
    pub(super) fn new(config: ClientConfig) -> Self {
        Self { connector: TlsConnector::from(Arc::new(config)) }
    }
}

impl<S> MakeTlsConnect<S> for Handshakes
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = HandshakeError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, HandshakeError> {
        let host = ServerName::try_from(host.to_owned())
            .map_err(|_| HandshakeError::Host { host: host.to_owned() })?;
        Ok(Handshake { connector: self.connector.clone(), host })
    }
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type Error = HandshakeError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream<S>, HandshakeError>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let host = self.host.to_str().into_owned();
            let shaken = self.connector.connect(self.host, stream).await;
            shaken.map(Stream).map_err(|error| HandshakeError::Failed { host, error })
        })
    }
}

impl<S> tokio_postgres::tls::TlsStream for Stream<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        let server = session.peer_certificates().and_then(<[_]>::first);
        server
            .and_then(server_end_point)
            .map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl<S> AsyncRead for Stream<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S> AsyncWrite for Stream<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
