//! What is wrong with TLS, in sentences: in the settings, and with a server.

use std::{error::Error, fmt, io, path::PathBuf};

use tokio_rustls::rustls::{self, CertificateError};

use super::{parameters::Mode, verifier::webpki_error};

/// What a URL asks for and cannot have.
#[derive(Debug)]
pub enum TlsError {
    /// `sslmode` has another word than libpq's.
    Mode {
        /// Which one.
        found: String,
    },
    /// A parameter is no text.
    Text {
        /// Which one.
        name: &'static str,
    },
    /// Authorities are named for a mode that does not ask them, or asks too little.
    Weak {
        /// The mode.
        mode: Mode,
        /// `FILE` or `system`.
        roots: &'static str,
    },
    /// No authorities are named for a mode that asks them.
    NoRoots {
        /// The mode.
        mode: Mode,
    },
    /// There is a certificate without its key, or a key without its certificate.
    Half,
    /// A file cannot be read.
    File {
        /// The parameter that names it.
        name: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file holds nothing of what it is for.
    Empty {
        /// The parameter that names it.
        name: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// A file holds something else than what it is for.
    Malformed {
        /// The parameter that names it.
        name: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// A key can be read by others.
    Exposed {
        /// Where it is.
        path: PathBuf,
    },
    /// The system trusts no authority, or cannot tell.
    System {
        /// Why.
        error: Option<String>,
    },
    /// Our certificate and its key do not go together.
    Identity(rustls::Error),
    /// There is no TLS to be had at all.
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

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode { found } => write!(
                f,
                "sslmode={found:?} is not known: disable, prefer, require, verify-ca or verify-full"
            ),
            Self::Text { name } => write!(f, "{name} is not UTF-8"),
            Self::Weak { mode, roots: "system" } => write!(
                f,
                "sslmode={mode} is too weak for sslrootcert=system, whose certificates anybody \
                 can get: use sslmode=verify-full"
            ),
            Self::Weak { mode, roots } => write!(
                f,
                "with sslmode={mode} nothing is held against sslrootcert={roots}: \
                 use sslmode=verify-full"
            ),
            Self::NoRoots { mode } => {
                write!(f, "sslmode={mode} needs sslrootcert=FILE or sslrootcert=system")
            }
            Self::Half => f.write_str("sslcert and sslkey go together"),
            Self::File { name, path, error } => {
                write!(f, "{name}={} cannot be read: {error}", path.display())
            }
            Self::Empty { name, path, what } => {
                write!(f, "{name}={} holds no {what} in the PEM format", path.display())
            }
            Self::Malformed { name, path, error } => {
                write!(f, "{name}={} is damaged: {error}", path.display())
            }
            Self::Exposed { path } => write!(
                f,
                "sslkey={} can be read by others: use mode 0600, or 0640 if it is root's",
                path.display()
            ),
            Self::System { error: Some(error) } => {
                write!(f, "the authorities that the system trusts cannot be read: {error}")
            }
            Self::System { error: None } => {
                f.write_str("the system trusts no authority: install its certificates")
            }
            Self::Identity(error) => write!(f, "sslcert and sslkey cannot be used: {error}"),
            Self::Unsupported(error) => write!(f, "there is no TLS: {error}"),
        }
    }
}

impl Error for TlsError {}

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

impl Error for HandshakeError {}

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
