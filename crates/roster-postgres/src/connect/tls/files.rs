//! Certificates and keys, from files in the PEM format.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use tokio_rustls::rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{Error as PemError, PemObject as _},
};

use super::{error::TlsError, verifier::Authorities};

/// More than any of these files needs: all authorities of a system are some 200 kB.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The authorities in a file.
pub(super) fn authorities(path: &Path) -> Result<Authorities, TlsError> {
    let certificates = certificates("sslrootcert", path)?;
    Authorities::named(certificates).map_err(|error| TlsError::Malformed {
        name: "sslrootcert",
        path: path.to_owned(),
        error: error.to_string(),
    })
}

/// The authorities that the system trusts.
pub(super) fn system() -> Result<Authorities, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let error = found.errors.first().map(ToString::to_string);
    // Stores of systems hold certificates that nobody can read any more; those trust nobody.
    let authorities = Authorities::readable(found.certs);
    if authorities.is_empty() { Err(TlsError::System { error }) } else { Ok(authorities) }
}

/// The certificates in a file, of which there is at least one.
pub(super) fn certificates(
    name: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(name, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(certificates) if certificates.is_empty() => {
            Err(TlsError::Empty { name, path: path.to_owned(), what: "certificate" })
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(malformed(name, path, &error)),
    }
}

/// The key in a file that others cannot read.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let name = "sslkey";
    let text = read(name, path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        if matches!(error, PemError::NoItemsFound) {
            let what = "private key that can be read without a password";
            return TlsError::Empty { name, path: path.to_owned(), what };
        }
        malformed(name, path, &error)
    })
}

fn malformed(name: &'static str, path: &Path, error: &PemError) -> TlsError {
    TlsError::Malformed { name, path: path.to_owned(), error: error.to_string() }
}

fn read(name: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let unreadable = |error| TlsError::File { name, path: path.to_owned(), error };
    let file = fs::File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(unreadable(io::Error::other("it is no file")));
    }
    // libpq's rule: its owner's alone, or root's and for a group to read.
    let others = if about.uid() == 0 { 0o037 } else { 0o077 };
    if name == "sslkey" && about.mode() & others != 0 {
        return Err(TlsError::Exposed { path: path.to_owned() });
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}
