//! A receiver over TLS that counts the requests it can read.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use rcgen::{CertificateParams, KeyPair};
use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, Stream, crypto::ring::default_provider,
    pki_types::PrivateKeyDer,
};

/// A receiver with a certificate of its own for `localhost`, which nobody has signed.
pub(crate) struct SecureReceiver {
    pub(crate) port: u16,
    /// Its certificate, as PEM.
    pub(crate) certificate: String,
    requests: Arc<AtomicUsize>,
}

impl SecureReceiver {
    pub(crate) fn start() -> Self {
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = names.self_signed(&key).unwrap();
        let chain = vec![certificate.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(chain, key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<AtomicUsize>::default();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                drop(serve(stream, &config, &seen));
            }
        });
        Self { port, certificate: certificate.pem(), requests }
    }

    /// How many requests it has read.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn serve(
    mut stream: TcpStream,
    config: &Arc<ServerConfig>,
    requests: &AtomicUsize,
) -> std::io::Result<()> {
    let mut session = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut tls = Stream::new(&mut session, &mut stream);
    let mut request = Vec::new();
    // The end of an event.
    while !request.ends_with(b"}}") {
        let mut part = [0; 4096];
        let count = tls.read(&mut part)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&part[..count]);
    }
    requests.fetch_add(1, Ordering::SeqCst);
    tls.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
}
