//! TLS between the service and the database, in libpq's words.
//!
//! What a word promises is kept, or there is no connection: nothing weaker than what the URL asks
//! for is ever used instead. `prefer` promises nothing, and goes on without TLS where TLS fails.
//! Files are read once, with the URL. Only the authorities of the system are looked for where the
//! environment says (`SSL_CERT_FILE`, `SSL_CERT_DIR`), as by every other program of the machine.

mod binding;
mod error;
mod files;
mod parameters;
mod stream;
#[cfg(test)]
mod tests;
mod verifier;

use std::{error::Error as _, sync::Arc};

use tokio_postgres::{
    Config, Error, NoTls,
    config::{Host, SslMode},
    error::SqlState,
};
use tokio_rustls::rustls::{ClientConfig, client::Resumption, crypto::ring::default_provider};

use super::Connection;
use crate::failure::WithoutDetail;
use error::HandshakeError;
pub(super) use error::TlsError;
pub(super) use parameters::take_out;
use parameters::{Mode, Parameters};
use stream::Handshakes;
use verifier::{Trust, Verifier};

/// How the wire to a server is protected.
#[derive(Clone)]
pub(super) enum Tls {
    /// Not at all.
    Off,
    /// By TLS if the server offers it and it works, whoever the server is.
    Preferred(Handshakes),
    /// By TLS, or there is no connection.
    Required(Handshakes),
}

impl Tls {
    /// What the parameters of a URL ask for.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, TlsError> {
        let mode = parameters.mode()?;
        let trust = match (mode, &parameters.roots) {
            (Mode::Disable, _) => return Ok(Self::Off),
            (Mode::Prefer | Mode::Require, None) => Trust::Anybody,
            (Mode::VerifyCa | Mode::VerifyFull, None) => return Err(TlsError::NoRoots { mode }),
            (Mode::VerifyFull, Some(roots)) => Trust::Name(roots.read()?),
            (Mode::Prefer | Mode::Require | Mode::VerifyCa, Some(roots)) => {
                Trust::Authorities(roots.read()?)
            }
        };
        let handshakes = Handshakes::new(client(trust, parameters)?);
        let preferred = mode == Mode::Prefer;
        Ok(if preferred { Self::Preferred(handshakes) } else { Self::Required(handshakes) })
    }

    /// Connects to a host, or says why not.
    pub(super) async fn connect(&self, config: &Config) -> Result<Connection, String> {
        // PostgreSQL has no TLS on a socket of the file system, and libpq asks for none.
        let local = matches!(config.get_hosts().first(), Some(Host::Unix(_)));
        match self {
            Self::Required(handshakes) if !local => {
                protected(config, SslMode::Require, handshakes).await.map_err(told)
            }
            Self::Preferred(handshakes) if !local => preferred(config, handshakes).await,
            Self::Off | Self::Preferred(_) | Self::Required(_) => clear(config).await.map_err(told),
        }
    }
}

/// With TLS if that works; as libpq does, once more without it if it does not.
async fn preferred(config: &Config, handshakes: &Handshakes) -> Result<Connection, String> {
    match protected(config, SslMode::Prefer, handshakes).await {
        Ok(connection) => Ok(connection),
        Err(error) if is_of_tls(&error) => clear(config)
            .await
            .map_err(|other| format!("{}; without TLS: {}", told(error), told(other))),
        Err(error) => Err(told(error)),
    }
}

async fn protected(
    config: &Config,
    mode: SslMode,
    handshakes: &Handshakes,
) -> Result<Connection, Error> {
    let (client, wire) = config.clone().ssl_mode(mode).connect(handshakes.clone()).await?;
    Ok(Connection::drive(client, wire))
}

async fn clear(config: &Config) -> Result<Connection, Error> {
    let (client, wire) = config.clone().ssl_mode(SslMode::Disable).connect(NoTls).await?;
    Ok(Connection::drive(client, wire))
}

/// Whether it may be better without TLS: the handshake failed, or the server lets nobody in this
/// way (`hostnossl` in its `pg_hba.conf`).
fn is_of_tls(error: &Error) -> bool {
    error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
        || error.source().is_some_and(<dyn std::error::Error>::is::<HandshakeError>)
}

/// An error for the log.
pub(super) fn told(error: Error) -> String {
    match error.source() {
        Some(source) if source.is::<HandshakeError>() => source.to_string(),
        // The driver's words; where it has others, those are told.
        Some(source) if source.to_string() == "server does not support TLS" => {
            "the server offers no TLS, which the URL asks for".to_owned()
        }
        _ => WithoutDetail(error).to_string(),
    }
}

fn client(trust: Trust, parameters: &Parameters) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(default_provider());
    let verifier = Verifier::new(trust, provider.signature_verification_algorithms);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unsupported)?
        // Rustls calls every verifier but its own so; what ours asks for stands in the URL.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match parameters.identity()? {
        Some((chain, key)) => {
            config.with_client_auth_cert(chain, key).map_err(TlsError::Identity)?
        }
        None => config.with_no_client_auth(),
    };
    // PostgreSQL resumes no session, so there is none to keep.
    config.resumption = Resumption::disabled();
    Ok(config)
}
