//! What is wrong with TLS, in sentences: in the settings, and with a server.

use std::{fmt, io, path::PathBuf};

use tokio_rustls::rustls::{self, CertificateError};

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

/// Why a wire could not be protected.
#[derive(Debug)]
pub(in crate::connect) enum HandshakeError {
    /// No certificate can be for this name.
    Host {
        /// Which one.
        host: String,
    },
    /// The handshake failed.
    Failed {
        /// With whom.
        host: String,
        /// Why.
        error: io::Error,
    },
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

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { host } => write!(f, "no certificate can be for the name {host:?}"),
            Self::Failed { host, error } => match rustls_error(error) {
                Some(rustls::Error::InvalidCertificate(found)) => {
                    f.write_str("the server's certificate ")?;
                    certificate(f, host, found)
                }
                _ => write!(f, "TLS with the server failed: {error}"),
            },
        }
    }
}

impl std::error::Error for HandshakeError {}

/// What is wrong with the certificate of a server.
#[expect(clippy::wildcard_enum_match_arm, reason = "rustls may add to its errors")]
fn certificate(f: &mut fmt::Formatter<'_>, host: &str, error: &CertificateError) -> fmt::Result {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            f.write_str("is not trusted: none of the authorities in sslrootcert vouches for it")
        }
        CertificateError::ApplicationVerificationFailure => {
            f.write_str("is not its own: it does not hold the key")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            f.write_str("has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            f.write_str("is not valid yet")
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            write!(f, "is not for {host:?}: it names no host (subjectAltName)")
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            write!(f, "is not for {host:?} but for {}", presented.join(", "))
        }
        CertificateError::NotValidForName => write!(f, "is not for {host:?}"),
        CertificateError::Other(other) => match webpki_error(other) {
            Some(webpki::Error::UnsupportedCertVersion) => {
                f.write_str("is of an old form: it has to be of X.509 version 3")
            }
            Some(webpki::Error::CaUsedAsEndEntity) => {
                f.write_str("is one of an authority (CA:TRUE), and sslrootcert does not hold it")
            }
            _ => write!(f, "is refused: {error}"),
        },
        _ => write!(f, "is refused: {error}"),
    }
}

fn rustls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
