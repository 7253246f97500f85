//! What is wrong with TLS, in sentences: in the settings, and with a server.

use std::{error::Error, io, path::PathBuf};

use tokio_postgres::{Config, config::Host};
use tokio_rustls::rustls::{self, CertificateError, pki_types::InvalidDnsNameError};

use super::{parameters::Mode, verifier::webpki_error};

/// What a URL asks for and cannot have.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// `sslmode` has another word than libpq's.
    #[error("sslmode={found:?} is not known: disable, prefer, require, verify-ca or verify-full")]
    Mode {
        /// Which one.
        found: String,
    },
    /// A parameter is no text.
    #[error("{name} is not UTF-8")]
    Text {
        /// Which one.
        name: &'static str,
    },
    /// Authorities are named for a mode that does not ask them, or asks too little.
    #[error("{}", too_weak(*mode, roots))]
    Weak {
        /// The mode.
        mode: Mode,
        /// `FILE` or `system`.
        roots: &'static str,
    },
    /// No authorities are named for a mode that asks them.
    #[error("sslmode={mode} needs sslrootcert=FILE or sslrootcert=system")]
    NoRoots {
        /// The mode.
        mode: Mode,
    },
    /// There is a certificate without its key, or a key without its certificate.
    #[error("sslcert and sslkey go together")]
    Half,
    /// A file cannot be read.
    #[error("{name}={} cannot be read: {error}", path.display())]
    File {
        /// The parameter that names it.
        name: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file holds nothing of what it is for.
    #[error("{name}={} holds no {what} in the PEM format", path.display())]
    Empty {
        /// The parameter that names it.
        name: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// A file holds something else than what it is for.
    #[error("{name}={} is damaged: {error}", path.display())]
    Malformed {
        /// The parameter that names it.
        name: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// A key can be read by others.
    #[error(
        "sslkey={} can be read by others: use mode 0600, or 0640 if it is root's",
        path.display()
    )]
    Exposed {
        /// Where it is.
        path: PathBuf,
    },
    /// The system trusts no authority, or cannot tell.
    #[error("{}", no_authorities(error.as_deref()))]
    System {
        /// Why.
        error: Option<String>,
    },
    /// Our certificate and its key do not go together.
    #[error("sslcert and sslkey cannot be used: {0}")]
    Identity(rustls::Error),
    /// There is no TLS to be had at all.
    #[error("there is no TLS: {0}")]
    Unsupported(rustls::Error),
}

fn too_weak(mode: Mode, roots: &str) -> String {
    let why = if roots == "system" {
        format!(
            "sslmode={mode} is too weak for sslrootcert=system, whose certificates anybody can get"
        )
    } else {
        format!("with sslmode={mode} nothing is held against sslrootcert={roots}")
    };
    format!("{why}: use sslmode=verify-full")
}

fn no_authorities(error: Option<&str>) -> String {
    match error {
        Some(error) => format!("the authorities that the system trusts cannot be read: {error}"),
        None => "the system trusts no authority: install its certificates".to_owned(),
    }
}

/// Why a handshake failed.
pub(super) fn handshake_failure(error: &(dyn Error + 'static), config: &Config) -> String {
    let Some(error) = error.downcast_ref::<io::Error>() else {
        // The driver's text; it has no other one in a handshake.
        return "the server offers no TLS, which the URL asks for".to_owned();
    };
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host,
        Some(Host::Unix(_)) | None => "",
    };
    let cause = error.get_ref();
    if cause.is_some_and(<dyn Error + Send + Sync>::is::<InvalidDnsNameError>) {
        return format!("no certificate can be for the name {host:?}");
    }
    match cause.and_then(|cause| cause.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(fault)) => {
            format!("the server's certificate {}", certificate_fault(fault, host))
        }
        _ => format!("TLS with the server failed: {error}"),
    }
}

/// What is wrong with the certificate of a server.
#[expect(clippy::wildcard_enum_match_arm, reason = "rustls may add to its errors")]
fn certificate_fault(error: &CertificateError, host: &str) -> String {
    let fault = match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is not trusted: none of the authorities in sslrootcert vouches for it"
        }
        CertificateError::ApplicationVerificationFailure => {
            "is not its own: it does not hold the key"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet"
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            return format!("is not for {host:?}: it names no host (subjectAltName)");
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            return format!("is not for {host:?} but for {}", presented.join(", "));
        }
        CertificateError::NotValidForName => return format!("is not for {host:?}"),
        CertificateError::Other(other) => match webpki_error(other) {
            Some(webpki::Error::UnsupportedCertVersion) => {
                "is of an old form: it has to be of X.509 version 3"
            }
            Some(webpki::Error::CaUsedAsEndEntity) => {
                "is one of an authority (CA:TRUE), and sslrootcert does not hold it"
            }
            _ => return format!("is refused: {error}"),
        },
        _ => return format!("is refused: {error}"),
    };
    fault.to_owned()
}
