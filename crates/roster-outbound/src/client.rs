//! One request on a connection of its own.

use std::{
    collections::VecDeque,
    error::Error,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Request, StatusCode,
    header::{CONNECTION, HOST},
};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::{body::Incoming, client::conn::http1::Builder};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, join, split},
    net::{TcpStream, lookup_host},
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        self, ClientConfig, RootCertStore, crypto::ring::default_provider, pki_types::ServerName,
    },
};

/// How long a body is received that is not read.
const DRAIN: Duration = Duration::from_secs(1);
/// It ends so long before the time limit of the request, which has its response.
const DRAIN_MARGIN: Duration = Duration::from_millis(50);

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whether over TLS.
    pub is_secure: bool,
    /// The name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Host and port, as `Host` names them.
    pub authority: String,
}

/// The limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For the connection, with TLS.
    pub connect: Duration,
    /// For everything.
    pub whole: Duration,
    /// For the body of the response, in bytes. `None` does not keep it, and receives it for a
    /// second at most: the status says everything.
    pub body_bytes: Option<usize>,
    /// For everything that the server sends, with its heads and informational responses, in bytes.
    pub traffic_bytes: u64,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its content, if it was read.
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug, Error)]
pub enum Fault {
    /// The name cannot be resolved.
    #[error("the name cannot be resolved: {0}")]
    Name(String),
    /// The name has only addresses that are not admitted.
    #[error("the address {0} is not admitted")]
    NotAdmitted(IpAddr),
    /// No address accepts a connection.
    #[error("no connection: {0}")]
    Connect(String),
    /// There is no TLS with a trusted certificate for the name.
    #[error("no TLS: {0}")]
    Tls(String),
    /// A time limit is over.
    #[error("no response within {0:?}")]
    TimedOut(Duration),
    /// The response is too large.
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    /// The response is no HTTP, or is cut off.
    #[error("no complete response: {0}")]
    Response(String),
}

/// Makes requests.
#[derive(Clone)]
pub struct Client(Option<TlsConnector>);

impl Client {
    /// A client that trusts the authorities of the system.
    pub fn of_the_system() -> Self {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        // Some systems have certificates that cannot be parsed. They are skipped.
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            tracing::warn!("the system trusts no authority: there are no connections over TLS");
        }
        Self::trusting(roots)
    }

    /// A client that trusts only these authorities.
    pub fn trusting(roots: RootCertStore) -> Self {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map(|config| config.with_root_certificates(roots).with_no_client_auth());
        Self(config.ok().map(|config| TlsConnector::from(Arc::new(config))))
    }

    /// Sends a request, whose URI has only a path, and returns the response. Connects to the
    /// addresses that `admits` admits.
    pub async fn send(
        &self,
        target: &Target,
        request: Request<Bytes>,
        limits: Limits,
        admits: impl Fn(IpAddr) -> bool,
    ) -> Result<Answer, Fault> {
        let drained_by = Instant::now() + limits.whole.saturating_sub(DRAIN_MARGIN);
        let exchange = async {
            let connected = timeout(limits.connect, connect(target, admits, limits.connect)).await;
            let stream = connected.map_err(|_| Fault::TimedOut(limits.connect))??;
            if !target.is_secure {
                return ask(stream, target, request, limits, drained_by).await;
            }
            let tls = self.0.as_ref().ok_or_else(|| Fault::Tls("it cannot be used".to_owned()))?;
            let name = ServerName::try_from(target.host.clone());
            let name = name.map_err(|error| Fault::Tls(error.to_string()))?;
            let secured = timeout(limits.connect, tls.connect(name, stream)).await;
            let secured = secured.map_err(|_| Fault::TimedOut(limits.connect))?;
            let stream = secured.map_err(|error| Fault::Tls(tls_fault(&error)))?;
            ask(stream, target, request, limits, drained_by).await
        };
        let answered = timeout(limits.whole, exchange).await;
        answered.unwrap_or(Err(Fault::TimedOut(limits.whole)))
    }
}

/// What is wrong with a connection over TLS, without the contents of a certificate.
fn tls_fault(error: &io::Error) -> String {
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
        NotValidYetContext, UnknownIssuer,
    };
    let fault = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(fault)) => fault,
        Some(other) => return other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            return "the server closed the connection".to_owned();
        }
        None => return error.to_string(),
    };
    let text = if matches!(fault, Expired | ExpiredContext { .. }) {
        "the certificate has expired"
    } else if matches!(fault, NotValidYet | NotValidYetContext { .. }) {
        "the certificate is not valid yet"
    } else if matches!(fault, NotValidForName | NotValidForNameContext { .. }) {
        "the certificate is for another name"
    } else if *fault == UnknownIssuer {
        "the certificate is by an authority that is not trusted"
    } else {
        "the certificate is not valid"
    };
    text.to_owned()
}

/// Connects to the first admitted address of the host that accepts a connection. An address that
/// does not answer takes an equal part of what is left of the time, so that the last one is tried.
async fn connect(
    target: &Target,
    admits: impl Fn(IpAddr) -> bool,
    within: Duration,
) -> Result<TcpStream, Fault> {
    let end = Instant::now() + within;
    let found = lookup_host((target.host.as_str(), target.port)).await;
    let found = found.map_err(|error| Fault::Name(error.to_string()))?;
    let mut last = Fault::Name("it has no address".to_owned());
    let mut found: VecDeque<SocketAddr> = found.collect();
    while let Some(address) = found.pop_front() {
        let ip = SocketAddr::ip(&address).to_canonical();
        if !admits(ip) {
            last = Fault::NotAdmitted(ip);
            continue;
        }
        let others = found.iter().filter(|other| admits(other.ip().to_canonical())).count();
        let left = end.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(others + 1).unwrap_or(u32::MAX);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = Fault::Connect(error.to_string()),
            Err(_) => last = Fault::TimedOut(within),
        }
    }
    Err(last)
}

async fn ask<S>(
    stream: S,
    target: &Target,
    request: Request<Bytes>,
    limits: Limits,
    drained_by: Instant,
) -> Result<Answer, Fault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Informational responses may precede the response without end, so all bytes are bounded.
    let (reader, writer) = split(stream);
    let stream = join(reader.take(limits.traffic_bytes), writer);
    let head_bytes = usize::try_from(limits.traffic_bytes).unwrap_or(usize::MAX);
    let (mut sender, connection) = Builder::new()
        .max_header_size(head_bytes)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| incomplete(&error))?;
    let mut request = request.map(Full::new);
    let authority = target.authority.parse().map_err(|error| incomplete(&error))?;
    request.headers_mut().insert(HOST, authority);
    request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    let answer = async move {
        let response = sender.send_request(request).await.map_err(|error| incomplete(&error))?;
        let (head, body) = response.into_parts();
        let body = match limits.body_bytes {
            None => {
                // A server that still sends would see an error.
                let end = drained_by.min(Instant::now() + DRAIN);
                drop(timeout_at(end, body.collect()).await);
                Bytes::new()
            }
            Some(most) => read(body, most).await?,
        };
        Ok(Answer { status: head.status, headers: head.headers, body })
    };
    let mut answer = pin!(answer);
    tokio::select! {
        answered = &mut answer => answered,
        // What the server sent before it closed the connection can be read, also if it closed it
        // without the end of TLS, as many do.
        ended = connection => match (answer.await, ended) {
            (Err(_), Err(error)) => Err(incomplete(&error)),
            (answered, _) => answered,
        },
    }
}

async fn read(body: Incoming, most: usize) -> Result<Bytes, Fault> {
    let read = Limited::new(body, most).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() { Fault::TooLarge(most) } else { incomplete(&*error) }
    })?;
    Ok(read.to_bytes())
}

fn incomplete(error: &dyn Error) -> Fault {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    Fault::Response(text)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn a_body_that_is_not_read_does_not_use_up_the_time_for_the_response() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_buf(&mut head).await.unwrap();
            }
            let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nab";
            stream.write_all(answer).await.unwrap();
            pending::<()>().await;
        });
        let (host, authority) = ("127.0.0.1".to_owned(), format!("127.0.0.1:{port}"));
        let target = Target { is_secure: false, host, port, authority };
        let limits = Limits {
            connect: Duration::from_secs(1),
            whole: DRAIN / 2,
            body_bytes: None,
            traffic_bytes: 1000,
        };
        let client = Client::trusting(RootCertStore::empty());
        let answer = client.send(&target, Request::new(Bytes::new()), limits, |_| true).await;
        assert_eq!(answer.unwrap().status, StatusCode::ACCEPTED);
    }
}
