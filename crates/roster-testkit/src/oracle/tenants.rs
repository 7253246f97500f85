//! The tenants of the oracle: each is a state of its own.

use std::{
    collections::BTreeMap,
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use bytes::Bytes;
use roster_core::{
    Answer, Attribute, Event, EventsPage, EventsQuery, ExpiredUser, Head, Status, Store,
    StoreError, Tenant, TenantId, TenantName, TenantStore, Timestamp, User,
    access::{KeyId, Keyring, Reach},
    audit::{settings_event, tenant_event, tenant_subject},
    store::{EXPIRED_USERS_MAX, StartSettings},
    tenant::{
        TenantAct, TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantPage,
        TenantQuery, TenantSelection, decide_tenant,
    },
};

use super::{Oracle, log, state::State};

/// What the tenants of a store share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) keyring: Mutex<Keyring>,
    /// The generation of the last change of each key.
    pub(super) key_generations: Mutex<BTreeMap<KeyId, i64>>,
    tenants: Mutex<BTreeMap<TenantName, Tenant>>,
    /// The events of all tenants: the position of each in its tenant.
    order: Mutex<Vec<(TenantId, i64)>>,
    /// The tenants that were ever created.
    created: AtomicI64,
    /// The changes of tenants.
    changes: AtomicI64,
    /// The settings of the last start.
    settings: Mutex<BTreeMap<String, String>>,
    states: Mutex<BTreeMap<TenantId, Arc<Mutex<State>>>>,
}

impl Shared {
    pub(super) fn state_of(&self, tenant: TenantId) -> Arc<Mutex<State>> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(states.entry(tenant).or_default())
    }

    /// Adds new events of a tenant to the order of all.
    pub(super) fn append(&self, tenant: TenantId, new: impl Iterator<Item = i64>) {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.extend(new.map(|position| (tenant, position)));
    }

    /// Appends an event that no command has made to the log of a tenant.
    pub(super) fn append_event(&self, tenant: TenantId, event: Event) {
        let state = self.state_of(tenant);
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.append_event(event);
        self.append(tenant, std::iter::once(state.position));
    }

    /// Keeps the settings of a start. Returns the names of those that have changed.
    pub(super) fn note_settings(&self, start: &StartSettings) -> Vec<String> {
        let mut kept = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = |(name, value): &&(String, String)| {
            kept.get(name).is_some_and(|before| before != value)
        };
        let changed: Vec<String> =
            start.settings.iter().filter(is_changed).map(|(name, _)| name.clone()).collect();
        *kept = start.settings.iter().cloned().collect();
        if !changed.is_empty() {
            let event = settings_event(&changed, &start.caller, start.at);
            self.append_event(TenantId::DEFAULT, event);
        }
        changed
    }

    /// Erases the records of the events about a tenant.
    fn erase_events_about(&self, tenant: TenantId) {
        let state = self.state_of(TenantId::DEFAULT);
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_about = |event: &Event| event.user_id == tenant_subject(tenant);
        for (_, event) in state.log.iter_mut().filter(|(_, event)| is_about(event)) {
            event.record = Bytes::new();
        }
    }

    /// The number of events of all tenants.
    pub(super) fn events_count(&self) -> i64 {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        i64::try_from(order.len()).unwrap_or(i64::MAX)
    }

    /// A page of the events of all tenants, which have other positions than in each of them.
    pub(super) fn events(&self, query: &EventsQuery) -> EventsPage {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut log, mut owners) = (Vec::new(), BTreeMap::new());
        for (number, (tenant, position)) in (1..).zip(&order) {
            let state = self.state_of(*tenant);
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let event = state.log.iter().find(|(at, _)| at == position);
            log.extend(event.map(|(_, event)| (number, event.clone())));
            owners.insert(number, *tenant);
        }
        let mut page = log::page(&log, i64::try_from(order.len()).unwrap_or(i64::MAX), query);
        let tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let names: BTreeMap<_, _> =
            tenants.values().map(|tenant| (tenant.id, tenant.name.clone())).collect();
        let owner = |number| owners.get(number).copied().unwrap_or_default();
        let owners = page.events.iter().map(|(number, _)| owner(number));
        page.tenants = owners.map(|tenant| (tenant, names.get(&tenant).cloned())).collect();
        page
    }

    pub(super) fn tenants_with_index_work(&self) -> Vec<TenantId> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let has_work = |state: &Arc<Mutex<State>>| {
            state.lock().unwrap_or_else(PoisonError::into_inner).schema.has_index_work()
        };
        states.iter().filter(|(_, state)| has_work(state)).map(|(tenant, _)| *tenant).collect()
    }

    pub(super) fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Vec<ExpiredUser> {
        let mut expired = Vec::new();
        for (tenant, state) in self.states.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.is_deleted {
                continue;
            }
            for entry in state.live.values().filter(|entry| entry.user.status == Status::Active) {
                let text = entry.user.profile.text(Attribute::ExpiresAt);
                let expires_at = text.and_then(Timestamp::parse).filter(|time| *time <= now);
                let User { id, version, .. } = entry.user;
                let user = |expires_at| ExpiredUser { tenant: *tenant, id, version, expires_at };
                expired.extend(expires_at.map(user));
            }
        }
        let place = |user: &ExpiredUser| (user.expires_at, user.id);
        expired.sort_unstable_by_key(place);
        expired.retain(|user| after.is_none_or(|after| place(user) > place(&after)));
        expired.truncate(EXPIRED_USERS_MAX);
        expired
    }

    /// The default tenant, and the others that are not deleted.
    pub(super) fn all_tenants(&self) -> Vec<(TenantId, Option<TenantName>, Status)> {
        let tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let live = tenants.values().filter(|tenant| tenant.deleted_at.is_none());
        let mut all = vec![(TenantId::DEFAULT, None, Status::Active)];
        all.extend(live.map(|tenant| (tenant.id, Some(tenant.name.clone()), tenant.status)));
        all.sort_by_key(|(tenant, ..)| *tenant);
        all
    }

    pub(super) fn is_deleted(&self, tenant: TenantId) -> bool {
        self.state_of(tenant).lock().unwrap_or_else(PoisonError::into_inner).is_deleted
    }

    fn with_counts(&self, tenant: &Tenant) -> (Tenant, TenantCounts) {
        let state = self.state_of(tenant.id);
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let counts = TenantCounts {
            users: count(state.live.len()),
            deleted_users: count(state.deleted.len()),
            groups: count(state.groups.len()),
        };
        (tenant.clone(), counts)
    }
}

impl TenantStore for Oracle {
    fn of_tenant(&self, tenant: TenantId) -> Answer<'_, Result<Arc<dyn Store>, StoreError>> {
        Box::pin(async move {
            let shared = Arc::clone(&self.shared);
            let (rules, state) = (self.rules, shared.state_of(tenant));
            let store: Arc<dyn Store> = Arc::new(Self { rules, tenant, state, shared });
            Ok(store)
        })
    }

    fn tenant(
        &self,
        name: TenantName,
    ) -> Answer<'_, Result<Option<(Tenant, TenantCounts)>, StoreError>> {
        Box::pin(async move {
            let tenants = self.shared.tenants.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(tenants.get(&name).map(|tenant| self.shared.with_counts(tenant)))
        })
    }

    fn totals(&self) -> Answer<'_, Result<Head, StoreError>> {
        Box::pin(async move {
            let states = self.shared.states.lock().unwrap_or_else(PoisonError::into_inner);
            let heads = states
                .values()
                .map(|state| state.lock().unwrap_or_else(PoisonError::into_inner).head());
            let none = Head { position: 0, active: 0, suspended: 0, deleted: 0 };
            Ok(heads.fold(none, |sum, head| Head {
                position: sum.position + head.position,
                active: sum.active + head.active,
                suspended: sum.suspended + head.suspended,
                deleted: sum.deleted + head.deleted,
            }))
        })
    }

    fn tenants(&self, query: TenantQuery) -> Answer<'_, Result<TenantPage, StoreError>> {
        Box::pin(async move {
            let tenants = self.shared.tenants.lock().unwrap_or_else(PoisonError::into_inner);
            let is_meant = |tenant: &&Tenant| {
                let is_selected = match &query.selection {
                    TenantSelection::Live => tenant.deleted_at.is_none(),
                    TenantSelection::ExternalId(id) => {
                        tenant.deleted_at.is_none() && tenant.external_id.as_ref() == Some(id)
                    }
                    TenantSelection::Deleted => tenant.deleted_at.is_some(),
                };
                is_selected && query.after.as_ref().is_none_or(|after| tenant.name > *after)
            };
            let mut found: Vec<&Tenant> = tenants.values().filter(is_meant).collect();
            let has_more = found.len() > query.limit;
            found.truncate(query.limit);
            let items = found.into_iter().map(|tenant| self.shared.with_counts(tenant)).collect();
            Ok(TenantPage { items, has_more })
        })
    }

    fn tenants_generation(&self) -> Answer<'_, Result<i64, StoreError>> {
        Box::pin(async move { Ok(self.shared.changes.load(Ordering::Relaxed)) })
    }

    fn change_tenant(
        &self,
        change: TenantChange,
    ) -> Answer<'_, Result<TenantDecision, TenantFailure>> {
        Box::pin(async move {
            let mut tenants = self.shared.tenants.lock().unwrap_or_else(PoisonError::into_inner);
            let stored = change.act.name().and_then(|name| tenants.get(name));
            let is_new = stored.is_none();
            let mut decision = decide_tenant(stored, &change)?;
            if is_new {
                let number = self.shared.created.load(Ordering::Relaxed) + 1;
                decision.tenant.id = TenantId::new(number).unwrap_or_default();
            }
            if change.is_dry_run {
                return Ok(decision);
            }
            self.shared.changes.fetch_add(i64::from(decision.changes), Ordering::Relaxed);
            self.shared.created.fetch_add(i64::from(is_new), Ordering::Relaxed);
            let Tenant { id, name, users_max, deleted_at, .. } = decision.tenant.clone();
            if decision.changes {
                let event = tenant_event(&change, &decision.tenant);
                self.shared.append_event(TenantId::DEFAULT, event);
            }
            let state = self.shared.state_of(id);
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if let TenantAct::Purge(_) = change.act {
                tenants.remove(&name);
                self.shared.erase_events_about(id);
                let mut log = mem::take(&mut state.log);
                for (_, event) in &mut log {
                    event.record = Bytes::new();
                }
                let position = state.position;
                *state = State { is_deleted: true, position, log, ..State::default() };
                let mut keyring =
                    self.shared.keyring.lock().unwrap_or_else(PoisonError::into_inner);
                let own = keyring.keys.values_mut().filter(|key| key.reach == Reach::Tenant(id));
                let revoked: Vec<KeyId> = own
                    .map(|key| {
                        key.revoked_at.get_or_insert(change.at);
                        key.id
                    })
                    .collect();
                keyring.generation += i64::from(!revoked.is_empty());
                let generation = keyring.generation;
                let changed = self.shared.key_generations.lock();
                let mut changed = changed.unwrap_or_else(PoisonError::into_inner);
                changed.extend(revoked.into_iter().map(|key| (key, generation)));
            } else {
                tenants.insert(name, decision.tenant.clone());
                (state.users_max, state.is_deleted) = (users_max, deleted_at.is_some());
            }
            Ok(decision)
        })
    }
}
