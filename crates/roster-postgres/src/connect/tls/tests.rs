//! Servers that offer TLS and then fail in some way.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rcgen::{Certificate, CertificateParams, KeyPair};
use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, Stream,
    crypto::ring::{default_provider, sign::any_ecdsa_type},
    pki_types::PrivatePkcs8KeyDer,
    server::ResolvesServerCert,
    sign::{CertifiedKey, SingleCertAndKey},
};

use crate::connect::{ConnectError, Connector};

/// Starts a server that accepts a request for TLS and then calls `then`.
fn server(mut then: impl FnMut(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for caller in listener.incoming() {
            let mut caller = caller.unwrap();
            let mut request = [0; 8];
            caller.read_exact(&mut request).unwrap();
            // The client's request for TLS. A client that continues without TLS sends something
            // else.
            if request == [0, 0, 0, 8, 4, 210, 22, 47] {
                caller.write_all(b"S").unwrap();
                then(caller);
            }
        }
    });
    address
}

/// A server that sends these bytes after its offer, and then nothing more.
fn sending(sent: &'static [u8]) -> SocketAddr {
    let mut kept = Vec::new();
    server(move |mut caller| {
        caller.write_all(sent).unwrap();
        kept.push(caller);
    })
}

/// A certificate and its key.
struct ServerIdentity {
    certificate: Certificate,
    key: KeyPair,
}

impl ServerIdentity {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::default().self_signed(&key).unwrap();
        Self { certificate, key }
    }
}

/// A server that sends a certificate and signs with the given key, which may be another one.
fn presenting(presented: &ServerIdentity, key: &KeyPair) -> SocketAddr {
    let key = any_ecdsa_type(&PrivatePkcs8KeyDer::from(key.serialize_der()).into()).unwrap();
    let pair = CertifiedKey::new(vec![presented.certificate.der().clone()], key);
    let resolver: Arc<dyn ResolvesServerCert> = Arc::new(SingleCertAndKey::from(pair));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    let config = Arc::new(config);
    server(move |mut caller| {
        let mut session = ServerConnection::new(Arc::clone(&config)).unwrap();
        // The result of the server's side does not matter.
        drop(Stream::new(&mut session, &mut caller).read(&mut [0; 1024]));
    })
}

async fn connect_error(address: SocketAddr, mode: &str) -> ConnectError {
    let connector = Connector::parse(&format!("postgres://a@{address}/b?sslmode={mode}")).unwrap();
    connector.connect().await.map(drop).unwrap_err()
}

#[tokio::test]
async fn a_stalled_handshake_times_out() {
    for mode in ["prefer", "require"] {
        let (address, began) = (sending(b""), Instant::now());
        let error = connect_error(address, mode).await;
        assert!(matches!(error, ConnectError::Silent { .. }), "{mode}: {error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{mode}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn an_invalid_handshake_is_reported_and_prefer_continues_without_tls() {
    // The second server sends an unencrypted error message before the handshake.
    for sent in [&b"nonsense, and more of it"[..], b"E\x00\x00\x00\x14Mwelcome, come in"] {
        let error = connect_error(sending(sent), "require").await.to_string();
        assert!(error.contains("TLS with the server failed"), "{error}");
        let error = connect_error(sending(sent), "prefer").await.to_string();
        assert!(error.contains("TLS with the server failed"), "{error}");
        assert!(error.contains("; without TLS: "), "{error}");
    }
}

#[tokio::test]
async fn the_server_must_hold_the_key_of_its_certificate_in_every_mode() {
    let (presented, other) = (ServerIdentity::new(), KeyPair::generate().unwrap());
    let error = connect_error(presenting(&presented, &other), "require").await.to_string();
    assert!(error.contains("certificate is not its own"), "{error}");
    // With the matching key, the handshake succeeds. The server then sends no response.
    let error = connect_error(presenting(&presented, &presented.key), "require").await.to_string();
    assert!(!error.contains("certificate"), "{error}");
}
