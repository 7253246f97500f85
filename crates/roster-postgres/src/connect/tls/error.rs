//! Messages about failed TLS connections.

use std::{error::Error, io};

use tokio_postgres::{Config, config::Host};
use tokio_rustls::rustls::{self, CertificateError, pki_types::InvalidDnsNameError};

use super::verifier::webpki_error;

/// Why a handshake failed.
pub(super) fn handshake_failure(error: &(dyn Error + 'static), config: &Config) -> String {
    let Some(error) = error.downcast_ref::<io::Error>() else {
        // The driver has no other error of this kind in a handshake.
        return "the server offers no TLS, which the URL requires".to_owned();
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
            // The library writes a name as `DnsName("db1")`.
            let bare = |name: &String| {
                let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
                inner.unwrap_or(name).to_owned()
            };
            let names: Vec<String> = presented.iter().map(bare).collect();
            return format!("is not for {host:?} but for {}", names.join(", "));
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
