//! The keys of an issuer, parsed from its JWK Set (RFC 7517).
//!
//! A key that Roster cannot use is skipped: its kind or its use is not supported, it is too short,
//! or its secret part was published. Usable keys beyond the limit are ignored. This module does not
//! know where a set comes from.
//!
//! Different keys should have different ids (RFC 7517 section 4.5). A key that is listed twice is
//! one key. If different keys for the same algorithm have one id, no token with that id is
//! accepted: trying each would let a token cost as many verifications as the set has keys.

use std::collections::HashMap;

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::DecodingKey;
use roster_core::{Json, json};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::{
    algorithm::{KeyKind, TokenAlgorithm},
    limits::SET_KEYS_MAX,
    token::text_of,
};

/// The accepted sizes of RSA keys, in bits. RFC 7518 section 3.3 requires at least 2048.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The usable keys of an issuer.
pub(crate) struct KeySet {
    keys: Vec<Key>,
    /// Whether usable keys beyond the limit were ignored.
    pub(crate) is_cut: bool,
    /// An id that different keys for the same algorithm have.
    pub(crate) shared_id: Option<String>,
    /// The SHA-256 of the document.
    pub(crate) digest: [u8; 32],
}

/// A public key.
pub(crate) struct Key {
    id: Option<String>,
    kind: KeyKind,
    /// The only algorithm that this key may be used with, if the set names one.
    algorithm: Option<TokenAlgorithm>,
    /// What the key consists of, for comparisons: its numbers, or the coordinates of its point.
    parts: Vec<Vec<u8>>,
    pub(crate) material: DecodingKey,
}

/// Why no key of the set matches a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// No key has the token's key id.
    Unknown,
    /// The token has no key id, and the set does not have exactly one key.
    Unnamed,
    /// The key with the token's key id does not support its algorithm.
    Misfit,
    /// Different keys with the token's key id support its algorithm.
    Shared,
}

impl KeySet {
    /// Parses a set. The error says what is wrong with it.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        // Each key is read by itself: one that cannot be read is none that Roster can use.
        let text_of_keys = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let document: HashMap<String, &RawValue> =
            serde_json::from_slice(text_of_keys).map_err(|fault| fault.to_string())?;
        let keys = document.get("keys").map(|keys| serde_json::from_str(keys.get()));
        let Some(Ok(keys)) = keys else {
            return Err("the key set has no array named keys".to_owned());
        };
        let keys: Vec<&RawValue> = keys;
        let keys = keys.into_iter().filter_map(|key| json::read(key.get().as_bytes()).ok());
        let mut usable: Vec<Key> = Vec::new();
        let mut is_cut = false;
        for key in keys.filter_map(|key| Key::read(&key)) {
            if usable.iter().any(|known| known.is_same(&key)) {
                continue;
            }
            is_cut = usable.len() == SET_KEYS_MAX;
            if is_cut {
                break;
            }
            usable.push(key);
        }
        let shared = usable.iter().enumerate().find(|(index, key)| {
            let mut earlier = usable.iter().take(*index);
            key.id.is_some() && earlier.any(|other| other.clashes(key))
        });
        let shared_id = shared.and_then(|(_, key)| key.id.clone());
        Ok(Self { keys: usable, is_cut, shared_id, digest: Sha256::digest(text).into() })
    }

    /// Whether the set has no usable key.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether the set has a key with this id.
    pub(crate) fn names(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id.as_deref() == Some(id))
    }

    /// The key for a token with this key id, if it has one, and this algorithm.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: TokenAlgorithm) -> Result<&Key, NoKey> {
        let Some(id) = id else {
            let key = self.keys.first().ok_or(NoKey::Unnamed)?;
            // The same key may be listed twice.
            if self.keys.iter().any(|other| other.parts != key.parts) {
                return Err(NoKey::Unnamed);
            }
            let mut fitting = self.keys.iter().filter(|key| key.fits(algorithm));
            return fitting.next().ok_or(NoKey::Misfit);
        };
        if !self.names(id) {
            return Err(NoKey::Unknown);
        }
        let named = |key: &&Key| key.id.as_deref() == Some(id) && key.fits(algorithm);
        let mut found = self.keys.iter().filter(named);
        let key = found.next().ok_or(NoKey::Misfit)?;
        // The same key may be listed with its algorithm and without.
        if found.all(|other| other.parts == key.parts) { Ok(key) } else { Err(NoKey::Shared) }
    }
}

impl Key {
    /// Whether both entries of a set say the same.
    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.algorithm == other.algorithm && self.is_same_key(other)
    }

    fn is_same_key(&self, other: &Self) -> bool {
        self.kind == other.kind && self.parts == other.parts
    }

    /// Whether a token could mean both keys, which differ.
    fn clashes(&self, other: &Self) -> bool {
        let has_common = match (self.algorithm, other.algorithm) {
            (Some(one), Some(two)) => one == two,
            (None, _) | (_, None) => true,
        };
        self.id == other.id && self.kind == other.kind && has_common && !self.is_same_key(other)
    }

    fn fits(&self, algorithm: TokenAlgorithm) -> bool {
        self.kind == algorithm.kind() && self.algorithm.is_none_or(|own| own == algorithm)
    }

    /// Parses a key. Returns `None` for a key that Roster cannot use.
    fn read(jwk: &Json) -> Option<Self> {
        let id = match jwk.member("kid") {
            None => None,
            Some(Json::Text(id)) => Some(id.clone()),
            Some(_) => return None,
        };
        // The set contains the private key, so everyone who can read the set can sign with it.
        if jwk.member("d").is_some() || !is_for_signatures(jwk) {
            return None;
        }
        let algorithm = match jwk.member("alg") {
            None => None,
            Some(Json::Text(name)) => Some(TokenAlgorithm::parse(name)?),
            Some(_) => return None,
        };
        let (kind, parts, material) = material(jwk)?;
        let own = algorithm.is_none_or(|algorithm| algorithm.kind() == kind);
        own.then_some(Self { id, kind, algorithm, parts, material })
    }
}

/// Whether `use` and `key_ops`, if present, allow verification with the key.
fn is_for_signatures(jwk: &Json) -> bool {
    let by_use = match jwk.member("use") {
        None => true,
        Some(Json::Text(word)) => word == "sig",
        Some(_) => false,
    };
    let verify = |word: &Json| matches!(word, Json::Text(word) if word == "verify");
    by_use
        && match jwk.member("key_ops") {
            None => true,
            Some(Json::Array(words)) => words.iter().any(verify),
            Some(_) => false,
        }
}

/// The kind of a key, what it consists of, and the key.
fn material(jwk: &Json) -> Option<(KeyKind, Vec<Vec<u8>>, DecodingKey)> {
    match (text_of(jwk, "kty")?, text_of(jwk, "crv")) {
        ("RSA", _) => {
            let (n, e) = (number(jwk, "n")?, number(jwk, "e")?);
            let first = n.first()?;
            let bits = n.len() * 8 - usize::try_from(first.leading_zeros()).ok()?;
            let key = DecodingKey::from_rsa_raw_components(&n, &e);
            RSA_BITS.contains(&bits).then(|| (KeyKind::Rsa, vec![n, e], key))
        }
        ("EC", Some("P-256")) => point(jwk, KeyKind::P256, 32),
        ("EC", Some("P-384")) => point(jwk, KeyKind::P384, 48),
        ("OKP", Some("Ed25519")) => {
            let x = bytes(jwk, "x").filter(|x| x.len() == 32)?;
            let key = DecodingKey::from_ed_der(&x);
            Some((KeyKind::Ed25519, vec![x], key))
        }
        _ => None,
    }
}

/// An uncompressed curve point with coordinates of `length` bytes each.
fn point(jwk: &Json, kind: KeyKind, length: usize) -> Option<(KeyKind, Vec<Vec<u8>>, DecodingKey)> {
    let (x, y) = (bytes(jwk, "x")?, bytes(jwk, "y")?);
    let is_whole = x.len() == length && y.len() == length;
    let key = DecodingKey::from_ec_der(&[&[4], x.as_slice(), y.as_slice()].concat());
    is_whole.then(|| (kind, vec![x, y], key))
}

fn bytes(jwk: &Json, name: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text_of(jwk, name)?.as_bytes()).ok()
}

/// A number without leading zeros, which some issuers send.
fn number(jwk: &Json, name: &str) -> Option<Vec<u8>> {
    let bytes = bytes(jwk, name)?;
    Some(bytes.into_iter().skip_while(|byte| *byte == 0).collect())
}
