//! What a password is bound to: the certificate that the server has shown (RFC 5929, section 4).
//!
//! Whoever sits in between with a certificate of his own cannot pass the login on, even where
//! nobody has verified the certificate.

use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio_rustls::rustls::{pki_types::CertificateDer, server::ParsedCertificate};

/// The hash `tls-server-end-point`, by the hash function of the certificate's own signature.
/// `None` where that names none by itself (RSA-PSS, Ed25519), and where the certificate cannot be
/// read, for the server has not shown then that it holds its key.
pub(super) fn server_end_point(server: &CertificateDer<'_>) -> Option<Vec<u8>> {
    ParsedCertificate::try_from(server).ok()?;
    Some(match signature_algorithm(server)? {
        // MD5 and SHA-1 are too weak to bind anything: SHA-256 stands in for them.
        MD5_WITH_RSA | SHA1_WITH_RSA | ECDSA_WITH_SHA1 | SHA256_WITH_RSA | ECDSA_WITH_SHA256 => {
            Sha256::digest(server).to_vec()
        }
        SHA384_WITH_RSA | ECDSA_WITH_SHA384 => Sha384::digest(server).to_vec(),
        SHA512_WITH_RSA | ECDSA_WITH_SHA512 => Sha512::digest(server).to_vec(),
        _ => return None,
    })
}

/// Object identifiers (RFC 3279, RFC 4055, RFC 5758) as they are encoded.
const MD5_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04];
const SHA1_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05];
const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const SHA384_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c];
const SHA512_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d];
const ECDSA_WITH_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const ECDSA_WITH_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03];
const ECDSA_WITH_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The second part of a certificate begins with it (RFC 5280, section 4.1).
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (parts, _) = element(certificate, SEQUENCE)?;
    let (_signed, rest) = element(parts, SEQUENCE)?;
    let (algorithm, _signature) = element(rest, SEQUENCE)?;
    let (identifier, _parameters) = element(algorithm, OBJECT_IDENTIFIER)?;
    Some(identifier)
}

/// The contents of the first element in DER, if it is of this kind, and what follows it.
fn element(input: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (&[tag, length], rest) = input.split_first_chunk::<2>()?;
    if tag != kind {
        return None;
    }
    // Up to 127 it is the length itself; above, it says how many bytes the length takes.
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81 => {
            let (&length, rest) = rest.split_first()?;
            (usize::from(length), rest)
        }
        0x82 => {
            let (&length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(length)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
        SignatureAlgorithm,
    };
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;

    use super::*;

    fn certificate(algorithm: &'static SignatureAlgorithm) -> CertificateDer<'static> {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(vec!["db".to_owned()]).unwrap();
        params.self_signed(&key).unwrap().der().clone()
    }

    #[test]
    fn the_hash_function_is_that_of_the_signature() {
        let short = certificate(&PKCS_ECDSA_P256_SHA256);
        assert_eq!(server_end_point(&short), Some(Sha256::digest(&short).to_vec()));
        let long = certificate(&PKCS_ECDSA_P384_SHA384);
        assert_eq!(server_end_point(&long), Some(Sha384::digest(&long).to_vec()));
        assert_eq!(server_end_point(&certificate(&PKCS_ED25519)), None);
    }

    #[test]
    fn what_is_no_certificate_binds_nothing() {
        let whole = certificate(&PKCS_ECDSA_P256_SHA256);
        for end in 0..whole.len() {
            assert_eq!(server_end_point(&CertificateDer::from(&whole[..end])), None, "{end}");
            assert_eq!(signature_algorithm(&whole[..end]), None, "{end}");
        }
        let long = [SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff, 0];
        assert_eq!(signature_algorithm(&long), None);
        let indefinite = [SEQUENCE, 0x80, 0, 0];
        assert_eq!(signature_algorithm(&indefinite), None);
    }

    /// Its handshake proves nothing: such a certificate passes for anybody who shows it.
    #[test]
    fn a_certificate_that_cannot_be_read_binds_nothing() {
        let old = include_bytes!("../../../tests/tls/version_1.crt");
        let old = CertificateDer::from_pem_slice(old).unwrap();
        assert_eq!(signature_algorithm(&old), Some(ECDSA_WITH_SHA256));
        assert_eq!(server_end_point(&old), None);
    }

    #[test]
    fn lengths_are_read_in_all_their_forms() {
        for (length, head) in [
            (0x7f, vec![SEQUENCE, 0x7f]),
            (0x80, vec![SEQUENCE, 0x81, 0x80]),
            (0x1234, vec![SEQUENCE, 0x82, 0x12, 0x34]),
        ] {
            let contents = vec![7; length];
            let encoded = [&*head, &*contents, b"rest"].concat();
            assert_eq!(element(&encoded, SEQUENCE), Some((&*contents, &b"rest"[..])));
            assert_eq!(element(&encoded, OBJECT_IDENTIFIER), None);
        }
    }
}
