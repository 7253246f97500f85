//! A store that wraps another one: it fails on demand, counts the pages that are read, and returns
//! pages that a test sets.

mod webhooks;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use roster_core::{
    Answer, ClockMark, ClockReading, Command, Deleted, Erasure, EventsPage, EventsQuery,
    ExpiredUser, Failure, GroupId, GroupStore, Head, IndexStore, KeyStore, LogId, Outcome,
    Outlived, Purged, Rules, Store, StoreError, Stored, Tenant, TenantId, TenantName, TenantStore,
    Timestamp, UserId, UserSchema, WebhookStore,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
    group::{GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::{Secret, StartSettings, StoreFaults},
    tenant::{
        TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantPage, TenantQuery,
        TenantRefusal,
    },
    walk::WalkStore,
};

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Unavailable,
    Superseded,
    WritesStopped,
    TimedOut,
    Full,
    Corrupt,
    Internal,
    Panic,
    /// The store does not respond while this fault is set.
    Hang,
}

impl Fault {
    /// A text that must not occur in a response.
    pub const SECRET: &str = "sector 7G of ada@example.com";

    fn error(self) -> StoreError {
        match self {
            Self::Unavailable => StoreError::Unavailable(Self::SECRET.into()),
            Self::Superseded => StoreError::Superseded(Self::SECRET.into()),
            Self::WritesStopped => StoreError::WritesStopped,
            Self::Full => StoreError::Full(Self::SECRET.into()),
            Self::Corrupt => StoreError::Corrupt { place: Self::SECRET.to_owned() },
            Self::Internal => StoreError::Internal(Self::SECRET.into()),
            Self::Panic => panic!("{}", Self::SECRET),
            Self::TimedOut | Self::Hang => StoreError::TimedOut,
        }
    }
}

/// The wrapping store.
pub struct Watched {
    inner: Arc<dyn Store>,
    secret: Secret,
    fault: Mutex<Option<Fault>>,
    made: Mutex<Option<Page>>,
    made_events: Mutex<Option<EventsPage>>,
    pages: AtomicUsize,
    memberships: AtomicUsize,
    healths: AtomicUsize,
    pages_hang: AtomicBool,
    key_fault: Mutex<Option<Fault>>,
    key_failures: AtomicUsize,
    is_healthy: AtomicBool,
    keys_are_lost: AtomicBool,
    tenants_are_full: AtomicBool,
    keyrings: AtomicUsize,
    tenant_reads: AtomicUsize,
    /// The last position of the log of the inner store, once another one continues it.
    forked_at: Mutex<Option<i64>>,
}

/// The log after a fork.
const FORKED: LogId = LogId([9; 8]);

impl Watched {
    /// Wraps a store, with its own secret or that of the store.
    pub fn new(inner: Arc<dyn Store>, secret: Option<Secret>) -> Self {
        let secret = secret.unwrap_or_else(|| inner.secret());
        let (fault, made, made_events) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self {
            inner,
            secret,
            fault,
            made,
            made_events,
            pages: AtomicUsize::new(0),
            memberships: AtomicUsize::new(0),
            healths: AtomicUsize::new(0),
            pages_hang: AtomicBool::new(false),
            key_fault: Mutex::default(),
            key_failures: AtomicUsize::new(0),
            is_healthy: AtomicBool::new(false),
            keys_are_lost: AtomicBool::new(false),
            tenants_are_full: AtomicBool::new(false),
            keyrings: AtomicUsize::new(0),
            tenant_reads: AtomicUsize::new(0),
            forked_at: Mutex::default(),
        }
    }

    /// Sets or clears the fault of every call.
    pub fn fail(&self, fault: impl Into<Option<Fault>>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault.into();
    }

    /// Sets the page that every list returns.
    pub fn make_page(&self, page: Page) {
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(page);
    }

    /// Sets the page of events that is always returned.
    pub fn make_events(&self, page: EventsPage) {
        *self.made_events.lock().unwrap_or_else(PoisonError::into_inner) = Some(page);
    }

    /// Gives the log a new identity, as after a failover that lost the events after a position.
    pub fn fork_log(&self, end: i64) {
        *self.forked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    fn forked_at(&self) -> Option<i64> {
        *self.forked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether pages of users hang.
    pub fn hang_pages(&self, hang: bool) {
        self.pages_hang.store(hang, Ordering::Relaxed);
    }

    /// Sets or clears the fault of reading changed keys.
    pub fn fail_keys(&self, fault: impl Into<Option<Fault>>) {
        *self.key_fault.lock().unwrap_or_else(PoisonError::into_inner) = fault.into();
    }

    /// How often reading changed keys failed.
    pub fn key_failures(&self) -> usize {
        self.key_failures.load(Ordering::Relaxed)
    }

    /// Makes checks of the store succeed whatever fault is set.
    pub fn seem_healthy(&self) {
        self.is_healthy.store(true, Ordering::Relaxed);
    }

    /// Makes the store lose its keys.
    pub fn lose_keys(&self) {
        self.keys_are_lost.store(true, Ordering::Relaxed);
    }

    /// Sets whether the maximum number of tenants seems to exist.
    pub fn fill_tenants(&self, full: bool) {
        self.tenants_are_full.store(full, Ordering::Relaxed);
    }

    /// How often the members of a group or the groups of users were read.
    pub fn memberships(&self) -> usize {
        self.memberships.load(Ordering::Relaxed)
    }

    /// How many pages were read.
    pub fn pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    /// How often all keys were read, and how often a tenant.
    pub fn reads_of_access(&self) -> (usize, usize) {
        (self.keyrings.load(Ordering::Relaxed), self.tenant_reads.load(Ordering::Relaxed))
    }

    /// How often the readiness of the store was checked.
    pub fn healths(&self) -> usize {
        self.healths.load(Ordering::Relaxed)
    }

    /// Fails or hangs, as set.
    async fn inject_fault(&self) -> Result<(), StoreError> {
        let hangs = || {
            let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault == Some(Fault::Hang)
        };
        while hangs() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.fault()
    }

    fn fault(&self) -> Result<(), StoreError> {
        let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }
}

impl GroupStore for Watched {
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.group(id).await
        })
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.groups(query).await
        })
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        self.memberships.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.members(query).await
        })
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        self.memberships.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.groups_of(users).await
        })
    }
}

impl KeyStore for Watched {
    /// A read of authentication fails only by `fail_keys`.
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        Box::pin(async move {
            self.keyrings.fetch_add(usize::from(known.is_none()), Ordering::Relaxed);
            let of = if known.is_none() { &self.fault } else { &self.key_fault };
            let fault = || *of.lock().unwrap_or_else(PoisonError::into_inner);
            while known.is_some() && fault() == Some(Fault::Hang) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            if let Some(fault) = fault() {
                self.key_failures.fetch_add(1, Ordering::Relaxed);
                return Err(fault.error());
            }
            if self.keys_are_lost.load(Ordering::Relaxed) {
                return Ok((known != Some(0)).then(Keyring::default));
            }
            self.inner.changed_keys(known).await
        })
    }

    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>> {
        Box::pin(async move {
            self.fault()?;
            self.inner.keys(view).await
        })
    }

    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>> {
        Box::pin(async move {
            self.fault()?;
            self.inner.key(id).await
        })
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(async move {
            self.fault()?;
            self.inner.change_keys(change).await
        })
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        self.inner.note_key_use(uses)
    }
}

impl TenantStore for Watched {
    /// Faults are those of the default tenant.
    fn of_tenant(&self, tenant: TenantId) -> Answer<'_, Result<Arc<dyn Store>, StoreError>> {
        self.inner.of_tenant(tenant)
    }

    fn tenant(
        &self,
        name: TenantName,
    ) -> Answer<'_, Result<Option<(Tenant, TenantCounts)>, StoreError>> {
        Box::pin(async move {
            self.tenant_reads.fetch_add(1, Ordering::Relaxed);
            self.inject_fault().await?;
            self.inner.tenant(name).await
        })
    }

    fn totals(&self) -> Answer<'_, Result<Head, StoreError>> {
        self.inner.totals()
    }

    fn tenants(&self, query: TenantQuery) -> Answer<'_, Result<TenantPage, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.tenants(query).await
        })
    }

    fn tenants_generation(&self) -> Answer<'_, Result<i64, StoreError>> {
        self.inner.tenants_generation()
    }

    fn change_tenant(
        &self,
        change: TenantChange,
    ) -> Answer<'_, Result<TenantDecision, TenantFailure>> {
        Box::pin(async move {
            self.inject_fault().await?;
            if self.tenants_are_full.load(Ordering::Relaxed) {
                return Err(TenantRefusal::TooMany.into());
            }
            self.inner.change_tenant(change).await
        })
    }
}

impl Store for Watched {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(async move {
            let _failed = self.inject_fault().await;
            let each = || self.fault().map_err(Failure::from);
            match each() {
                Ok(()) => self.inner.apply(commands).await,
                Err(_) => commands.iter().filter_map(|_| each().err()).map(Err).collect(),
            }
        })
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.preview(command).await
        })
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.get_deleted(id).await
        })
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.deleted_page(query).await
        })
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.get(id).await
        })
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            self.inject_fault().await?;
            while self.pages_hang.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match made {
                Some(page) => Ok(page),
                None => self.inner.page(query).await,
            }
        })
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.head().await
        })
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            let made = self.made_events.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(page) = made {
                return Ok(page);
            }
            let page = self.inner.events(query).await?;
            Ok(EventsPage { log: self.log_id(), ..page })
        })
    }

    fn log_grown(&self, position: i64) -> Answer<'_, ()> {
        self.inner.log_grown(position)
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            self.inject_fault().await?;
            self.inner.forget(before).await
        })
    }

    fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Answer<'_, Result<Vec<ExpiredUser>, StoreError>> {
        self.inner.expired_users(now, after)
    }

    fn pending_erasures(&self) -> Answer<'_, Result<Vec<Purged>, StoreError>> {
        self.inner.pending_erasures()
    }

    fn erase(&self, purged: Purged) -> Answer<'_, Result<Erasure, StoreError>> {
        self.inner.erase(purged)
    }

    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>> {
        self.inner.advance_clock_mark(reading)
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        self.healths.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            if !self.is_healthy.load(Ordering::Relaxed) {
                let fault = self.inject_fault().await;
                if matches!(fault, Err(StoreError::Superseded(_))) {
                    // The engine looks for another server for some seconds.
                    tokio::time::sleep(Duration::from_millis(3_200)).await;
                }
                fault?;
            }
            self.inner.health().await
        })
    }

    fn faults(&self) -> StoreFaults {
        self.inner.faults()
    }

    fn rules(&self) -> Rules {
        self.inner.rules()
    }

    fn schema(&self) -> Arc<UserSchema> {
        self.inner.schema()
    }

    fn secret(&self) -> Secret {
        self.secret
    }

    fn log_id(&self) -> LogId {
        if self.forked_at().is_some() { FORKED } else { self.inner.log_id() }
    }

    fn former_log_end(&self, log: LogId) -> Answer<'_, Result<Option<i64>, StoreError>> {
        let end = self.forked_at().filter(|_| log == self.inner.log_id());
        Box::pin(async move { Ok(end) })
    }

    fn walks(&self) -> Option<&dyn WalkStore> {
        self.inner.walks()
    }

    fn note_settings(&self, start: StartSettings) -> Answer<'_, Result<Vec<String>, StoreError>> {
        self.inner.note_settings(start)
    }

    fn indexes(&self) -> &dyn IndexStore {
        self.inner.indexes()
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self
    }
}
