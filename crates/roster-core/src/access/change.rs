//! What becomes of the keys when one is made, rotated or revoked: a pure function of all keys, so
//! that every engine obeys the same rules.

use super::{
    api_key::{ApiKey, FormerSecret, KeyId, KeyState, SecretDigest},
    keyring::Keyring,
};
use crate::{failure::StoreError, limits::KEYS_MAX, timestamp::Timestamp};

/// What is to be done to a key.
#[derive(Clone, Debug)]
pub enum KeyAct {
    /// Make it.
    Create(Box<ApiKey>),
    /// Make its secret anew; the one before opens for a while longer.
    Rotate {
        /// Which key.
        id: KeyId,
        /// The new secret.
        secret: SecretDigest,
        /// For how many milliseconds the former secret still opens.
        overlap_ms: i64,
    },
    /// End it for good.
    Revoke {
        /// Which key.
        id: KeyId,
    },
}

/// A change of the keys that somebody asked for.
#[derive(Clone, Debug)]
pub struct KeyChange {
    /// What is to be done.
    pub act: KeyAct,
    /// When it was asked for.
    pub at: Timestamp,
}

/// What a change comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDecision {
    /// The key as it is to be.
    pub key: ApiKey,
    /// A key that is forgotten to make room.
    pub displaced: Option<KeyId>,
    /// Whether anything is to be written.
    pub changes: bool,
}

/// Why a change of the keys was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No key has that id.
    NotFound,
    /// The key is revoked or its time is over.
    Ended,
    /// There are as many keys as there may be, and all of them open.
    TooMany,
    /// Another key has the id; one more throw of the dice helps.
    IdTaken,
}

/// Why a change of the keys did not come about.
#[derive(Debug)]
pub enum KeyFailure {
    /// The rules refuse it.
    Refused(KeyRefusal),
    /// The store failed.
    Store(StoreError),
}

impl From<KeyRefusal> for KeyFailure {
    fn from(refusal: KeyRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for KeyFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What a change comes to, given all keys.
pub fn decide_keys(keys: &Keyring, change: &KeyChange) -> Result<KeyDecision, KeyRefusal> {
    let known = |id: &KeyId| keys.keys.get(id).cloned().ok_or(KeyRefusal::NotFound);
    match &change.act {
        KeyAct::Create(key) => {
            if let Some(found) = keys.keys.get(&key.id) {
                let again = found.secret == key.secret;
                return if again { Ok(unchanged(found)) } else { Err(KeyRefusal::IdTaken) };
            }
            let displaced = room(keys, change.at)?;
            Ok(KeyDecision { key: key.as_ref().clone(), displaced, changes: true })
        }
        KeyAct::Rotate { id, secret, overlap_ms } => {
            let mut key = known(id)?;
            if key.secret == *secret {
                return Ok(unchanged(&key));
            }
            if key.state(change.at) != KeyState::Active {
                return Err(KeyRefusal::Ended);
            }
            let until = change.at.as_millis().saturating_add(*overlap_ms);
            let until = Timestamp::from_millis(until);
            let former = FormerSecret { secret: key.secret, until };
            key.former = (*overlap_ms > 0).then_some(former);
            key.secret = *secret;
            key.rotated_at = Some(change.at);
            Ok(KeyDecision { key, displaced: None, changes: true })
        }
        KeyAct::Revoke { id } => {
            let mut key = known(id)?;
            let changes = key.revoked_at.is_none();
            key.revoked_at.get_or_insert(change.at);
            key.former = None;
            Ok(KeyDecision { key, displaced: None, changes })
        }
    }
}

/// The same change came before, and its answer was lost on the way.
fn unchanged(key: &ApiKey) -> KeyDecision {
    KeyDecision { key: key.clone(), displaced: None, changes: false }
}

/// The key that is forgotten for a new one: none while there is room, else the one that ended
/// first.
fn room(keys: &Keyring, now: Timestamp) -> Result<Option<KeyId>, KeyRefusal> {
    if keys.keys.len() < KEYS_MAX {
        return Ok(None);
    }
    let ended = keys.keys.values().filter(|key| key.state(now) != KeyState::Active);
    let first = ended.min_by_key(|key| (key.revoked_at.or(key.expires_at), key.id));
    first.map(|key| Some(key.id)).ok_or(KeyRefusal::TooMany)
}
