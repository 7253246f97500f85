//! A client with TLS that trusts one certificate.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use roster_testkit::process::Process;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    version::{TLS12, TLS13},
};

use crate::service::Made;

pub(crate) const EITHER: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];

/// A connection.
pub(crate) struct Caller {
    stream: StreamOwned<ClientConnection, TcpStream>,
    host: String,
}

impl Caller {
    /// Connects, trusting this certificate.
    pub(crate) fn connect(service: &Process, trusted: &Made) -> io::Result<Self> {
        Self::speaking(EITHER, service, trusted)
    }

    /// Connects with only these TLS versions.
    pub(crate) fn speaking(
        versions: &[&'static SupportedProtocolVersion],
        service: &Process,
        trusted: &Made,
    ) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(trusted.certificate.as_bytes());
        roots.add(certificate.unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let host = service.address().to_owned();
        let wire = TcpStream::connect(&host).unwrap();
        wire.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut stream = StreamOwned::new(session, wire);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self { stream, host })
    }

    /// Sends a request. Returns the head and the body of the response.
    pub(crate) fn ask(&mut self, line: &str, fields: &str, body: &str) -> (String, String) {
        let host = &self.host;
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\n{fields}Content-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut content = vec![0; length];
        self.stream.read_exact(&mut content).unwrap();
        (head, String::from_utf8(content).unwrap())
    }

    /// Fails the test unless a request returns 200.
    #[track_caller]
    pub(crate) fn is_served(&mut self) {
        let (head, _) = self.ask("GET /users", "", "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    }

    /// Reads to the end, which the service must announce with `close_notify`.
    pub(crate) fn ends_in_order(mut self) {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
    }
}
