//! One key: who holds it is named, what it may do is listed, its secret is kept as a digest.

use std::{fmt, str};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::scope::Scopes;
use crate::timestamp::Timestamp;

/// Characters of a key's id.
pub(super) const KEY_ID_LENGTH: usize = 10;

/// The id of a key: ten letters and digits, told apart by case. It is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; KEY_ID_LENGTH]);

impl KeyId {
    /// Reads an id as it is written; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; KEY_ID_LENGTH] = text.as_bytes().try_into().ok()?;
        bytes.iter().all(u8::is_ascii_alphanumeric).then_some(Self(bytes))
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        // Letters and digits alone: always text.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// SHA-256 of a secret. The secret has at least 190 random bits, so that a slow hash would guard
/// nothing and only cost.
#[derive(Clone, Copy)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// The digest of a secret.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Whether they are of one secret; takes as long whichever bytes differ.
    pub fn equals(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl PartialEq for SecretDigest {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Eq for SecretDigest {}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest")
    }
}

/// A key, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: KeyId,
    /// What it is for, in its maker's words.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it, as the change log names actors.
    pub created_by: String,
    /// When it ends by itself, if it does.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When its secret was made anew the last time.
    pub rotated_at: Option<Timestamp>,
    /// When it was used last, to the minute; kept beside, so that using a key changes none.
    pub last_used_at: Option<Timestamp>,
    /// Its secret.
    pub secret: SecretDigest,
    /// The secret before that one, which opens for a while longer.
    pub former: Option<FormerSecret>,
}

/// A secret whose successor is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerSecret {
    /// The secret.
    pub secret: SecretDigest,
    /// When it stops to open.
    pub until: Timestamp,
}

/// What has become of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It opens.
    Active,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
}

impl KeyState {
    /// The state as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl ApiKey {
    /// What has become of it at that moment.
    pub fn state(&self, now: Timestamp) -> KeyState {
        if self.revoked_at.is_some() {
            KeyState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            KeyState::Expired
        } else {
            KeyState::Active
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_ten_letters_and_digits() {
        assert_eq!(
            KeyId::parse("aZ09aZ09aZ").map(|id| id.to_string()).as_deref(),
            Some("aZ09aZ09aZ")
        );
        for other in ["", "aZ09aZ09a", "aZ09aZ09aZ0", "aZ09aZ09a-", "aZ09aZ09é"] {
            assert_eq!(KeyId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_digest_is_never_printed() {
        assert_eq!(format!("{:?}", SecretDigest::of("secret")), "SecretDigest");
    }
}
