//! The signature algorithms that Roster accepts for tokens, and the kind of key that each one
//! needs.
//!
//! Only asymmetric algorithms are accepted. With a shared secret, or with `none`, everyone who can
//! verify a token can also create one (RFC 8725 sections 2.1 and 3.1). The table has no row for
//! those algorithms, so no setting can allow them.

use jsonwebtoken::Algorithm;

macro_rules! algorithms {
    ($($variant:ident $text:literal $library:ident $kind:ident,)*) => {
        /// A signature algorithm of RFC 7518 or RFC 8037.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TokenAlgorithm {
            $(#[doc = concat!("`", $text, "`.")] $variant,)*
        }

        impl TokenAlgorithm {
            /// All accepted algorithms.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The value of `alg` for this algorithm.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The kind of key that it needs.
            pub(crate) const fn kind(self) -> KeyKind {
                match self {
                    $(Self::$variant => KeyKind::$kind,)*
                }
            }

            /// The algorithm as a value of the `jsonwebtoken` crate.
            pub(crate) const fn to_jsonwebtoken(self) -> Algorithm {
                match self {
                    $(Self::$variant => Algorithm::$library,)*
                }
            }
        }
    };
}

algorithms! {
    Rs256 "RS256" RS256 Rsa,
    Rs384 "RS384" RS384 Rsa,
    Rs512 "RS512" RS512 Rsa,
    Ps256 "PS256" PS256 Rsa,
    Ps384 "PS384" PS384 Rsa,
    Ps512 "PS512" PS512 Rsa,
    Es256 "ES256" ES256 P256,
    Es384 "ES384" ES384 P384,
    EdDsa "EdDSA" EdDSA Ed25519,
}

/// A kind of public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl TokenAlgorithm {
    /// Parses a value of `alg`. The comparison is case-sensitive. Returns `None` for any other
    /// text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_asymmetric_algorithms_parse() {
        for one in TokenAlgorithm::ALL {
            assert_eq!(TokenAlgorithm::parse(one.as_str()), Some(*one));
            assert_eq!(format!("{:?}", one.to_jsonwebtoken()), one.as_str());
        }
        for other in ["none", "None", "NONE", "nOnE", "HS256", "HS384", "HS512", "rs256", ""] {
            assert_eq!(TokenAlgorithm::parse(other), None, "{other}");
        }
    }
}
