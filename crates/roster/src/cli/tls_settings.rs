//! The TLS settings: whether the port uses TLS, and with which certificate.
//!
//! Both files must be given, or none. Their faults are faults of settings, reported before anything
//! is opened.

use roster_server::LeastTls;

use crate::config::{Config, Faults, Report, TlsMin};
use crate::tls::{PairError, PairFiles, Part, Tls};

/// TLS from the settings; `None` for a plain port. Faults of settings and files are [`Faults`].
pub(super) fn open(config: &Config, report: &Report) -> anyhow::Result<Option<Tls>> {
    let mut faults = Faults::default();
    let mut fault = |key, detail: &str| report.fault(&mut faults, key, detail);
    match (&config.tls_certificate, &config.tls_key) {
        (None, None) => return Ok(None),
        (Some(_), None) => {
            fault("tls_certificate", "needs the private key too: set tls_key");
        }
        (None, Some(_)) => {
            fault("tls_key", "needs the certificate too: set tls_certificate");
        }
        (Some(certificate), Some(key)) => {
            let files = PairFiles { certificate: certificate.clone(), key: key.clone() };
            let least = match config.tls_min {
                TlsMin::V1_2 => LeastTls::V1_2,
                TlsMin::V1_3 => LeastTls::V1_3,
            };
            match Tls::open(files, least).map_err(anyhow::Error::downcast::<PairError>) {
                Ok(tls) => return Ok(Some(tls)),
                Err(Ok(error)) => fault(key_of(error.part), &error.to_string()),
                Err(Err(other)) => return Err(other),
            }
        }
    }
    Err(faults.into())
}

/// The setting that names a file.
fn key_of(part: Part) -> &'static str {
    match part {
        Part::Certificate => "tls_certificate",
        Part::Key => "tls_key",
    }
}
