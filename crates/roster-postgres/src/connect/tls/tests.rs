//! Servers that offer TLS and then do something else.

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

/// A server that offers TLS and then does this with whoever asks for it.
fn server(mut then: impl FnMut(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for caller in listener.incoming() {
            let mut caller = caller.unwrap();
            let mut request = [0; 8];
            caller.read_exact(&mut request).unwrap();
            // A request for TLS; whoever goes on without it has begun with something else.
            if request == [0, 0, 0, 8, 4, 210, 22, 47] {
                caller.write_all(b"S").unwrap();
                then(caller);
            }
        }
    });
    address
}

/// One that says this, and then nothing more for as long as anybody waits.
fn saying(said: &'static [u8]) -> SocketAddr {
    let mut kept = Vec::new();
    server(move |mut caller| {
        caller.write_all(said).unwrap();
        kept.push(caller);
    })
}

/// A certificate and its key.
struct Shown {
    certificate: Certificate,
    key: KeyPair,
}

impl Shown {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::default().self_signed(&key).unwrap();
        Self { certificate, key }
    }
}

/// One that shows a certificate, and signs with the key of the same or of another one.
fn showing(shown: &Shown, key: &KeyPair) -> SocketAddr {
    let key = any_ecdsa_type(&PrivatePkcs8KeyDer::from(key.serialize_der()).into()).unwrap();
    let pair = CertifiedKey::new(vec![shown.certificate.der().clone()], key);
    let resolver: Arc<dyn ResolvesServerCert> = Arc::new(SingleCertAndKey::from(pair));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    let config = Arc::new(config);
    server(move |mut caller| {
        let mut session = ServerConnection::new(Arc::clone(&config)).unwrap();
        // However it ends; what the other side makes of it is what counts.
        drop(Stream::new(&mut session, &mut caller).read(&mut [0; 1024]));
    })
}

async fn refused(address: SocketAddr, mode: &str) -> ConnectError {
    let connector = Connector::parse(&format!("postgres://a@{address}/b?sslmode={mode}")).unwrap();
    connector.connect().await.map(drop).unwrap_err()
}

#[tokio::test]
async fn a_handshake_that_stands_still_is_given_up_with_its_host() {
    for mode in ["prefer", "require"] {
        let (address, began) = (saying(b""), Instant::now());
        let error = refused(address, mode).await;
        assert!(matches!(error, ConnectError::Silent { .. }), "{mode}: {error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{mode}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn what_is_no_handshake_is_told_and_prefer_goes_on_without() {
    // The second one has put words before the handshake that nobody has protected.
    for said in [&b"nonsense, and more of it"[..], b"E\x00\x00\x00\x14Mwelcome, come in"] {
        let error = refused(saying(said), "require").await.to_string();
        assert!(error.contains("TLS with the server failed"), "{error}");
        let error = refused(saying(said), "prefer").await.to_string();
        assert!(error.contains("TLS with the server failed"), "{error}");
        assert!(error.contains("; without TLS: "), "{error}");
    }
}

#[tokio::test]
async fn a_certificate_without_its_key_is_refused_even_where_nobody_verifies_it() {
    let (shown, other) = (Shown::new(), KeyPair::generate().unwrap());
    let error = refused(showing(&shown, &other), "require").await.to_string();
    assert!(error.contains("certificate is not its own"), "{error}");
    // With its key, it comes as far as the questions that this server does not answer.
    let error = refused(showing(&shown, &shown.key), "require").await.to_string();
    assert!(!error.contains("certificate"), "{error}");
}
