//! The certificate that the port shows, from two files that may change while it is served.
//!
//! The files are judged before the port is opened. From then on a pair is shown only if its key
//! fits its certificate, and whatever is wrong with newer files leaves the one before in its
//! place. This module must not know the handshake, nor what is offered in it.

mod follow;
mod pair;
#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use anyhow::Context as _;
use roster_http::front::{LeastTls, tls_config};
use tokio_rustls::rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

pub use follow::Follower;
pub use pair::{PairError, PairFiles, Part};

/// TLS with the certificate of two files.
#[derive(Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    follower: Follower,
    exposed: Option<PathBuf>,
}

impl Tls {
    /// Reads the files; what keeps them from being served is a [`PairError`].
    pub fn open(files: PairFiles, least: LeastTls) -> anyhow::Result<Self> {
        let contents = files.read()?;
        let shown = Arc::new(Shown(RwLock::new(Arc::new(files.pair(&contents)?))));
        let exposed = files.others_may_read_key().then(|| files.key.clone());
        let certificates: Arc<dyn ResolvesServerCert> = Arc::<Shown>::clone(&shown);
        let config = tls_config(least, certificates).context("TLS cannot be spoken")?;
        Ok(Self { config, follower: Follower::new(files, &contents, shown), exposed })
    }

    /// How TLS is spoken, with whichever certificate is the present one.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The key's file, if others on this machine may read it.
    pub fn exposed(&self) -> Option<&PathBuf> {
        self.exposed.as_ref()
    }

    /// What keeps the certificate up to date.
    pub fn into_follower(self) -> Follower {
        self.follower
    }
}

/// The pair that the next handshake shows.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl Shown {
    fn now(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn show(&self, pair: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pair);
    }
}

impl ResolvesServerCert for Shown {
    /// One certificate, whatever name is asked for: callers judge it, and the host guard judges
    /// them.
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }
}
