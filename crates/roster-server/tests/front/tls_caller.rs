//! A server with TLS and a certificate for tests, and clients that trust it.

use std::sync::{Arc, RwLock};

use rcgen::{CertificateParams, KeyPair};
use roster_server::{LeastTls, ServerSettings, tls_config};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore, SupportedProtocolVersion,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName},
        server::{ClientHello, ResolvesServerCert},
        sign::CertifiedKey,
        version::{TLS12, TLS13},
    },
};

use crate::caller::{Caller, Front};

pub(crate) type Tls = TlsStream<TcpStream>;

pub(crate) const EITHER: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];

/// The certificate of the server. A test may change it.
#[derive(Debug)]
pub(crate) struct Showing(RwLock<Arc<CertifiedKey>>);

impl Showing {
    /// Changes the certificate for new connections.
    pub(crate) fn change(&self) -> CertificateDer<'static> {
        let (pair, certificate) = pair();
        *self.0.write().unwrap() = Arc::new(pair);
        certificate
    }
}

impl ResolvesServerCert for Showing {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap()))
    }
}

/// A server with TLS.
pub(crate) struct Secured {
    pub(crate) front: Front,
    pub(crate) showing: Arc<Showing>,
    pub(crate) certificate: CertificateDer<'static>,
}

impl Secured {
    pub(crate) async fn start(least: LeastTls, settings: ServerSettings) -> Self {
        let (pair, certificate) = pair();
        let showing = Arc::new(Showing(RwLock::new(Arc::new(pair))));
        let shown: Arc<dyn ResolvesServerCert> = Arc::<Showing>::clone(&showing);
        let tls = tls_config(least, shown).unwrap();
        let front = Front::start_with(Some(tls), settings).await;
        Self { front, showing, certificate }
    }

    /// A client that speaks HTTP/1.1.
    pub(crate) async fn caller(&self) -> Caller<Tls> {
        let stream = self.shake_hands(&config(&self.certificate, EITHER, &[b"http/1.1"])).await;
        Caller { stream: stream.unwrap(), rest: Vec::new() }
    }

    pub(crate) async fn shake_hands(&self, config: &Arc<ClientConfig>) -> std::io::Result<Tls> {
        let stream = TcpStream::connect(self.front.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::clone(config)).connect(name, stream).await
    }
}

/// The TLS configuration of a client.
pub(crate) fn config(
    trusted: &CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&[u8]],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

fn pair() -> (CertifiedKey, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let certificate = certificate.der().clone();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let pair = CertifiedKey::from_der(vec![certificate.clone()], key, &default_provider());
    (pair.unwrap(), certificate)
}
