//! Creating, listing, rotating and revoking keys.
//!
//! The text of a key exists only in the response that returns it.

use std::sync::Arc;

use super::{
    api_key::{ApiKey, KeyId, Reach},
    authority::{Authority, Permit, RunKeys},
    change::{KeyAct, KeyChange, KeyFailure, KeyRefusal, KeyView},
    draft::KeyDraft,
    keyring::Keyring,
    token::Token,
};
use crate::{
    clock::Clock, failure::StoreError, store::KeyStore, tenant::TenantId, timestamp::Timestamp,
    write::command::Actor,
};

/// The operations on keys.
#[derive(Clone)]
pub struct KeyService {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    tenant: TenantId,
}

impl KeyService {
    /// The operations on the keys of a tenant.
    pub fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>, tenant: TenantId) -> Self {
        Self { store, clock, tenant }
    }

    fn view(&self, authority: &Authority) -> KeyView {
        if *authority.actor() == Actor::System {
            KeyView::Store
        } else if self.tenant.is_default() && authority.reach() == Reach::All {
            KeyView::Operator
        } else {
            KeyView::Tenant(self.tenant)
        }
    }

    /// Creates a key. Once a first key exists, the service never again accepts callers without
    /// credentials.
    pub async fn create(
        &self,
        _may: Permit<RunKeys>,
        draft: KeyDraft,
        authority: &Authority,
        request_id: &str,
    ) -> Result<(ApiKey, Token), KeyFailure> {
        self.create_by(KeyAct::Create, draft, authority, request_id, |_| Ok(())).await
    }

    /// Creates the first key of the store, unless there was one before, and calls `keep` with its
    /// text before it is stored: no key exists whose text nobody has. If `keep` fails, no key is
    /// created. `keep` is called again in the unlikely case that the id is taken.
    pub async fn create_first<E: From<KeyFailure>>(
        &self,
        _may: Permit<RunKeys>,
        draft: KeyDraft,
        authority: &Authority,
        request_id: &str,
        keep: impl FnMut(&Token) -> Result<(), E>,
    ) -> Result<(ApiKey, Token), E> {
        self.create_by(KeyAct::CreateFirst, draft, authority, request_id, keep).await
    }

    async fn create_by<E: From<KeyFailure>>(
        &self,
        act_of: fn(Box<ApiKey>) -> KeyAct,
        draft: KeyDraft,
        authority: &Authority,
        request_id: &str,
        mut keep: impl FnMut(&Token) -> Result<(), E>,
    ) -> Result<(ApiKey, Token), E> {
        loop {
            let at = self.clock.now();
            let token = Token::new(&*self.clock).ok_or_else(no_randomness);
            let token = token.map_err(KeyFailure::from)?;
            keep(&token)?;
            let (presented, actor) = (token.presented(), authority.actor());
            let key = draft.clone().into_key(self.tenant, presented, actor, at);
            let act = act_of(Box::new(key));
            match self.change(act, authority, request_id, at).await {
                Err(KeyFailure::Refused(KeyRefusal::IdTaken)) => {}
                made => return Ok((made?, token)),
            }
        }
    }

    /// The keys that a caller may see, oldest first.
    pub async fn list(
        &self,
        _may: Permit<RunKeys>,
        authority: &Authority,
    ) -> Result<Vec<ApiKey>, StoreError> {
        let mut keys = self.store.keys(self.view(authority)).await?;
        keys.sort_by_key(|key| (key.created_at, key.id));
        Ok(keys)
    }

    /// The key with this id.
    pub async fn get(
        &self,
        _may: Permit<RunKeys>,
        id: KeyId,
        authority: &Authority,
    ) -> Result<Option<ApiKey>, StoreError> {
        let view = self.view(authority);
        Ok(self.store.key(id).await?.filter(|key| view.has(key)))
    }

    /// Replaces the secret of a key. The previous one stays valid for `overlap_ms`.
    pub async fn rotate(
        &self,
        _may: Permit<RunKeys>,
        id: KeyId,
        overlap_ms: i64,
        authority: &Authority,
        request_id: &str,
    ) -> Result<(ApiKey, Token), KeyFailure> {
        let token = Token::of(id, &*self.clock).ok_or_else(no_randomness)?;
        let act = KeyAct::Rotate { id, secret: token.digest, overlap_ms };
        let key = self.change(act, authority, request_id, self.clock.now()).await?;
        Ok((key, token))
    }

    /// Revokes a key permanently. Returns also whether it was revoked at this time, not before: a
    /// request that the store repeats after a lost connection counts, and so does a second one in
    /// the same millisecond.
    pub async fn revoke(
        &self,
        _may: Permit<RunKeys>,
        id: KeyId,
        authority: &Authority,
        request_id: &str,
    ) -> Result<(ApiKey, bool), KeyFailure> {
        let at = self.clock.now();
        let key = self.change(KeyAct::Revoke { id }, authority, request_id, at).await?;
        let is_revoked_now = key.revoked_at == Some(at);
        Ok((key, is_revoked_now))
    }

    async fn change(
        &self,
        act: KeyAct,
        authority: &Authority,
        request_id: &str,
        at: Timestamp,
    ) -> Result<ApiKey, KeyFailure> {
        let (view, caller) = (self.view(authority), authority.caller(request_id));
        self.store.change_keys(KeyChange { act, view, at, caller }).await
    }

    /// The keys that changed since this generation; all without one. Authentication uses it.
    pub async fn changed_keys(&self, known: Option<i64>) -> Result<Option<Keyring>, StoreError> {
        self.store.changed_keys(known).await
    }

    /// Stores when keys were used.
    pub async fn note_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.store.note_key_use(uses).await
    }
}

fn no_randomness() -> StoreError {
    StoreError::Internal("the system returned no random bytes".into())
}
