//! The directory: the one door through which every face reads and changes the collection.
//!
//! It stamps time and ids from the clock it was given, makes a complete command of a request, and
//! hands it to the store. It holds no state and no rule of its own.

use std::sync::Arc;

use crate::{
    clock::Clock,
    command::{Act, Caller, Command, Preconditions},
    draft::Draft,
    failure::{Failure, StoreError},
    id::UserId,
    json::Json,
    list::{Page, PageQuery},
    store::{Head, LogId, Outcome, Secret, Store},
    user::Stored,
};

/// The collection of users.
#[derive(Clone)]
pub struct Directory {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

impl Directory {
    /// The directory over a store.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Creates a user.
    pub async fn create(&self, draft: Draft, caller: Caller) -> Result<Outcome, Failure> {
        let id = self.clock.new_id();
        let draft = Box::new(draft);
        self.apply(Act::Create { id, draft }, caller).await
    }

    /// Replaces the whole of a user.
    pub async fn replace(
        &self,
        id: UserId,
        draft: Draft,
        held: Preconditions,
        caller: Caller,
    ) -> Result<Outcome, Failure> {
        let draft = Box::new(draft);
        self.apply(Act::Replace { id, draft, held }, caller).await
    }

    /// Patches a user by JSON Merge Patch.
    pub async fn patch(
        &self,
        id: UserId,
        patch: Json,
        held: Preconditions,
        caller: Caller,
    ) -> Result<Outcome, Failure> {
        let patch = Box::new(patch);
        self.apply(Act::Patch { id, patch, held }, caller).await
    }

    /// Deletes a user: it leaves the collection at once.
    pub async fn delete(
        &self,
        id: UserId,
        held: Preconditions,
        caller: Caller,
    ) -> Result<Outcome, Failure> {
        self.apply(Act::Delete { id, held }, caller).await
    }

    /// The live user of that id.
    pub async fn get(&self, id: UserId) -> Result<Option<Stored>, StoreError> {
        self.store.get(id).await
    }

    /// One page of the live users.
    pub async fn list(&self, query: PageQuery) -> Result<Page, StoreError> {
        self.store.page(query).await
    }

    /// Where the change log stands, and the kept counters.
    pub async fn head(&self) -> Result<Head, StoreError> {
        self.store.head().await
    }

    /// Whether writes go on.
    pub async fn health(&self) -> Result<(), StoreError> {
        self.store.health().await
    }

    /// The change log's identity.
    pub fn log_id(&self) -> LogId {
        self.store.log_id()
    }

    /// The secret for cursors.
    pub fn secret(&self) -> Secret {
        self.store.secret()
    }

    async fn apply(&self, act: Act, caller: Caller) -> Result<Outcome, Failure> {
        let command = Command { act, at: self.clock.now(), caller };
        let mut results = self.store.apply(vec![command]).await;
        results.pop().unwrap_or_else(|| {
            Err(Failure::Store(StoreError::Internal("the store gave no result".into())))
        })
    }
}
