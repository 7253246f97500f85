//! The text of a key: `rst_`, the id, `_`, the secret, `_` and a checksum.
//!
//! The checksum (the CRC-32 of all text before it) detects typos and truncated keys without a
//! lookup, and lets scanners for leaked secrets confirm a match. It is not a protection.

use std::fmt;

use super::api_key::{KEY_ID_LENGTH, KeyId, SecretDigest};
use crate::clock::Clock;

/// The prefix of every key.
const PREFIX: &str = "rst_";
/// Characters of a secret: 32 of an alphabet of 62 have more than 190 bits.
const SECRET_LENGTH: usize = 32;
/// Characters of the checksum: six of an alphabet of 62 hold 32 bits.
const CHECKSUM_LENGTH: usize = 6;
/// Letters and digits need no quoting, and a double click selects them all.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The largest multiple of 62 that fits a byte. Larger bytes are dropped: they would make some
/// characters more likely.
const FAIR: u8 = 248;

/// A new key with its secret. Its `Debug` form has no secret.
pub struct Token {
    /// The key's id.
    pub id: KeyId,
    /// The digest of its secret, which is stored.
    pub digest: SecretDigest,
    text: String,
}

impl Token {
    /// A token with a new id; `None` without randomness.
    pub fn new(clock: &dyn Clock) -> Option<Self> {
        Self::of(KeyId::parse(&random_text(clock, KEY_ID_LENGTH)?)?, clock)
    }

    /// A new secret for the key with this id; `None` without randomness.
    pub fn of(id: KeyId, clock: &dyn Clock) -> Option<Self> {
        let secret = random_text(clock, SECRET_LENGTH)?;
        let digest = SecretDigest::of(&secret);
        let before = format!("{PREFIX}{id}_{secret}");
        let text = format!("{before}_{}", checksum(&before));
        Some(Self { id, digest, text })
    }

    /// The id and the digest, as a caller presents them.
    pub const fn presented(&self) -> Presented {
        Presented { id: self.id, digest: self.digest }
    }

    /// The text, for the one response that returns it.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What a caller presents: a key's id and the digest of a secret.
#[derive(Clone, Copy, Debug)]
pub struct Presented {
    /// The id.
    pub id: KeyId,
    /// The digest of the secret.
    pub digest: SecretDigest,
}

impl Presented {
    /// Parses the text of a key; `None` if the form or the checksum is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let (before, sum) = text.rsplit_once('_')?;
        let (id, secret) = before.strip_prefix(PREFIX)?.split_once('_')?;
        let plain = secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let whole = secret.len() == SECRET_LENGTH && plain && sum == checksum(before);
        let id = KeyId::parse(id).filter(|_| whole)?;
        Some(Self { id, digest: SecretDigest::of(secret) })
    }

    /// Whether a text has the prefix of a key, regardless of its checksum.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }
}

fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut sum = vec![b'0'; CHECKSUM_LENGTH];
    for digit in sum.iter_mut().rev() {
        *digit = character(u8::try_from(rest % 62).unwrap_or_default());
        rest /= 62;
    }
    sum.into_iter().map(char::from).collect()
}

fn random_text(clock: &dyn Clock, length: usize) -> Option<String> {
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut bytes = [0; 64];
        if !clock.fill(&mut bytes) {
            return None;
        }
        let fair = bytes.into_iter().filter(|byte| *byte < FAIR);
        text.extend(fair.map(|byte| char::from(character(byte))).take(length - text.len()));
    }
    Some(text)
}

fn character(number: u8) -> u8 {
    ALPHABET.get(usize::from(number % 62)).copied().unwrap_or(b'0')
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;
    use crate::{id::UserId, timestamp::Timestamp};

    /// A clock whose random bytes count up, so that all values occur, also those that are dropped.
    struct Counting(AtomicU8);

    impl Clock for Counting {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }

        fn uptime(&self) -> std::time::Duration {
            std::time::Duration::ZERO
        }

        fn new_id(&self) -> UserId {
            UserId::from_bytes([0; 16])
        }

        fn fill(&self, bytes: &mut [u8]) -> bool {
            for byte in bytes {
                *byte = self.0.fetch_add(1, Ordering::Relaxed);
            }
            true
        }
    }

    fn token() -> Token {
        Token::new(&Counting(AtomicU8::new(240))).unwrap()
    }

    #[test]
    fn a_token_is_parsed_back_into_its_parts() {
        let token = token();
        let presented = Presented::parse(token.reveal()).unwrap();
        assert_eq!(presented.id, token.id);
        assert!(presented.digest.equals(&token.digest));
        assert_eq!(token.reveal().len(), 54);
        assert!(!format!("{token:?}").contains(token.reveal()));
    }

    #[test]
    fn every_changed_character_is_detected() {
        let text = token().reveal().to_owned();
        for at in 0..text.len() {
            for other in ["x", "Y", "7", "_", " "] {
                if text[at..=at] == *other {
                    continue;
                }
                let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                assert!(Presented::parse(&changed).is_none(), "{changed}");
            }
        }
        for cut in 0..text.len() {
            assert!(Presented::parse(&text[..cut]).is_none(), "{cut}");
        }
        assert!(Presented::parse(&format!("{text}0")).is_none());
        assert!(Presented::parse(&text.to_lowercase()).is_none());
    }

    #[test]
    fn two_swapped_characters_are_detected() {
        let text = token().reveal().to_owned();
        for at in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes.swap(at, at + 1);
            let swapped = String::from_utf8(bytes).unwrap();
            assert!(swapped == text || Presented::parse(&swapped).is_none(), "{swapped}");
        }
    }
}
