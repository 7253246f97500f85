//! One of several tenants of a store, as a store of its own: its events are numbered as if its log
//! had no others. Everything but positions is passed on.
#![expect(clippy::expect_used, reason = "this is how a difference is told")]

use std::sync::Arc;

use roster_core::{
    Answer, ClockMark, ClockReading, Command, Deleted, Erasure, EventKind, EventKinds, EventsPage,
    EventsQuery, ExpiredUser, Failure, GroupId, GroupStore, Head, IndexStore, KeyStore, LogId,
    Outcome, Outlived, Purged, Rules, Store, StoreError, Stored, Tenant, TenantId, TenantName,
    TenantStore, Timestamp, UserId, UserSchema, WebhookStore,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
    group::{GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::{Secret, StartSettings},
    tenant::{TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantPage, TenantQuery},
    walk::WalkStore,
};

use super::positions::Positions;

fn kinds_of_oracles() -> EventKinds {
    let kinds = EventKind::ALL.iter().filter(|kind| !kind.is_audit());
    kinds.fold(EventKinds::NONE, |kinds, kind| kinds.or(EventKinds::only(*kind)))
}

pub(super) struct OneTenant {
    store: Arc<dyn Store>,
    tenant: TenantId,
    positions: Arc<Positions>,
}

impl OneTenant {
    /// A new tenant, from its store.
    pub(super) fn new(store: Arc<dyn Store>, tenant: TenantId, positions: Arc<Positions>) -> Self {
        Self { store, tenant, positions }
    }

    fn rank(&self, position: i64) -> i64 {
        self.positions.rank(self.tenant, position)
    }

    /// Reads the events that the tenant has since the last call.
    async fn read_new_events(&self) {
        let mut after = self.positions.last_of(self.tenant);
        loop {
            let page = self.store.events(EventsQuery::after(after, 100)).await;
            let page = page.expect("the store answers");
            self.positions.add(self.tenant, &page.events);
            if page.reached >= page.head {
                return;
            }
            assert!(page.reached > after, "a page makes progress");
            after = page.reached;
        }
    }
}

impl Store for OneTenant {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(async move {
            let results = self.store.apply(commands).await;
            self.read_new_events().await;
            let ranked =
                |outcome: Outcome| Outcome { position: self.rank(outcome.position), ..outcome };
            results.into_iter().map(|result| result.map(ranked)).collect()
        })
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(async move {
            let outcome = self.store.preview(command).await?;
            Ok(Outcome { position: self.rank(outcome.position), ..outcome })
        })
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        self.store.get(id)
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        self.store.get_deleted(id)
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        Box::pin(async move {
            let page = self.store.page(query).await?;
            Ok(Page { position: self.rank(page.position), ..page })
        })
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        Box::pin(async move {
            let page = self.store.deleted_page(query).await?;
            Ok(DeletedPage { position: self.rank(page.position), ..page })
        })
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        Box::pin(async move {
            let head = self.store.head().await?;
            Ok(Head { position: self.rank(head.position), ..head })
        })
    }

    /// Reads on while a page reaches only events of other tenants.
    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        Box::pin(async move {
            let after = self.positions.last_with_rank(self.tenant, query.after);
            let mut query = EventsQuery { after, ..query };
            if self.tenant.is_default() {
                // No oracle has the events about tenants.
                query.kinds = query.kinds.and(kinds_of_oracles());
            }
            loop {
                let page = self.store.events(query.clone()).await?;
                let is_at_end = page.reached >= page.head;
                if is_at_end || self.rank(page.reached) > self.rank(query.after) {
                    let number = |position| self.positions.number(self.tenant, position);
                    let numbered = page.events.into_iter().map(|(at, event)| (number(at), event));
                    return Ok(EventsPage {
                        log: page.log,
                        events: numbered.collect(),
                        tenants: page.tenants,
                        reached: self.rank(page.reached),
                        head: self.rank(page.head),
                        oldest: self.rank(page.oldest - 1) + 1,
                    });
                }
                assert!(page.reached > query.after, "a page makes progress: {query:?}");
                query.after = page.reached;
            }
        })
    }

    fn log_grown(&self, position: i64) -> Answer<'_, ()> {
        self.store.log_grown(position)
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        self.store.forget(before)
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

impl GroupStore for OneTenant {
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        self.store.group(id)
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        Box::pin(async move {
            let page = self.store.groups(query).await?;
            Ok(GroupPage { position: self.rank(page.position), ..page })
        })
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        Box::pin(async move {
            let ranked =
                |page: MembersPage| MembersPage { position: self.rank(page.position), ..page };
            Ok(self.store.members(query).await?.map(ranked))
        })
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        self.store.groups_of(users)
    }
}

impl KeyStore for OneTenant {
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

impl TenantStore for OneTenant {
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
