//! A store whose writes fail on demand.

use std::{
    collections::BTreeSet,
    future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use roster_core::{
    Act, Answer, ClockMark, ClockReading, Command, Deleted, Erasure, EventsPage, EventsQuery,
    ExpiredUser, Failure, GroupId, GroupStore, Head, IndexStore, KeyStore, LogId, Outcome,
    Outlived, Purged, Rules, Store, StoreError, Stored, Tenant, TenantId, TenantName, TenantStore,
    Timestamp, UserAct, UserId, UserSchema, WebhookStore,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
    group::{GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::{Secret, StartSettings},
    tenant::{TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantPage, TenantQuery},
    walk::WalkStore,
};
use roster_testkit::Oracle;

/// The oracle with a switch.
pub(crate) struct Failing {
    store: Oracle,
    fails: AtomicBool,
    failures: AtomicU64,
    /// The users whose purge fails.
    damaged: Mutex<BTreeSet<UserId>>,
}

impl Failing {
    pub(crate) fn new(store: Oracle) -> Self {
        let (fails, failures) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { store, fails, failures, damaged: Mutex::default() }
    }

    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    /// Makes only the purge of these users fail.
    pub(crate) fn damage(&self, users: impl IntoIterator<Item = UserId>) {
        *self.damaged() = users.into_iter().collect();
    }

    fn damaged(&self) -> std::sync::MutexGuard<'_, BTreeSet<UserId>> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of failed writes.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::SeqCst)
    }

    /// The error of a write, if it must fail.
    fn error(&self) -> Option<StoreError> {
        let fails = self.fails.load(Ordering::SeqCst);
        fails.then(|| {
            self.failures.fetch_add(1, Ordering::SeqCst);
            StoreError::Unavailable("the test wants it so".into())
        })
    }
}

impl TenantStore for Failing {
    fn of_tenant(&self, tenant: TenantId) -> Answer<'_, Result<Arc<dyn Store>, StoreError>> {
        self.store.of_tenant(tenant)
    }

    fn tenant(
        &self,
        name: TenantName,
    ) -> Answer<'_, Result<Option<(Tenant, TenantCounts)>, StoreError>> {
        self.store.tenant(name)
    }

    fn totals(&self) -> Answer<'_, Result<Head, StoreError>> {
        self.store.totals()
    }

    fn tenants(&self, query: TenantQuery) -> Answer<'_, Result<TenantPage, StoreError>> {
        self.store.tenants(query)
    }

    fn tenants_generation(&self) -> Answer<'_, Result<i64, StoreError>> {
        self.store.tenants_generation()
    }

    fn change_tenant(
        &self,
        change: TenantChange,
    ) -> Answer<'_, Result<TenantDecision, TenantFailure>> {
        self.store.change_tenant(change)
    }
}

impl GroupStore for Failing {
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        self.store.group(id)
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        self.store.groups(query)
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        self.store.members(query)
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        self.store.groups_of(users)
    }
}

impl KeyStore for Failing {
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        self.store.changed_keys(known)
    }

    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>> {
        self.store.keys(view)
    }

    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>> {
        self.store.key(id)
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        self.store.change_keys(change)
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        self.store.note_key_use(uses)
    }
}

impl Store for Failing {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        let is_damaged = |command: &Command| match command.act {
            Act::User(UserAct::Purge { id }) => self.damaged().contains(&id),
            Act::User(_) | Act::Group(_) | Act::Schema(_) => false,
        };
        let damaged = || StoreError::Corrupt { place: "deleted_users.record".to_owned() };
        let damaged = commands.iter().any(is_damaged).then(damaged);
        match self.error().or(damaged) {
            Some(error) => Box::pin(future::ready(vec![Err(Failure::Store(error))])),
            None => self.store.apply(commands),
        }
    }

    fn log_grown(&self, position: i64) -> Answer<'_, ()> {
        self.store.log_grown(position)
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        match self.error() {
            Some(error) => Box::pin(future::ready(Err(error))),
            None => self.store.forget(before),
        }
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        self.store.preview(command)
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        self.store.get(id)
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        self.store.get_deleted(id)
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        self.store.page(query)
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        self.store.deleted_page(query)
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        self.store.head()
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        self.store.events(query)
    }

    fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Answer<'_, Result<Vec<ExpiredUser>, StoreError>> {
        self.store.expired_users(now, after)
    }

    fn pending_erasures(&self) -> Answer<'_, Result<Vec<Purged>, StoreError>> {
        self.store.pending_erasures()
    }

    fn erase(&self, purged: Purged) -> Answer<'_, Result<Erasure, StoreError>> {
        self.store.erase(purged)
    }

    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>> {
        self.store.advance_clock_mark(reading)
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        self.store.health()
    }

    fn rules(&self) -> Rules {
        self.store.rules()
    }

    fn schema(&self) -> Arc<UserSchema> {
        self.store.schema()
    }

    fn secret(&self) -> Secret {
        self.store.secret()
    }

    fn log_id(&self) -> LogId {
        self.store.log_id()
    }

    fn former_log_end(&self, log: LogId) -> Answer<'_, Result<Option<i64>, StoreError>> {
        self.store.former_log_end(log)
    }

    fn walks(&self) -> Option<&dyn WalkStore> {
        self.store.walks()
    }

    fn note_settings(&self, start: StartSettings) -> Answer<'_, Result<Vec<String>, StoreError>> {
        self.store.note_settings(start)
    }

    fn indexes(&self) -> &dyn IndexStore {
        self.store.indexes()
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self.store.webhooks()
    }
}
