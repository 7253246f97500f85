//! Every kind of certificate that a server may have.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// A certificate authority.
pub(crate) struct Authority {
    /// Its certificate.
    pub(crate) certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(crate) struct Identity {
    /// The certificate, followed by the intermediate certificates.
    pub(crate) certificate: String,
    /// The key.
    pub(crate) key: String,
}

impl Authority {
    /// A root authority.
    pub(crate) fn new(name: &str) -> Self {
        let (params, key) = (of_authority(name), KeyPair::generate().unwrap());
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// An intermediate authority, signed by this one.
    pub(crate) fn below(&self, name: &str) -> Self {
        let (params, key) = (of_authority(name), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names.
    pub(crate) fn issue(&self, names: &[&str]) -> Identity {
        self.issue_as(&of_server(names))
    }

    /// A certificate with these parameters.
    pub(crate) fn issue_as(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

/// A self-signed certificate.
pub(crate) fn self_signed(params: &CertificateParams) -> Identity {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    Identity { certificate, key: key.serialize_pem() }
}

/// The parameters of an authority's certificate.
fn of_authority(name: &str) -> CertificateParams {
    let mut params = of_server(&[]);
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// The parameters of a server certificate with these names.
pub(crate) fn of_server(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

/// The parameters of a self-signed server certificate as most tools create it: it is also an
/// authority.
pub(crate) fn of_server_and_authority(names: &[&str]) -> CertificateParams {
    let mut params = of_server(names);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// The name is in the common name, as before the subject alternative name existed.
pub(crate) fn of_server_by_common_name(name: &str) -> CertificateParams {
    let mut params = of_server(&[]);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Makes the certificate expired.
pub(crate) fn expired(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(2001, 1, 1);
    params
}

/// Makes the certificate not valid yet.
pub(crate) fn to_come(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(4000, 1, 1);
    params
}

/// A certificate of version 1, as OpenSSL 3.0 creates it from only a name and a validity.
pub(crate) fn of_version_1() -> Identity {
    let certificate = include_str!("version_1.crt").to_owned();
    Identity { certificate, key: include_str!("version_1.key").to_owned() }
}

/// A certificate with an Ed25519 signature. Such a signature has no hash function that PostgreSQL
/// knows, so channel binding is impossible.
pub(crate) fn unbindable() -> Identity {
    let certificate = include_str!("ed25519.crt").to_owned();
    Identity { certificate, key: include_str!("ed25519.key").to_owned() }
}
