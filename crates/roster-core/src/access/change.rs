//! Creating, rotating and revoking a key, as a pure function of the keys that the change concerns,
//! so that every engine applies the same rules.

use super::{
    api_key::{ApiKey, FormerSecret, KeyId, KeyState, Reach, SecretDigest},
    keyring::Keyring,
};
use crate::{
    failure::StoreError,
    limits::KEYS_MAX,
    tenant::TenantId,
    timestamp::Timestamp,
    write::command::{Actor, Caller},
};

/// An operation on a key.
#[derive(Clone, Debug)]
pub enum KeyAct {
    /// Create a key.
    Create(Box<ApiKey>),
    /// Create the first key of the store.
    CreateFirst(Box<ApiKey>),
    /// Replace its secret. The previous one stays valid for a limited time.
    Rotate {
        /// The key's id.
        id: KeyId,
        /// The new secret.
        secret: SecretDigest,
        /// For how many milliseconds the previous secret stays valid.
        overlap_ms: i64,
    },
    /// Revoke it permanently.
    Revoke {
        /// The key's id.
        id: KeyId,
    },
}

/// A requested change of the keys.
#[derive(Clone, Debug)]
pub struct KeyChange {
    /// The operation.
    pub act: KeyAct,
    /// The keys that it may concern.
    pub view: KeyView,
    /// The time of the request.
    pub at: Timestamp,
    /// The sender of the request.
    pub caller: Caller,
}

/// The keys that a caller may see and change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyView {
    /// Those of one tenant.
    Tenant(TenantId),
    /// Those of the default tenant and those of the operator.
    Operator,
    /// All keys of the store.
    Store,
}

impl KeyView {
    /// Whether it has a key.
    pub fn has(self, key: &ApiKey) -> bool {
        match self {
            Self::Tenant(tenant) => key.reach == Reach::Tenant(tenant),
            Self::Operator => key.reach.includes(TenantId::DEFAULT),
            Self::Store => true,
        }
    }
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDecision {
    /// The key after the change.
    pub key: ApiKey,
    /// A key that is removed to make room.
    pub displaced: Option<KeyId>,
    /// Whether anything must be written.
    pub changes: bool,
}

/// Why a change of the keys was rejected. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No key has that id.
    NotFound,
    /// The key is revoked or has expired.
    Ended,
    /// The maximum number of keys exists, and all of them are active.
    TooMany,
    /// Another key has the id; a new random id solves it.
    IdTaken,
    /// Only the operator may create a key of the operator.
    NotOperator,
    /// The tenant of a key that is to be created or rotated was deleted.
    TenantNotFound,
    /// Another caller has created the first key meanwhile. This one has no credential, or was to
    /// create the first key.
    Closed,
}

/// Why a change of the keys failed.
#[derive(Debug)]
pub enum KeyFailure {
    /// The rules reject it.
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

/// Decides a change, given the generation of the keys, the key with its id, and for a new key all
/// keys with the same reach.
pub fn decide_keys(keys: &Keyring, change: &KeyChange) -> Result<KeyDecision, KeyRefusal> {
    let view = change.view;
    let known = |id: &KeyId| {
        keys.keys.get(id).filter(|key| view.has(key)).cloned().ok_or(KeyRefusal::NotFound)
    };
    match &change.act {
        KeyAct::Create(key) | KeyAct::CreateFirst(key) => {
            if let Some(found) = keys.keys.get(&key.id) {
                let again = found.secret == key.secret;
                return if again { Ok(unchanged(found)) } else { Err(KeyRefusal::IdTaken) };
            }
            let is_first = matches!(change.act, KeyAct::CreateFirst(_));
            if (is_first || change.caller.actor == Actor::Anonymous) && !keys.is_open() {
                return Err(KeyRefusal::Closed);
            }
            if !view.has(key) {
                return Err(KeyRefusal::NotOperator);
            }
            let displaced = displaced_key(keys, key.reach, change.at)?;
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
            // Changes at the same time may be made in another order than that of their requests.
            key.rotated_at = Some(change.at.max(key.changed_at()));
            Ok(KeyDecision { key, displaced: None, changes: true })
        }
        KeyAct::Revoke { id } => {
            let mut key = known(id)?;
            let changes = key.revoked_at.is_none();
            key.revoked_at.get_or_insert(change.at.max(key.changed_at()));
            key.former = None;
            Ok(KeyDecision { key, displaced: None, changes })
        }
    }
}

/// The result for a change that was already made: its response was lost and the caller repeats it.
fn unchanged(key: &ApiKey) -> KeyDecision {
    KeyDecision { key: key.clone(), displaced: None, changes: false }
}

/// The key to remove for a new one with this reach: none while there is room, otherwise the one of
/// the same reach that ended first.
fn displaced_key(
    keys: &Keyring,
    reach: Reach,
    now: Timestamp,
) -> Result<Option<KeyId>, KeyRefusal> {
    let own = || keys.keys.values().filter(|key| key.reach == reach);
    if own().count() < KEYS_MAX {
        return Ok(None);
    }
    let ended = own().filter(|key| key.state(now) != KeyState::Active);
    let end = |key: &ApiKey| key.revoked_at.into_iter().chain(key.expires_at).min();
    let first = ended.min_by_key(|key| (end(key), key.id));
    first.map(|key| Some(key.id)).ok_or(KeyRefusal::TooMany)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Expiry, KeyDraft, Presented, Scope};

    #[test]
    fn the_times_of_a_key_never_go_back() {
        let at = Timestamp::from_millis;
        let id = KeyId::parse("aZ09aZ09aZ").unwrap();
        let draft =
            KeyDraft::of("a", [Scope::UsersRead].into_iter().collect(), Expiry::Never, at(0));
        let token = Presented { id, digest: SecretDigest([1; 32]) };
        let mut key = draft.unwrap().into_key(TenantId::DEFAULT, token, &Actor::System, at(100));
        let rotate = |n| KeyAct::Rotate { id, secret: SecretDigest([n; 32]), overlap_ms: 0 };
        for (act, sent, changed) in
            [(rotate(2), 90, 100), (rotate(3), 120, 120), (KeyAct::Revoke { id }, 110, 120)]
        {
            let keys = Keyring { generation: 1, keys: [(id, key)].into() };
            let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
            let change = KeyChange { act, view: KeyView::Store, at: at(sent), caller };
            key = decide_keys(&keys, &change).unwrap().key;
            assert_eq!(key.changed_at(), at(changed), "sent at {sent}");
        }
        assert_eq!((key.rotated_at, key.revoked_at), (Some(at(120)), Some(at(120))));
    }
}
