//! The desk at which keys are made, listed, rotated and revoked, and what it asks of an engine.
//!
//! The text of a key exists in the answer that shows it and nowhere else. The keys need no more of
//! a store than these questions: whoever makes one offline opens nothing else.

use std::sync::Arc;

use super::{
    api_key::{ApiKey, KeyId},
    authority::{Authority, Permit, RunKeys},
    change::{KeyAct, KeyChange, KeyFailure, KeyRefusal},
    draft::KeyDraft,
    keyring::Keyring,
    token::Token,
};
use crate::{clock::Clock, failure::StoreError, outcome::Answer, timestamp::Timestamp};

/// What keeps the keys.
pub trait KeyStore: Send + Sync + 'static {
    /// All keys, if they changed since that generation; without one, always.
    fn keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>>;

    /// Changes the keys as [`decide_keys`](super::decide_keys()) says; gives the key as
    /// it is then. The generation grows with every change.
    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>>;

    /// Notes when keys were used; of a key that is gone, nothing. Not a change of the keys.
    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>>;
}

/// The desk.
#[derive(Clone)]
pub struct KeyDesk {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
}

impl KeyDesk {
    /// The desk before a store.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Makes a key. The first one closes the service to callers without credentials, for good.
    pub async fn create(
        &self,
        _may: Permit<RunKeys>,
        draft: KeyDraft,
        authority: &Authority,
    ) -> Result<(ApiKey, Token), KeyFailure> {
        loop {
            let at = self.clock.now();
            let token = Token::new(&*self.clock).ok_or_else(no_randomness)?;
            let key = Box::new(draft.clone().into_key(token.presented(), authority.actor(), at));
            let change = KeyChange { act: KeyAct::Create(key), at };
            match self.store.change_keys(change).await {
                Err(KeyFailure::Refused(KeyRefusal::IdTaken)) => {}
                made => return Ok((made?, token)),
            }
        }
    }

    /// All keys, in the order of their making.
    pub async fn list(&self, _may: Permit<RunKeys>) -> Result<Vec<ApiKey>, StoreError> {
        let keyring = self.store.keys(None).await?.unwrap_or_default();
        Ok(keyring.in_order().into_iter().cloned().collect())
    }

    /// The key of that id.
    pub async fn get(
        &self,
        _may: Permit<RunKeys>,
        id: KeyId,
    ) -> Result<Option<ApiKey>, StoreError> {
        let keyring = self.store.keys(None).await?.unwrap_or_default();
        Ok(keyring.keys.get(&id).cloned())
    }

    /// Makes the secret of a key anew; the former one opens for `overlap_ms` longer.
    pub async fn rotate(
        &self,
        _may: Permit<RunKeys>,
        id: KeyId,
        overlap_ms: i64,
    ) -> Result<(ApiKey, Token), KeyFailure> {
        let token = Token::of(id, &*self.clock).ok_or_else(no_randomness)?;
        let act = KeyAct::Rotate { id, secret: token.digest, overlap_ms };
        let key = self.store.change_keys(KeyChange { act, at: self.clock.now() }).await?;
        Ok((key, token))
    }

    /// Ends a key for good.
    pub async fn revoke(&self, _may: Permit<RunKeys>, id: KeyId) -> Result<ApiKey, KeyFailure> {
        let change = KeyChange { act: KeyAct::Revoke { id }, at: self.clock.now() };
        self.store.change_keys(change).await
    }

    /// All keys, if they changed since that generation: for whoever lets callers in.
    pub async fn keyring(&self, known: Option<i64>) -> Result<Option<Keyring>, StoreError> {
        self.store.keys(known).await
    }

    /// Notes when keys were used.
    pub async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.store.note_key_use(uses).await
    }
}

fn no_randomness() -> StoreError {
    StoreError::Internal("the system gives no random bytes".into())
}
