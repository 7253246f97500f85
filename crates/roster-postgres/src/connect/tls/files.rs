//! Certificates and keys, from files in the PEM format.

use std::{
    fmt::Display,
    fs,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use tokio_rustls::rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{Error as PemError, PemObject as _},
};

use super::verifier::Authorities;

/// The maximum size of a file. All authorities of a system take about 200 kB.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(super) fn authorities(path: &Path) -> Result<Authorities, String> {
    let name = "sslrootcert";
    let certificates = certificates(name, path)?;
    Authorities::named(certificates).map_err(|error| malformed(name, path, &error))
}

/// The system's trusted authorities.
pub(super) fn system() -> Result<Authorities, String> {
    let found = rustls_native_certs::load_native_certs();
    // Some systems have certificates that cannot be parsed. They are skipped.
    let authorities = Authorities::parsable(found.certs);
    if !authorities.is_empty() {
        return Ok(authorities);
    }
    Err(match found.errors.first() {
        Some(error) => format!("the authorities that the system trusts cannot be read: {error}"),
        None => "the system trusts no authority: install its certificates".to_owned(),
    })
}

/// The certificates in a file. A file without a certificate is an error.
pub(super) fn certificates(
    name: &str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(name, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(certificates) if certificates.is_empty() => Err(empty(name, path, "certificate")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(malformed(name, path, &error)),
    }
}

/// The private key in a file. A file that others can read is an error.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let name = "sslkey";
    PrivateKeyDer::from_pem_slice(&read(name, path)?).map_err(|error| {
        if matches!(error, PemError::NoItemsFound) {
            return empty(name, path, "private key that can be read without a password");
        }
        malformed(name, path, &error)
    })
}

fn empty(name: &str, path: &Path, what: &str) -> String {
    format!("{name}={} holds no {what} in the PEM format", path.display())
}

fn malformed(name: &str, path: &Path, error: &dyn Display) -> String {
    format!("{name}={} is damaged: {error}", path.display())
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error| format!("{name}={} cannot be read: {error}", path.display());
    let file = fs::File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    // libpq's rule: only the owner may access the file, or, if root owns it, also its group may
    // read it.
    let others = if about.uid() == 0 { 0o037 } else { 0o077 };
    if name == "sslkey" && about.mode() & others != 0 {
        let path = path.display();
        return Err(format!(
            "sslkey={path} can be read by others: use mode 0600, or 0640 if it is root's"
        ));
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}
