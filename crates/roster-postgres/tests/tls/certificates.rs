//! Certificates of every kind that a server may show.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// Who vouches for others.
pub(crate) struct Authority {
    /// Its certificate.
    pub(crate) certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(crate) struct Identity {
    /// The certificate, and those between it and its authority.
    pub(crate) certificate: String,
    /// The key.
    pub(crate) key: String,
}

impl Authority {
    /// One that nobody else vouches for.
    pub(crate) fn new(name: &str) -> Self {
        let (params, key) = (of_authority(name), KeyPair::generate().unwrap());
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// One that this one vouches for.
    pub(crate) fn below(&self, name: &str) -> Self {
        let (params, key) = (of_authority(name), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names.
    pub(crate) fn issue(&self, names: &[&str]) -> Identity {
        self.issue_as(&of_server(names))
    }

    /// A certificate as it is described.
    pub(crate) fn issue_as(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

/// A certificate that vouches for itself.
pub(crate) fn self_signed(params: &CertificateParams) -> Identity {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    Identity { certificate, key: key.serialize_pem() }
}

/// One of an authority.
fn of_authority(name: &str) -> CertificateParams {
    let mut params = of_server(&[]);
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// One of a server with these names.
pub(crate) fn of_server(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

/// As most tools make one for a server that vouches for itself: it is an authority too.
pub(crate) fn of_server_and_authority(names: &[&str]) -> CertificateParams {
    let mut params = of_server(names);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// The name stands where it stood before there was a place for it.
pub(crate) fn of_server_by_common_name(name: &str) -> CertificateParams {
    let mut params = of_server(&[]);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Its time is over.
pub(crate) fn expired(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(2001, 1, 1);
    params
}

/// Its time is to come.
pub(crate) fn to_come(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(4000, 1, 1);
    params
}

/// As OpenSSL 3.0 makes one where it is told no more than a name and for how long.
pub(crate) fn of_version_1() -> Identity {
    let certificate = include_str!("version_1.crt").to_owned();
    Identity { certificate, key: include_str!("version_1.key").to_owned() }
}

/// A certificate whose signature has no hash function that PostgreSQL knows: by Ed25519.
pub(crate) fn unbindable() -> Identity {
    let certificate = include_str!("ed25519.crt").to_owned();
    Identity { certificate, key: include_str!("ed25519.key").to_owned() }
}
