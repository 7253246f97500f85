//! The certificate of the port, from two files that may change while the service runs.
//!
//! The files are checked before the port is opened. Later, a pair is used only if the key belongs
//! to the certificate; if new files are not valid, the old pair stays. This module does not know
//! the handshake.

mod follow;
mod pair;
#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use anyhow::Context as _;
use roster_server::{LeastTls, tls_config};
use tokio_rustls::rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

pub use follow::Follower;
pub use pair::{PairError, PairFiles, Part};

/// TLS with a certificate from two files.
#[derive(Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    follower: Follower,
    exposed: Option<PathBuf>,
}

impl Tls {
    /// Reads the files. A [`PairError`] reports files that are not valid.
    pub fn open(files: PairFiles, least: LeastTls) -> anyhow::Result<Self> {
        let contents = files.read()?;
        let current = Arc::new(CurrentCertificate(RwLock::new(Arc::new(files.pair(&contents)?))));
        let exposed = files.others_may_read_key().then(|| files.key.clone());
        let certificates: Arc<dyn ResolvesServerCert> = Arc::<CurrentCertificate>::clone(&current);
        let config = tls_config(least, certificates).context("TLS cannot be configured")?;
        Ok(Self { config, follower: Follower::new(files, &contents, current), exposed })
    }

    /// The TLS configuration, which always uses the current certificate.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The key's file, if others on this machine may read it.
    pub fn exposed(&self) -> Option<&PathBuf> {
        self.exposed.as_ref()
    }

    /// The task that reloads the certificate.
    pub fn into_follower(self) -> Follower {
        self.follower
    }
}

/// The pair for the next handshake.
#[derive(Debug)]
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl CurrentCertificate {
    fn get(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, pair: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pair);
    }
}

impl ResolvesServerCert for CurrentCertificate {
    /// Returns the same certificate for every requested name: clients verify it, and the host guard
    /// checks their requests.
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.get())
    }
}
