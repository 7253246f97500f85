//! Keys of a store at one time, and the check of a presented key.

use std::collections::BTreeMap;

use super::{
    api_key::{ApiKey, KeyId, KeyState, SecretDigest},
    token::Presented,
};
use crate::timestamp::Timestamp;

/// Keys of a store, and how often they changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keyring {
    /// Counts the changes; 0 if no key was ever created. Only then does the service accept callers
    /// without credentials.
    pub generation: i64,
    /// The keys by their ids.
    pub keys: BTreeMap<KeyId, ApiKey>,
}

/// Why a presented key is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unauthentic {
    /// No key has this id, or the secret is wrong. The caller does not learn which.
    Unknown,
    /// The secret is right, but the key or this secret has expired.
    Expired,
    /// The secret is right, but the key was revoked.
    Revoked,
}

impl Keyring {
    /// Whether no key was ever created. A damaged count does not open a service that has keys.
    pub fn is_open(&self) -> bool {
        self.generation == 0 && self.keys.is_empty()
    }

    /// The key that a caller presents, and when the secret that it presents stops being valid, if
    /// it does. An unknown id takes the same comparisons as a known one.
    pub fn admit(
        &self,
        presented: &Presented,
        now: Timestamp,
    ) -> Result<(&ApiKey, Option<Timestamp>), Unauthentic> {
        const NO_SECRET: SecretDigest = SecretDigest([0; 32]);
        let key = self.keys.get(&presented.id);
        let is_own = key.map_or(&NO_SECRET, |key| &key.secret).equals(&presented.digest);
        let former = key.and_then(|key| key.former);
        let is_former = former.map_or(NO_SECRET, |former| former.secret).equals(&presented.digest);
        let Some(key) = key.filter(|_| is_own || is_former) else {
            return Err(Unauthentic::Unknown);
        };
        let former_end = former.filter(|_| !is_own).map(|former| former.until);
        match key.state(now) {
            KeyState::Revoked => Err(Unauthentic::Revoked),
            KeyState::Expired => Err(Unauthentic::Expired),
            KeyState::Active if former_end.is_some_and(|end| end <= now) => {
                Err(Unauthentic::Expired)
            }
            KeyState::Active => Ok((key, [key.expires_at, former_end].into_iter().flatten().min())),
        }
    }
}
