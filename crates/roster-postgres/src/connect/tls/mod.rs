//! TLS between the service and the database, with libpq's parameters.
//!
//! A connection is at least as well protected as the URL requires, or it is not made. `prefer`
//! requires nothing, so it connects without TLS if TLS fails. Files are read once, with the URL.
//! Only the system's authorities depend on the environment (`SSL_CERT_FILE`, `SSL_CERT_DIR`), as
//! for other programs.

mod error;
mod files;
mod parameters;
#[cfg(test)]
mod tests;
mod verifier;

use std::{error::Error as _, sync::Arc};

use tokio_postgres::{
    Config, Error, NoTls,
    config::{Host, SslMode},
    error::SqlState,
};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::{ClientConfig, client::Resumption, crypto::ring::default_provider};

use super::Connection;
use crate::failure::WithoutDetail;
use error::handshake_failure;
pub(super) use parameters::take_parameters;
use parameters::{Mode, Parameters};
use verifier::{Trust, Verifier};

/// How the connection to a server is protected.
#[derive(Clone)]
pub(super) enum Tls {
    /// No TLS.
    Off,
    /// TLS if the server offers it and the handshake succeeds. The server is not verified.
    Preferred(MakeRustlsConnect),
    /// TLS, or no connection.
    Required(MakeRustlsConnect),
}

impl Tls {
    /// The mode that the parameters of a URL require.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, String> {
        let mode = parameters.mode()?;
        let trust = match (mode, &parameters.roots) {
            (Mode::Disable, _) => return Ok(Self::Off),
            (Mode::Prefer | Mode::Require, None) => Trust::Unverified,
            (Mode::VerifyCa | Mode::VerifyFull, None) => {
                return Err(format!("sslmode={mode} needs sslrootcert=FILE or sslrootcert=system"));
            }
            (Mode::VerifyFull, Some(roots)) => Trust::Name(parameters::read(roots)?),
            (Mode::Prefer | Mode::Require | Mode::VerifyCa, Some(roots)) => {
                Trust::Authorities(parameters::read(roots)?)
            }
        };
        let handshakes = MakeRustlsConnect::new(client(trust, parameters)?);
        let preferred = mode == Mode::Prefer;
        Ok(if preferred { Self::Preferred(handshakes) } else { Self::Required(handshakes) })
    }

    /// Connects to a host; a failure is a text for the log.
    pub(super) async fn connect(&self, config: &Config) -> Result<Connection, String> {
        // PostgreSQL has no TLS on a Unix socket, and libpq requests none.
        let local = matches!(config.get_hosts().first(), Some(Host::Unix(_)));
        match self {
            Self::Required(tls) if !local => encrypted(config, SslMode::Require, tls).await,
            Self::Preferred(tls) if !local => {
                return match encrypted(config, SslMode::Prefer, tls).await {
                    // libpq also tries again without TLS.
                    Err(error) if may_succeed_without_tls(&error) => {
                        unencrypted(config).await.map_err(|other| {
                            format!(
                                "{}; without TLS: {}",
                                reason(error, config),
                                reason(other, config)
                            )
                        })
                    }
                    result => result.map_err(|error| reason(error, config)),
                };
            }
            Self::Off | Self::Preferred(_) | Self::Required(_) => unencrypted(config).await,
        }
        .map_err(|error| reason(error, config))
    }
}

async fn encrypted(
    config: &Config,
    mode: SslMode,
    tls: &MakeRustlsConnect,
) -> Result<Connection, Error> {
    let (client, stream) = config.clone().ssl_mode(mode).connect(tls.clone()).await?;
    Ok(Connection::drive(client, stream))
}

async fn unencrypted(config: &Config) -> Result<Connection, Error> {
    let (client, stream) = config.clone().ssl_mode(SslMode::Disable).connect(NoTls).await?;
    Ok(Connection::drive(client, stream))
}

/// Whether the handshake failed, or the server accepts no encrypted connection (`hostnossl` in its
/// `pg_hba.conf`).
fn may_succeed_without_tls(error: &Error) -> bool {
    error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) || is_of_handshake(error)
}

/// The message is the only property of the driver's error that shows this.
fn is_of_handshake(error: &Error) -> bool {
    error.to_string() == "error performing TLS handshake"
}

/// Why there is no connection.
fn reason(error: Error, config: &Config) -> String {
    match error.source() {
        Some(source) if is_of_handshake(&error) => handshake_failure(source, config),
        _ => WithoutDetail(error).to_string(),
    }
}

fn client(trust: Trust, parameters: &Parameters) -> Result<ClientConfig, String> {
    let provider = Arc::new(default_provider());
    let verifier = Verifier::new(trust, provider.signature_verification_algorithms);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("there is no TLS: {error}"))?
        // Rustls requires this call for every custom verifier. What this verifier checks depends on
        // the URL.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match parameters.identity()? {
        Some((chain, key)) => {
            let unusable = |error| format!("sslcert and sslkey cannot be used: {error}");
            config.with_client_auth_cert(chain, key).map_err(unusable)?
        }
        None => config.with_no_client_auth(),
    };
    // PostgreSQL does not resume sessions.
    config.resumption = Resumption::disabled();
    Ok(config)
}
