//! Fetches a document of an issuer over TLS, with limits on size and time.
//!
//! Redirects are not followed, a response is read up to its limit, and one deadline covers
//! everything. The trusted authorities are the system's, found as the environment says
//! (`SSL_CERT_FILE`, `SSL_CERT_DIR`), as by other programs.

use std::{net::SocketAddr, pin::pin, sync::Arc};

use bytes::Bytes;
use http::{
    Request, StatusCode,
    header::{ACCEPT, HOST, USER_AGENT},
};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, join, split},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider, pki_types::ServerName},
};

use crate::{
    limits::{ANSWER_BYTES_MAX, ANSWER_TRAFFIC_BYTES_MAX, ANSWER_WAIT_MAX},
    url::IssuerUrl,
};

/// Fetches documents of issuers.
#[derive(Clone)]
pub(crate) struct Fetcher(Option<TlsConnector>);

impl Fetcher {
    /// A fetcher that trusts the authorities of the system.
    pub(crate) fn of_the_system() -> Self {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        // Some systems have certificates that cannot be parsed. They are skipped.
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            tracing::warn!(
                "the system trusts no authority: keys of issuers cannot be fetched over TLS"
            );
        }
        Self::trusting(roots)
    }

    /// A fetcher that trusts only these authorities.
    pub(crate) fn trusting(roots: RootCertStore) -> Self {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map(|config| config.with_root_certificates(roots).with_no_client_auth());
        Self(config.ok().map(|config| TlsConnector::from(Arc::new(config))))
    }

    /// The body of the response. The error is a text for the log.
    pub(crate) async fn get(&self, url: &IssuerUrl) -> Result<Bytes, String> {
        let fetched = timeout(ANSWER_WAIT_MAX, self.exchange(url)).await;
        let fetched = fetched.unwrap_or_else(|_| Err("no response within 5 seconds".to_owned()));
        fetched.map_err(|why| format!("{url}: {why}"))
    }

    async fn exchange(&self, url: &IssuerUrl) -> Result<Bytes, String> {
        let stream = connect(url).await?;
        if !url.is_secure {
            return ask(stream, url).await;
        }
        let tls = self.0.as_ref().ok_or("there is no TLS")?;
        let name = ServerName::try_from(url.host.clone()).map_err(described)?;
        ask(tls.connect(name, stream).await.map_err(described)?, url).await
    }
}

/// Connects to the first address of the host that accepts a connection.
async fn connect(url: &IssuerUrl) -> Result<TcpStream, String> {
    let mut last = "the name has no address".to_owned();
    for address in lookup_host((url.host.as_str(), url.port)).await.map_err(described)? {
        // Even if the name resolves to another address, plain HTTP connects only to loopback.
        if !url.is_secure && !SocketAddr::ip(&address).to_canonical().is_loopback() {
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

async fn ask<S>(stream: S, url: &IssuerUrl) -> Result<Bytes, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Informational responses may precede the response without end, so all bytes are bounded.
    let (reader, writer) = split(stream);
    let stream = join(reader.take(ANSWER_TRAFFIC_BYTES_MAX), writer);
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(described)?;
    let request = Request::get(url.target())
        .header(HOST, url.authority())
        .header(USER_AGENT, "roster")
        .header(ACCEPT, "application/json, application/jwk-set+json")
        .body(Empty::<Bytes>::new())
        .map_err(described)?;
    let answer = async move {
        let response = sender.send_request(request).await.map_err(described)?;
        if response.status() != StatusCode::OK {
            return Err(format!("status {}", response.status().as_u16()));
        }
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|error| error.to_string())
    };
    let mut answer = pin!(answer);
    tokio::select! {
        answered = &mut answer => answered,
        ended = connection => match ended {
            // The server closed the connection. What it sent before can be read.
            Ok(()) => answer.await,
            Err(error) => Err(described(error)),
        },
    }
}

fn described(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn an_issuer_that_sends_informational_responses_without_end_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let issuer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let part = b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000);
            let mut sent = 0;
            while stream.write_all(&part).await.is_ok() {
                sent += part.len();
            }
            sent
        });
        let fetcher = Fetcher::trusting(RootCertStore::empty());
        let began = std::time::Instant::now();
        assert!(fetcher.get(&IssuerUrl::parse(&url).unwrap()).await.is_err());
        assert!(began.elapsed() < ANSWER_WAIT_MAX / 2);
        // What the kernel buffers is sent too.
        assert!(issuer.await.unwrap() < 20_000_000);
    }
}
