//! The schema of users, and the indexes that it names, which housekeeping builds.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

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

/// How long the request that declares an index executes its steps.
const FIRST_STEPS_FOR: Duration = Duration::from_millis(300);

/// The number of pages of keys that such a request compares.
const FIRST_PAGES: usize = 1;

impl Directory {
    /// The current schema of users.
    pub fn schema(&self) -> Arc<UserSchema> {
        self.store.schema()
    }

    /// Reads the schema of users again if another process may have replaced it.
    pub async fn renew_schema(&self) -> Result<(), StoreError> {
        self.store.renew_schema().await
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
        self.store.indexes().tenants_with_index_work().await
    }

    /// Executes the next step for the indexes of this tenant.
    pub async fn index_step(&self) -> Result<IndexStep, StoreError> {
        self.store.indexes().index_step().await
    }

    /// The pause after such a step while others write, as a multiple of the time that it took.
    pub fn index_pauses_beside_writes(&self) -> u32 {
        self.store.indexes().pauses_beside_writes()
    }

    /// Executes the first steps for the indexes of this tenant, so that those of a small one are
    /// complete afterwards. Housekeeping continues, also after an error.
    pub async fn begin_indexes(&self) {
        let began = Instant::now();
        while began.elapsed() < FIRST_STEPS_FOR {
            let is_done = match self.store.indexes().index_step().await {
                Ok(IndexStep::Pending | IndexStep::Busy) => false,
                Ok(IndexStep::Check(kind)) => {
                    !matches!(self.check_index(kind, FIRST_PAGES).await, Ok(true))
                }
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
    /// user can take a shared value, so pages of different snapshots are enough. Returns `false`,
    /// with nothing stored, if the index has more than `pages` pages of [`INDEX_KEYS_MAX`] keys.
    pub async fn check_index(&self, kind: i16, pages: usize) -> Result<bool, StoreError> {
        let Some(shared) = self.shared_values(kind, pages).await? else { return Ok(false) };
        self.store.indexes().end_index_check(kind, shared).await?;
        Ok(true)
    }

    /// The users of the first shared values of an index; `None` if it has more pages.
    async fn shared_values(
        &self,
        kind: i16,
        pages: usize,
    ) -> Result<Option<Vec<Vec<UserId>>>, StoreError> {
        let mut shared: Vec<(String, Vec<UserId>)> = Vec::new();
        let mut last: Option<(String, UserId)> = None;
        for _ in 0..pages {
            let page = self.store.indexes().index_keys(kind, last.clone()).await?;
            let is_end = page.len() < INDEX_KEYS_MAX;
            for (key, id) in page {
                let before = last.replace((key.clone(), id));
                let Some((_, first)) = before.filter(|(before, _)| *before == key) else {
                    continue;
                };
                let known = shared.last_mut().filter(|(value, _)| *value == key);
                if let Some((_, users)) = known {
                    if users.len() < SHARING_USERS_MAX {
                        users.push(id);
                    }
                } else if shared.len() == SHARED_VALUES_MAX {
                    return Ok(Some(users_of(shared)));
                } else {
                    shared.push((key, vec![first, id]));
                }
            }
            if is_end {
                return Ok(Some(users_of(shared)));
            }
        }
        Ok(None)
    }
}

fn users_of(shared: Vec<(String, Vec<UserId>)>) -> Vec<Vec<UserId>> {
    shared.into_iter().map(|(_, users)| users).collect()
}
