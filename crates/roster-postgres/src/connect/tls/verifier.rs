//! Whom a server has to be for.
//!
//! The same for every mode but for what it asks: nothing, a certificate that an authority vouches
//! for, or one for the name that was connected to as well. That the server holds the key of the
//! certificate it shows is always checked, since a password may be bound to that certificate.

use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor, verify_server_name,
    },
    crypto::{
        WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
        verify_tls13_signature_with_raw_key,
    },
    pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime},
    server::ParsedCertificate,
};
use x509_cert::{
    Certificate, Version,
    der::{Decode as _, Encode as _},
};

/// Who is let be the server.
#[derive(Debug)]
pub(super) enum Trust {
    /// Whoever answers.
    Anybody,
    /// Whom one of the authorities vouches for.
    Authorities(Authorities),
    /// The same, if it is for the name that was connected to.
    Name(Authorities),
}

/// Who may vouch for a server.
#[derive(Debug)]
pub(super) struct Authorities {
    anchors: RootCertStore,
    named: Vec<CertificateDer<'static>>,
}

/// Holds a server's certificate against what is asked of it.
#[derive(Debug)]
pub(super) struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Authorities {
    /// Those of a file: each of them can be read, or it is not what was meant.
    pub(super) fn named(certificates: Vec<CertificateDer<'static>>) -> Result<Self, Error> {
        let mut anchors = RootCertStore::empty();
        for certificate in &certificates {
            anchors.add(certificate.clone())?;
        }
        Ok(Self { anchors, named: certificates })
    }

    /// Those among many that can be read.
    pub(super) fn readable(certificates: Vec<CertificateDer<'static>>) -> Self {
        let mut anchors = RootCertStore::empty();
        anchors.add_parsable_certificates(certificates);
        Self { anchors, named: Vec::new() }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    fn vouch(
        &self,
        server: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        algorithms: &WebPkiSupportedAlgorithms,
    ) -> Result<(), Error> {
        let certificate = ParsedCertificate::try_from(server)?;
        let anchors = &self.anchors;
        let all = algorithms.all;
        match verify_server_cert_signed_by_trust_anchor(
            &certificate,
            anchors,
            intermediates,
            now,
            all,
        ) {
            // A server's own certificate, signed by itself, is an authority for most tools that
            // make one. If the operator has named this very certificate, nobody else has to vouch.
            // (Its time was looked at before.)
            Err(error) if is_of_an_authority(&error) && self.named.contains(server) => Ok(()),
            outcome => outcome,
        }
    }
}

impl Verifier {
    pub(super) const fn new(trust: Trust, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { trust, algorithms }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        server: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trust {
            Trust::Anybody => {}
            Trust::Authorities(authorities) => {
                authorities.vouch(server, intermediates, now, &self.algorithms)?;
            }
            Trust::Name(authorities) => {
                authorities.vouch(server, intermediates, now, &self.algorithms)?;
                verify_server_name(&ParsedCertificate::try_from(server)?, name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        server: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, server, signed, &self.algorithms).map_err(not_its_own)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        server: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.algorithms;
        let verified = match old_public_key(server) {
            Some(key) => verify_tls13_signature_with_raw_key(message, &key, signed, algorithms),
            None => verify_tls13_signature(message, server, signed, algorithms),
        };
        verified.map_err(not_its_own)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The public key of an X.509 certificate of version 1, which rustls does not read. OpenSSL 3.0
/// makes one where it is given a name and a duration alone.
fn old_public_key(server: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    if ParsedCertificate::try_from(server).is_ok() {
        return None;
    }
    let certificate = Certificate::from_der(server).ok()?.tbs_certificate;
    let key = certificate.subject_public_key_info.to_der().ok()?;
    (certificate.version == Version::V1).then(|| key.into())
}

/// Tells a signature of the handshake from one of an authority.
fn not_its_own(error: Error) -> Error {
    if error == Error::InvalidCertificate(CertificateError::BadSignature) {
        return CertificateError::ApplicationVerificationFailure.into();
    }
    error
}

/// Whether a certificate was refused because it is one of an authority and not of a server.
fn is_of_an_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    matches!(webpki_error(other), Some(webpki::Error::CaUsedAsEndEntity))
}

/// What the reader of certificates says where rustls has no word of its own for it.
pub(super) fn webpki_error(error: &OtherError) -> Option<&webpki::Error> {
    error.0.downcast_ref()
}
