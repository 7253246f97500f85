//! All keys of a store, as they were at one moment, and whom they let in.

use std::collections::BTreeMap;

use super::{
    api_key::{ApiKey, KeyId, KeyState, SecretDigest},
    token::Presented,
};
use crate::timestamp::Timestamp;

/// The keys of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keyring {
    /// Counts the changes; 0 where there never was a key. Only then is the service open.
    pub generation: i64,
    /// The keys by their ids.
    pub keys: BTreeMap<KeyId, ApiKey>,
}

/// Why a presented key lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unauthentic {
    /// No key has that id, or its secret is another. Which of both is not told.
    Unknown,
    /// The secret is right, and the key's time, or that of this secret, is over.
    Expired,
    /// The secret is right, and the key was revoked.
    Revoked,
}

impl Keyring {
    /// Whether there never was a key.
    pub const fn is_open(&self) -> bool {
        self.generation == 0
    }

    /// The key that a caller presents. An unknown id costs the same compare as a known one.
    pub fn admit(&self, presented: &Presented, now: Timestamp) -> Result<&ApiKey, Unauthentic> {
        const NOBODY: SecretDigest = SecretDigest([0; 32]);
        let key = self.keys.get(&presented.id);
        let is_own = key.map_or(&NOBODY, |key| &key.secret).equals(&presented.digest);
        let former = key.and_then(|key| key.former);
        let is_former = former.map_or(NOBODY, |former| former.secret).equals(&presented.digest);
        let Some(key) = key.filter(|_| is_own || is_former) else {
            return Err(Unauthentic::Unknown);
        };
        let outlived = former.is_none_or(|former| former.until <= now);
        match key.state(now) {
            KeyState::Revoked => Err(Unauthentic::Revoked),
            KeyState::Expired => Err(Unauthentic::Expired),
            KeyState::Active if !is_own && outlived => Err(Unauthentic::Expired),
            KeyState::Active => Ok(key),
        }
    }

    /// The keys in the order of their making.
    pub fn in_order(&self) -> Vec<&ApiKey> {
        let mut keys: Vec<&ApiKey> = self.keys.values().collect();
        keys.sort_by_key(|key| (key.created_at, key.id));
        keys
    }
}
