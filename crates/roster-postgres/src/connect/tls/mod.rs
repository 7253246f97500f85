//! TLS between the service and the database, in libpq's words.
//!
//! What a word promises is kept or there is no connection: nothing weaker than the URL asks for is
//! ever used instead. `prefer` promises nothing, and so does what libpq does: where TLS fails it
//! goes on without. Files are read once, when the URL is. Knows nothing of statements.

mod error;
mod files;
mod parameters;
mod stream;
mod verifier;

use std::{error::Error as _, sync::Arc};

use tokio_postgres::{
    Config, Error, NoTls,
    config::{Host, SslMode},
    error::SqlState,
};
use tokio_rustls::rustls::{
    ClientConfig, client::Resumption, crypto::ring::default_provider,
};

use super::Connection;
use crate::failure::Told;
pub use error::TlsError;
use error::HandshakeError;
pub(super) use parameters::take_out;
use parameters::{Mode, Parameters, Roots};
use stream::Handshake;
use verifier::{Trust, Verifier};

/// How the wire to a server is protected.
#[derive(Clone)]
pub(super) enum Tls {
    /// Not at all.
    Off,
    /// If the server offers it and it works; against those who only listen.
    Preferred(Arc<ClientConfig>),
    /// Or there is no connection.
    Required(Arc<ClientConfig>),
}

impl Tls {
    /// What the parameters of a URL ask for, with the files that they name.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, TlsError> {
        let roots = parameters.roots.as_ref();
        let named = |roots| TlsError::Weak { mode: parameters.mode, roots };
        let mode = match (parameters.mode, roots) {
            (None, Some(Roots::System)) => Mode::VerifyFull,
            (None, Some(Roots::File(_))) => return Err(named("FILE")),
            (None, None) => Mode::Prefer,
            (Some(mode), _) => mode,
        };
        let trust = match (mode, roots) {
            (Mode::Disable, None | Some(Roots::File(_))) => return Ok(Self::Off),
            (Mode::Prefer | Mode::Require, None) => Trust::Anybody,
            (Mode::Require | Mode::VerifyCa, Some(Roots::File(path))) => {
                Trust::Authorities(files::authorities(path)?)
            }
            (Mode::VerifyFull, Some(Roots::File(path))) => Trust::Name(files::authorities(path)?),
            (Mode::VerifyFull, Some(Roots::System)) => Trust::Name(files::system()?),
            (Mode::VerifyCa | Mode::VerifyFull, None) => return Err(TlsError::NoRoots { mode }),
            (Mode::Prefer, Some(Roots::File(_))) => return Err(named("FILE")),
            (Mode::Disable | Mode::Prefer | Mode::Require | Mode::VerifyCa, Some(Roots::System)) => {
                return Err(named("system"));
            }
        };
        let config = Arc::new(client(trust, parameters)?);
        Ok(if mode == Mode::Prefer { Self::Preferred(config) } else { Self::Required(config) })
    }

    /// Connects to a host, or says why not.
    pub(super) async fn connect(&self, config: &Config) -> Result<Connection, String> {
        // PostgreSQL has no TLS on a socket of the file system, and libpq asks for none.
        let local = matches!(config.get_hosts().first(), Some(Host::Unix(_)));
        match self {
            Self::Required(tls) if !local => {
                protected(config, tls, SslMode::Require).await.map_err(|error| told(&error, error))
            }
            Self::Preferred(tls) if !local => match protected(config, tls, SslMode::Prefer).await {
                Err(error) if may_do_without(&error) => match clear(config).await {
                    Err(other) => Err(format!("{}; without TLS: {}", told(error), told(other))),
                    Ok(connection) => Ok(connection),
                },
                outcome => outcome.map_err(told),
            },
            Self::Off | Self::Preferred(_) | Self::Required(_) => clear(config).await.map_err(told),
        }
    }
}
