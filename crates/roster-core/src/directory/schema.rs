//! The schema of users, and the indexes that it names, which housekeeping builds.

use std::sync::Arc;

use super::Directory;
use crate::{
    access::{Permit, WriteSchema},
    failure::{Failure, StoreError},
    id::UserId,
    schema::{SHARED_VALUES_MAX, SHARING_USERS_MAX, SchemaDraft, UserSchema},
    store::{INDEX_KEYS_MAX, IndexStep},
    tenant::TenantId,
    write::{command::Terms, outcome::Outcome},
};

/// The number of steps that the request executes which declares an index.
const FIRST_STEPS: usize = 80;

impl Directory {
    /// The current schema of users.
    pub fn schema(&self) -> Arc<UserSchema> {
        self.store.schema()
    }

    /// Replaces the schema of users.
    pub async fn replace_schema(
        &self,
        _may: Permit<WriteSchema>,
        draft: SchemaDraft,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(draft, terms).await
    }

    /// The tenants whose indexes need steps.
    pub async fn tenants_with_index_work(&self) -> Result<Vec<TenantId>, StoreError> {
        self.store.tenants_with_index_work().await
    }

    /// Executes the next step for the indexes of this tenant.
    pub async fn index_step(&self) -> Result<IndexStep, StoreError> {
        self.store.index_step().await
    }

    /// Executes the first steps for the indexes of this tenant, so that those of a small one are
    /// complete afterwards. Housekeeping continues, also after an error.
    pub async fn begin_indexes(&self) {
        for _ in 0..FIRST_STEPS {
            let is_done = match self.store.index_step().await {
                Ok(IndexStep::Pending | IndexStep::Busy) => false,
                Ok(IndexStep::Check(kind)) => self.check_index(kind).await.is_err(),
                // Dropped indexes come last.
                Ok(
                    IndexStep::Dropped | IndexStep::Failed | IndexStep::Waiting | IndexStep::Done,
                )
                | Err(_) => true,
            };
            if is_done {
                return;
            }
        }
    }

    /// Finds users that share values of a unique index, and stores the result. Meanwhile no further
    /// user can take a shared value, so pages of different snapshots are enough.
    pub async fn check_index(&self, kind: i16) -> Result<(), StoreError> {
        let mut shared: Vec<Vec<UserId>> = Vec::new();
        let mut last: Option<(String, UserId)> = None;
        let mut is_shared = false;
        loop {
            let page = self.store.index_keys(kind, last.clone()).await?;
            let is_end = page.len() < INDEX_KEYS_MAX;
            for (key, id) in page {
                match last.replace((key.clone(), id)) {
                    Some((before, first)) if before == key => {
                        if !is_shared {
                            if shared.len() == SHARED_VALUES_MAX {
                                return self.store.end_index_check(kind, shared).await;
                            }
                            shared.push(vec![first]);
                        }
                        is_shared = true;
                        let users = shared.last_mut();
                        let room = users.filter(|users| users.len() < SHARING_USERS_MAX);
                        if let Some(users) = room {
                            users.push(id);
                        }
                    }
                    _ => is_shared = false,
                }
            }
            if is_end {
                return self.store.end_index_check(kind, shared).await;
            }
        }
    }
}
