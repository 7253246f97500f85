//! Verifies signatures with ring, on behalf of the token library.
//!
//! The library gets verifiers only for the accepted public-key algorithms, and no signers. Key
//! sizes are checked here too: ring accepts no RSA key below 2048 bits.

use std::sync::Once;

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind},
    signature,
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(refused()),
    verifier_factory: |algorithm, key| match Way::of(*algorithm) {
        Some(way) if key.family() == algorithm.family() => {
            Ok(Box::new(Verifier { algorithm: *algorithm, way, key: key.clone() }))
        }
        _ => Err(refused()),
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes the library use ring. Must be called before any other use of it.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if PROVIDER.install_default().is_err() {
            tracing::error!("the token library was given other means of verifying signatures");
        }
    });
}

fn refused() -> Error {
    ErrorKind::InvalidAlgorithm.into()
}

/// How a signature is verified.
#[derive(Clone, Copy)]
enum Way {
    Rsa(&'static RsaParameters),
    Point(&'static dyn VerificationAlgorithm),
}

impl Way {
    fn of(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::RS256 => Self::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Self::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Self::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Self::Rsa(&RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Self::Rsa(&RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Self::Rsa(&RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => Self::Point(&ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Self::Point(&ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Self::Point(&ED25519),
            // Algorithms with a shared secret, and those of later versions of the library.
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 | _ => return None,
        })
    }
}

struct Verifier {
    algorithm: Algorithm,
    way: Way,
    key: DecodingKey,
}

impl signature::Verifier<Vec<u8>> for Verifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (self.way, self.key.kind()) {
            (Way::Rsa(way), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(way, message, signature)
            }
            (Way::Point(way), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(way, key).verify(message, signature)
            }
            (Way::Rsa(_), DecodingKeyKind::SecretOrDer(_))
            | (Way::Point(_), DecodingKeyKind::RsaModulusExponent { .. }) => {
                return Err(signature::Error::new());
            }
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Verifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
