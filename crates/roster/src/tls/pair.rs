//! A certificate and its private key in two PEM files.
//!
//! Each error names the file and what is expected. Errors never contain text of a key.

use std::{
    error::Error,
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::{
    self,
    crypto::ring::default_provider,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{Error as PemError, PemObject as _},
    },
    server::ParsedCertificate,
    sign::CertifiedKey,
};

/// The maximum size of a file in bytes: more than a certificate with its intermediates needs.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The paths of both files.
#[derive(Debug, Clone)]
pub struct PairFiles {
    /// The certificate, followed by its intermediates.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The certificate's.
    Certificate,
    /// The key's.
    Key,
}

/// Why two files are not a valid pair.
#[derive(Debug)]
pub struct PairError {
    /// The file with the fault.
    pub part: Part,
    detail: String,
}

impl fmt::Display for PairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl Error for PairError {}

/// The contents of both files at one time.
pub(super) struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A digest of contents.
pub(super) type ContentsDigest = [u8; 32];

impl Contents {
    pub(super) fn digest(&self) -> ContentsDigest {
        let certificate = Sha256::digest(&self.certificate);
        Sha256::new().chain_update(certificate).chain_update(&self.key).finalize().into()
    }
}

impl PairFiles {
    /// Reads both files.
    pub(super) fn read(&self) -> Result<Contents, PairError> {
        let certificate = read(Part::Certificate, &self.certificate)?;
        Ok(Contents { certificate, key: read(Part::Key, &self.key)? })
    }

    /// Parses the contents.
    pub(super) fn pair(&self, contents: &Contents) -> Result<CertifiedKey, PairError> {
        let chain = self.chain(&contents.certificate)?;
        let key = self.key(&contents.key)?;
        let key = default_provider().key_provider.load_private_key(key).map_err(|_| {
            let path = self.key.display();
            let kinds = "a kind that is not known: use ECDSA on P-256 or P-384, RSA of 2048 bits \
                         or more, or Ed25519";
            PairError { part: Part::Key, detail: format!("the key in {path} is of {kinds}") }
        })?;
        let pair = CertifiedKey::new(chain, key);
        match pair.keys_match() {
            Ok(()) => Ok(pair),
            Err(rustls::Error::InconsistentKeys(_)) => Err(self.mismatch()),
            Err(error) => Err(self.unreadable_certificate(&error)),
        }
    }

    /// Whether all users of this machine may read the key.
    pub(super) fn others_may_read_key(&self) -> bool {
        fs::metadata(&self.key).is_ok_and(|about| about.mode() & 0o004 != 0)
    }

    fn chain(&self, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, PairError> {
        let part = Part::Certificate;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
        let chain = found.map_err(|error| malformed(part, &self.certificate, &error))?;
        if chain.is_empty() {
            return Err(empty(part, &self.certificate, "certificate"));
        }
        // Reject a certificate that clients could not parse.
        for certificate in &chain {
            ParsedCertificate::try_from(certificate)
                .map_err(|error| self.unreadable_certificate(&error))?;
        }
        Ok(chain)
    }

    fn key(&self, text: &[u8]) -> Result<PrivateKeyDer<'static>, PairError> {
        PrivateKeyDer::from_pem_slice(text).map_err(|error| {
            if matches!(error, PemError::NoItemsFound) {
                let what = "private key that can be read without a password";
                return empty(Part::Key, &self.key, what);
            }
            malformed(Part::Key, &self.key, &error)
        })
    }

    fn mismatch(&self) -> PairError {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        let detail = format!(
            "the key in {key} is not that of the first certificate in {certificate}: the service's \
             own certificate comes first, those of authorities after it"
        );
        PairError { part: Part::Key, detail }
    }

    fn unreadable_certificate(&self, error: &rustls::Error) -> PairError {
        let path = self.certificate.display();
        let detail = format!("a certificate in {path} cannot be used: {error}");
        PairError { part: Part::Certificate, detail }
    }
}

fn read(part: Part, path: &Path) -> Result<Vec<u8>, PairError> {
    let unreadable = |error: io::Error| {
        let detail = format!("{} cannot be read: {error}", path.display());
        PairError { part, detail }
    };
    // Checked before opening, because opening a pipe may block forever.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut text = Vec::new();
    let count = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(unreadable)?;
    if u64::try_from(count).is_ok_and(|count| count > FILE_BYTES_MAX) {
        let error = format!("it is larger than {FILE_BYTES_MAX} bytes");
        return Err(unreadable(io::Error::other(error)));
    }
    Ok(text)
}

fn empty(part: Part, path: &Path, what: &str) -> PairError {
    PairError { part, detail: format!("{} contains no {what} in the PEM format", path.display()) }
}

fn malformed(part: Part, path: &Path, error: &PemError) -> PairError {
    // Some errors of the library contain the text that they could not parse, which may be of a key.
    let what = match part {
        Part::Certificate => error.to_string(),
        Part::Key => "its PEM format is broken".to_owned(),
    };
    PairError { part, detail: format!("{} cannot be used: {what}", path.display()) }
}
