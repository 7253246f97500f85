//! The TLS parameters of a URL. They are removed before the driver parses the URL, because it knows
//! only some of libpq's parameters and rejects the others.
//!
//! The query is found and decoded exactly as by the driver. A parameter that is repeated is an
//! error: it is unknown which value is meant.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use percent_encoding::percent_decode_str;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{files, verifier::Authorities};

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it. The server is not verified.
    Prefer,
    /// TLS. The server is not verified, unless `sslrootcert` is given.
    Require,
    /// TLS, and a certificate that a trusted authority issued.
    VerifyCa,
    /// As `VerifyCa`, and the certificate is for the host name of the URL.
    VerifyFull,
}

const MODES: [(&str, Mode); 5] = [
    ("disable", Mode::Disable),
    ("prefer", Mode::Prefer),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];

#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::connect) struct Parameters {
    mode: Option<Mode>,
    /// The file of the trusted authorities, or `system` for those of the system.
    pub(super) roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// Removes the TLS parameters from a URL. Returns the remaining URL and the parameters.
pub(in crate::connect) fn take_parameters(url: &str) -> Result<(String, Parameters), String> {
    // A password may contain a question mark, so the query begins after the credentials.
    let credentials = url.find('@').map_or(0, |at| at.saturating_add(1));
    let (before, after) = url.split_at(credentials);
    let Some((address, query)) = after.split_once('?') else {
        return Ok((url.to_owned(), Parameters::default()));
    };
    let mut parameters = Parameters::default();
    let (mut kept, mut names) = (Vec::new(), BTreeSet::new());
    for parameter in query.split('&') {
        if let Some(name) = name_of(parameter)
            && !names.insert(name.clone())
        {
            return Err(format!("the parameter {name:?} is given more than once"));
        }
        if !parameters.take(parameter)? {
            kept.push(parameter);
        }
    }
    let sign = if kept.is_empty() { "" } else { "?" };
    Ok((format!("{before}{address}{sign}{}", kept.join("&")), parameters))
}

impl Parameters {
    /// The mode, checked against `sslrootcert`. Authorities that the mode would not use are an
    /// error. With the system's authorities only `verify-full` is allowed, as in libpq 16: anyone
    /// can get a certificate of theirs for their own name, so only the name distinguishes servers.
    pub(super) fn mode(&self) -> Result<Mode, String> {
        match (self.mode, &self.roots) {
            (None | Some(Mode::VerifyFull), Some(roots)) if is_system(roots) => {
                Ok(Mode::VerifyFull)
            }
            (Some(mode), Some(roots)) if is_system(roots) => Err(format!(
                "sslmode={mode} is too weak for sslrootcert=system, whose certificates \
                     anybody can get: use sslmode=verify-full"
            )),
            (None | Some(Mode::Prefer), Some(_)) => {
                Err("with sslmode=prefer no certificate is checked against sslrootcert=FILE: use \
                     sslmode=verify-full"
                    .to_owned())
            }
            (Some(mode), _) => Ok(mode),
            (None, None) => Ok(Mode::Prefer),
        }
    }

    /// The client certificate and its key.
    pub(super) fn identity(
        &self,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, String> {
        match (&self.certificate, &self.key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                Ok(Some((files::certificates("sslcert", certificate)?, files::key(key)?)))
            }
            (Some(_), None) | (None, Some(_)) => Err("sslcert and sslkey go together".to_owned()),
        }
    }

    /// Stores a parameter if it is a TLS parameter. Returns whether it is one.
    fn take(&mut self, parameter: &str) -> Result<bool, String> {
        let (Some(name), Some((_, value))) = (name_of(parameter), parameter.split_once('=')) else {
            return Ok(false);
        };
        match &*name {
            "sslmode" => self.mode = Some(Mode::parse(&decode("sslmode", value)?)?),
            "sslrootcert" => self.roots = path("sslrootcert", value)?,
            "sslcert" => self.certificate = path("sslcert", value)?,
            "sslkey" => self.key = path("sslkey", value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The decoded name of a parameter, if it has a value.
fn name_of(parameter: &str) -> Option<Cow<'_, str>> {
    let (name, _) = parameter.split_once('=')?;
    percent_decode_str(name).decode_utf8().ok()
}

pub(super) fn read(roots: &Path) -> Result<Authorities, String> {
    if is_system(roots) { files::system() } else { files::authorities(roots) }
}

fn is_system(roots: &Path) -> bool {
    roots.as_os_str() == "system"
}

impl Mode {
    fn parse(text: &str) -> Result<Self, String> {
        let found = MODES.iter().find(|(name, _)| *name == text);
        let unknown = || {
            format!(
                "sslmode={text:?} is not known: disable, prefer, require, verify-ca or verify-full"
            )
        };
        found.map(|(_, mode)| *mode).ok_or_else(unknown)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = MODES.iter().find(|(_, mode)| mode == self).map_or("", |(name, _)| *name);
        f.write_str(name)
    }
}

/// A path. An empty one counts as absent, as in libpq.
fn path(name: &str, value: &str) -> Result<Option<PathBuf>, String> {
    let path = decode(name, value)?;
    Ok((!path.is_empty()).then(|| PathBuf::from(&*path)))
}

fn decode<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, String> {
    percent_decode_str(value).decode_utf8().map_err(|_| format!("{name} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn taken(url: &str) -> (String, Parameters) {
        take_parameters(url).unwrap()
    }

    fn mode(url: &str) -> Result<Mode, String> {
        taken(url).1.mode()
    }

    #[test]
    fn other_parameters_are_kept_unchanged() {
        for url in [
            "postgres://ada@db",
            "postgres://ada:s3?cret=1&sslmode=x@db/users",
            "postgres://ada@a:1,b:2,[::1]:3/users?application_name=a%26b&options=-c%20x%3Dy",
            "postgres://ada@db?connect_timeout=1&keepalives=1",
            "postgres://ada@db/users?nonsense&=&a==b",
        ] {
            assert_eq!(taken(url), (url.to_owned(), Parameters::default()), "{url}");
        }
    }

    #[test]
    fn tls_parameters_are_removed_and_decoded() {
        let (rest, found) = taken(
            "postgres://ada:s%3f?@a:1,b:2/u?sslcert=%2Fa%2Fb%26c.pem&dbname=x&%73slmode=verify%2Dca\
             &sslkey=k%20y&sslrootcert=/r%C3%B6%40ot.pem&options=-csslmode%3D1",
        );
        assert_eq!(rest, "postgres://ada:s%3f?@a:1,b:2/u?dbname=x&options=-csslmode%3D1");
        let expected = Parameters {
            mode: Some(Mode::VerifyCa),
            roots: Some(PathBuf::from("/rö@ot.pem")),
            certificate: Some(PathBuf::from("/a/b&c.pem")),
            key: Some(PathBuf::from("k y")),
        };
        assert_eq!(found, expected);
        assert_eq!(taken("postgres://ada@db?sslmode=disable").0, "postgres://ada@db");
        assert_eq!(taken("postgres://ada@db/?&sslmode=disable&").0, "postgres://ada@db/?&");
    }

    #[test]
    fn a_repeated_parameter_is_an_error_that_names_it() {
        for (parameters, name) in [
            ("sslmode=disable&sslmode=require", "sslmode"),
            ("sslmode=require&sslmode=require", "sslmode"),
            ("sslmode=disable&ssl%6Dode=require", "sslmode"),
            ("connect_timeout=1&sslmode=disable&connect_timeout=2", "connect_timeout"),
        ] {
            let error = take_parameters(&format!("postgres://ada@db?{parameters}")).unwrap_err();
            assert!(error.contains(&format!("{name:?}")), "{parameters}: {error}");
        }
        let (_, found) = taken("postgres://ada@db?sslrootcert=&sslcert=");
        assert_eq!(found, Parameters::default(), "empty counts as absent");
    }

    #[test]
    fn the_default_is_prefer_and_with_the_authorities_of_the_system_verify_full() {
        assert_eq!(mode("postgres://ada@db").unwrap(), Mode::Prefer);
        assert_eq!(mode("postgres://ada@db?sslrootcert=system").unwrap(), Mode::VerifyFull);
        let (_, file) = taken("postgres://ada@db?sslrootcert=.%2Fsystem");
        assert_eq!(file.roots, Some(PathBuf::from("./system")));
        assert!(!is_system(Path::new("./system")));
    }

    #[test]
    fn authorities_that_the_mode_does_not_use_are_an_error() {
        for (parameters, said) in [
            ("sslrootcert=a.pem", "sslrootcert=FILE"),
            ("sslrootcert=a.pem&sslmode=prefer", "sslmode=prefer"),
            ("sslrootcert=system&sslmode=disable", "sslmode=disable"),
            ("sslrootcert=system&sslmode=prefer", "sslmode=prefer"),
            ("sslrootcert=system&sslmode=require", "sslmode=require"),
            ("sslrootcert=system&sslmode=verify-ca", "sslmode=verify-ca"),
        ] {
            let error = mode(&format!("postgres://ada@db/u?{parameters}")).unwrap_err();
            assert!(error.contains(said) && error.contains("verify-full"), "{parameters}: {error}");
        }
    }

    #[test]
    fn modes_that_libpq_does_not_have_are_errors() {
        for mode in ["", "maybe", "Require", "allow", "verify_full", "verify-full%20", "%ff"] {
            let url = format!("postgres://ada@db?sslmode={mode}");
            assert!(take_parameters(&url).is_err(), "{url}");
        }
        assert!(take_parameters("postgres://ada@db?sslkey=%ff").is_err());
    }
}
