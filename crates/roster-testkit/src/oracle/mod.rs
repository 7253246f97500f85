//! The oracle: a store that is as simple as possible, so that it is obviously correct.
//!
//! Every engine is compared with it. It keeps maps in memory behind one lock, calls
//! [`roster_core::decide()`], looks for taken names by reading all users, and makes a page by
//! filtering and sorting all of them. It must stay simple.

mod deleted;
mod groups;
mod log;
mod page;
mod schema;
mod state;
mod tenants;
mod webhooks;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use roster_core::{
    Answer, ClockMark, ClockReading, Command, Deleted, Erasure, EventsPage, EventsQuery,
    ExpiredUser, Failure, GroupId, GroupStore, Head, IndexStep, IndexStore, KeyStore, LogId,
    Outcome, Outlived, Purged, Rules, Store, StoreError, Stored, TenantId, Timestamp, UserId,
    UserSchema, WebhookStore,
    access::{
        ApiKey, KeyAct, KeyChange, KeyDecision, KeyFailure, KeyId, KeyRefusal, KeyView, Keyring,
        Reach, decide_keys,
    },
    audit::key_event,
    group::{GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::{Secret, StartSettings},
    walk::WalkStore,
};

use state::{Entry, State};
use tenants::Shared;

/// A store in memory.
#[derive(Debug)]
pub struct Oracle {
    rules: Rules,
    tenant: TenantId,
    state: Arc<Mutex<State>>,
    shared: Arc<Shared>,
}

impl Oracle {
    /// An empty store with these rules.
    pub fn new(rules: Rules) -> Self {
        let shared = Arc::new(Shared::default());
        let tenant = TenantId::DEFAULT;
        Self { rules, tenant, state: shared.state_of(tenant), shared }
    }

    /// Deletes the idempotency records from before a time. Returns how many.
    pub(crate) fn forget_keys(&self, before: Timestamp) -> u64 {
        self.state().forget_keys(before)
    }

    /// Deletes the events up to a position. Returns how many.
    pub(crate) fn forget_events(&self, last: i64) -> u64 {
        self.state().forget_events(last)
    }

    fn keyring(&self) -> MutexGuard<'_, Keyring> {
        self.shared.keyring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Oracle {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(async move {
            let mut state = self.state();
            let apply = |command: &Command| {
                if command.begin() {
                    let before = state.log.len();
                    let result = state.apply(self.rules, command);
                    let new = state.log.iter().skip(before).map(|(position, _)| *position);
                    self.shared.append(self.tenant, new);
                    state.note_logged(before, command, &result);
                    result
                } else {
                    Err(Failure::Store(StoreError::TimedOut))
                }
            };
            commands.iter().map(apply).collect()
        })
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(async move { self.state().preview(self.rules, &command) })
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(async move { Ok(self.state().live.get(&id).map(|entry| entry.stored.clone())) })
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        Box::pin(async move { Ok(self.state().deleted.get(&id).map(Entry::as_deleted)) })
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        Box::pin(async move { Ok(page::page(&self.state(), &query)) })
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        Box::pin(async move {
            let state = self.state();
            Ok(deleted::page(state.deleted.values(), state.position, &query))
        })
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        Box::pin(async move { Ok(self.state().head()) })
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        Box::pin(async move {
            if query.all_tenants {
                return Ok(self.shared.events(&query));
            }
            let state = self.state();
            Ok(log::page(&state.log, state.position, &query))
        })
    }

    fn log_grown(&self, position: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            while self.state().head().position <= position && self.shared.events_count() <= position
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        Box::pin(async move { Ok(self.state().forget(before)) })
    }

    fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Answer<'_, Result<Vec<ExpiredUser>, StoreError>> {
        Box::pin(async move { Ok(self.shared.expired_users(now, after)) })
    }

    fn pending_erasures(&self) -> Answer<'_, Result<Vec<Purged>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// A purge erases everything at once.
    fn erase(&self, _purged: Purged) -> Answer<'_, Result<Erasure, StoreError>> {
        Box::pin(async { Ok(Erasure::Done) })
    }

    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>> {
        Box::pin(async move {
            let mut state = self.state();
            let newest = state.log.last().map(|(_, event)| event.at);
            let mark = match state.clock_mark {
                Some(mark) => mark.advance(reading),
                None => ClockMark::first(newest, reading.wall),
            };
            state.clock_mark = Some(mark);
            Ok(mark)
        })
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn rules(&self) -> Rules {
        self.rules
    }

    fn schema(&self) -> Arc<UserSchema> {
        Arc::new(self.state().schema.clone())
    }

    fn secret(&self) -> Secret {
        Secret([7; 32])
    }

    fn log_id(&self) -> LogId {
        log::LOG_ID
    }

    fn former_log_end(&self, _log: LogId) -> Answer<'_, Result<Option<i64>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn walks(&self) -> Option<&dyn WalkStore> {
        None
    }

    fn note_settings(&self, start: StartSettings) -> Answer<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async move { Ok(self.shared.note_settings(&start)) })
    }

    fn indexes(&self) -> &dyn IndexStore {
        self
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self
    }
}

impl IndexStore for Oracle {
    fn tenants_with_index_work(&self) -> Answer<'_, Result<Vec<TenantId>, StoreError>> {
        Box::pin(async { Ok(self.shared.tenants_with_index_work()) })
    }

    fn index_step(&self) -> Answer<'_, Result<IndexStep, StoreError>> {
        Box::pin(async move { Ok(self.state().index_step()) })
    }

    fn index_keys(
        &self,
        kind: i16,
        after: Option<(String, UserId)>,
    ) -> Answer<'_, Result<Vec<(String, UserId)>, StoreError>> {
        Box::pin(async move { Ok(self.state().index_keys(kind, after.as_ref())) })
    }

    fn end_index_check(
        &self,
        kind: i16,
        shared: Vec<Vec<UserId>>,
    ) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.state().end_index_check(kind, shared);
            Ok(())
        })
    }
}

impl GroupStore for Oracle {
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(async move { Ok(self.state().group(id)) })
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        Box::pin(async move { Ok(self.state().group_page(&query)) })
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        Box::pin(async move { Ok(self.state().members_page(&query)) })
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        Box::pin(async move { Ok(self.state().groups_of(&users)) })
    }
}

impl KeyStore for Oracle {
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        Box::pin(async move {
            let keyring = self.keyring();
            if known == Some(keyring.generation) {
                return Ok(None);
            }
            let after = known.filter(|known| *known < keyring.generation).unwrap_or(-1);
            let changed = self.shared.key_generations.lock();
            let changed = changed.unwrap_or_else(PoisonError::into_inner);
            let is_new = |id: &KeyId| changed.get(id).is_some_and(|at| *at > after);
            let keys = keyring.keys.iter().filter(|(id, _)| is_new(id));
            let keys = keys.map(|(id, key)| (*id, key.clone())).collect();
            Ok(Some(Keyring { generation: keyring.generation, keys }))
        })
    }

    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>> {
        Box::pin(async move {
            let keys = self.keyring().keys.values().filter(|key| view.has(key)).cloned().collect();
            // The keys of a purged tenant are erased at once.
            Ok(if matches!(view, KeyView::Tenant(tenant) if self.shared.is_deleted(tenant)) {
                Vec::new()
            } else {
                keys
            })
        })
    }

    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>> {
        Box::pin(async move { Ok(self.keyring().keys.get(&id).cloned()) })
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(async move {
            let mut keyring = self.keyring();
            let KeyDecision { key, displaced, changes } = decide_keys(&keyring, &change)?;
            if let (
                KeyAct::Create(_) | KeyAct::CreateFirst(_) | KeyAct::Rotate { .. },
                Reach::Tenant(tenant),
            ) = (&change.act, key.reach)
                && self.shared.is_deleted(tenant)
            {
                return Err(KeyRefusal::TenantNotFound.into());
            }
            if changes {
                keyring.keys.insert(key.id, key.clone());
                keyring.keys.retain(|id, _| displaced != Some(*id));
                keyring.generation += 1;
                let changed = self.shared.key_generations.lock();
                let mut changed = changed.unwrap_or_else(PoisonError::into_inner);
                changed.insert(key.id, keyring.generation);
                let (tenant, event) = key_event(&change, &key);
                self.shared.append_event(tenant, event);
            }
            Ok(key)
        })
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let keys = &mut self.keyring().keys;
            for (id, at) in uses {
                if let Some(key) = keys.get_mut(&id) {
                    key.last_used_at = key.last_used_at.max(Some(at));
                }
            }
            Ok(())
        })
    }
}
