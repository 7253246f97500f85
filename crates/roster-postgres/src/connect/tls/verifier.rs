//! Verification of the server's certificate.
//!
//! The modes differ only in what they require of the certificate: nothing, a trusted issuer, or
//! also the host name. All modes check that the server holds the key of its certificate, because
//! password authentication may be bound to that certificate.

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

/// What is required of the server's certificate.
#[derive(Debug)]
pub(super) enum Trust {
    /// Nothing.
    Unverified,
    /// A trusted issuer.
    Authorities(Authorities),
    /// A trusted issuer, and the host name of the URL.
    Name(Authorities),
}

#[derive(Debug)]
pub(super) struct Authorities {
    anchors: RootCertStore,
    named: Vec<CertificateDer<'static>>,
}

/// Checks a server's certificate.
#[derive(Debug)]
pub(super) struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Authorities {
    /// The authorities of a file. A certificate that cannot be parsed is an error.
    pub(super) fn named(certificates: Vec<CertificateDer<'static>>) -> Result<Self, Error> {
        let mut anchors = RootCertStore::empty();
        for certificate in &certificates {
            anchors.add(certificate.clone())?;
        }
        Ok(Self { anchors, named: certificates })
    }

    /// The authorities of the system, without those that cannot be parsed.
    pub(super) fn parsable(certificates: Vec<CertificateDer<'static>>) -> Self {
        let mut anchors = RootCertStore::empty();
        anchors.add_parsable_certificates(certificates);
        Self { anchors, named: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    fn check_issuer(
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
            // Most tools create self-signed server certificates as certificates of an authority. If
            // the operator named this certificate, no other issuer is needed. (Its validity period
            // was checked before.)
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
            Trust::Unverified => {}
            Trust::Authorities(authorities) => {
                authorities.check_issuer(server, intermediates, now, &self.algorithms)?;
            }
            Trust::Name(authorities) => {
                authorities.check_issuer(server, intermediates, now, &self.algorithms)?;
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
        verify_tls12_signature(message, server, signed, &self.algorithms).map_err(handshake_error)
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
        verified.map_err(handshake_error)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The public key of an X.509 certificate of version 1, which rustls does not parse. OpenSSL 3.0
/// creates such certificates if it is given only a name and a duration.
fn old_public_key(server: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    if ParsedCertificate::try_from(server).is_ok() {
        return None;
    }
    let certificate = Certificate::from_der(server).ok()?.tbs_certificate;
    let key = certificate.subject_public_key_info.to_der().ok()?;
    (certificate.version == Version::V1).then(|| key.into())
}

/// Makes a bad signature of the handshake distinguishable from one of an issuer.
fn handshake_error(error: Error) -> Error {
    if error == Error::InvalidCertificate(CertificateError::BadSignature) {
        return CertificateError::ApplicationVerificationFailure.into();
    }
    error
}

/// Whether a certificate was rejected because it belongs to an authority.
fn is_of_an_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    matches!(webpki_error(other), Some(webpki::Error::CaUsedAsEndEntity))
}

/// The error of webpki, for which rustls has no variant.
pub(super) fn webpki_error(error: &OtherError) -> Option<&webpki::Error> {
    error.0.downcast_ref()
}
