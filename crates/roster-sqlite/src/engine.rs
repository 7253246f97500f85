//! Implements the core's `Store`. Reads are finished when the call returns: the returned future is
//! ready.

use std::{future, sync::Arc};

use roster_core::{
    Act, Answer, ClockMark, ClockReading, Command, Deleted, Erasure, EventsPage, EventsQuery,
    ExpiredUser, Failure, GroupAct, GroupId, GroupStore, Head, IndexStep, IndexStore, KeyStore,
    LogId, Outcome, Outlived, Purged, Rules, Store, StoreError, Stored, Target, Tenant, TenantId,
    TenantName, TenantStore, Timestamp, UserAct, UserId, UserSchema, WebhookStore,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
    group::{GroupPage, GroupQuery, GroupsOf, MembersEdit, MembersPage, MembersQuery},
    limits::PAGE_SIZE_MAX,
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    plan::Plan,
    store::{Secret, StartSettings},
    tenant::{TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantPage, TenantQuery},
    walk::WalkStore,
};

use roster_engine::{
    Current, Request, advance_clock_mark, change_keys, change_tenant, changed_keys, deleted_page,
    deleted_user, end_index_check, expired_users, forget, former_log_end, group, group_page,
    groups_of, head, index_keys, key, keys, members_page, note_settings, pending_erasures,
    read_few, read_page, tenant, tenants, tenants_generation, tenants_with_index_work, totals,
};

use crate::{
    connection::wal_bytes,
    establish::read_head,
    failure::ReadResult,
    offline_api_keys::note_use,
    policy::in_force,
    reads::{
        events,
        rows::{Rows, run, snapshot},
    },
    sqlite::Sqlite,
    writer::{INDEX_SQL, preview_request},
};

/// Writes the clock mark. Only the process that serves the store does.
pub(crate) const WRITE_CLOCK_MARK: &str = "INSERT OR REPLACE INTO clock_mark \
     (id, revision, at, pending_at, waited_ms) VALUES (1, $1, $2, $3, $4)";

/// Larger queries of groups and memberships do not run on the threads that handle requests.
const FEW_GROUPS_MAX: usize = 200;
const FEW_USERS_MAX: usize = 200;
const FEW_MEMBERSHIPS_MAX: usize = 200;

impl Store for Sqlite {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(self.shared.queue.execute(commands, |command| self.request(command)))
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        let is_short = match &command.act {
            Act::Group(GroupAct::Change { members: MembersEdit::All(_), .. }) => false,
            Act::Group(act) => act.members_named() <= FEW_MEMBERSHIPS_MAX,
            Act::User(_) | Act::Schema(_) => true,
        };
        let (rules, schema) = (self.shared.rules(), self.schema());
        let request = Request::new(self.tenant, rules, &schema, command);
        let preview = self.read_by(is_short, move |Rows(connection, _)| {
            preview_request(connection, rules, &schema, &request)
        });
        // The inner failure is that of the request, the outer one that of the connection.
        Box::pin(async move { preview.await? })
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        ready(self.read_now(|rows| run(deleted_user(rows, id))))
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        self.read_by(query.filter.is_none(), move |rows| {
            snapshot(rows, |rows, head| deleted_page(rows, head, &query))
        })
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        ready(self.read(id))
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        let plan = Plan::of(&query);
        // A page of a stream has low priority, and does not delay requests for one page.
        let is_short = query.limit <= PAGE_SIZE_MAX;
        if is_short && plan.is_bounded(&query) {
            return ready(self.read_now(|rows| page(rows, &query, plan)));
        }
        // Rows are tested here only as long as that takes few comparisons.
        if is_short && plan.may_find_few() {
            let few = |rows: Rows<'_>| {
                snapshot(rows, |rows, head| read_few(rows, head, &query, plan.clone()))
            };
            if let Some(page) = self.read_now(few).transpose() {
                return ready(page);
            }
        }
        self.read_by(false, move |rows| page(rows, &query, plan))
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        ready(self.read_now(|rows| run(head(rows))))
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        let log = self.log_id;
        match self.read_now(|rows| events::read_few(rows, log, &query)).transpose() {
            Some(page) => ready(page),
            None => self.read_by(false, move |rows| events::page(rows, log, &query)),
        }
    }

    fn log_grown(&self, position: i64) -> Answer<'_, ()> {
        Box::pin(self.shared.log_grown(position))
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        Box::pin(self.write(move |connection| run(forget(Rows::of_store(connection), before))))
    }

    fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Answer<'_, Result<Vec<ExpiredUser>, StoreError>> {
        ready(self.read_now(|rows| run(expired_users(rows, now, after))))
    }

    fn pending_erasures(&self) -> Answer<'_, Result<Vec<Purged>, StoreError>> {
        ready(self.read_now(|rows| run(pending_erasures(rows))))
    }

    fn erase(&self, purged: Purged) -> Answer<'_, Result<Erasure, StoreError>> {
        Box::pin(self.shared.task(move |writer| writer.erase(purged)))
    }

    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>> {
        Box::pin(self.write(move |connection| {
            run(advance_clock_mark(Rows::of_store(connection), WRITE_CLOCK_MARK, reading))
        }))
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.shared.health.check()?;
            self.readers.read(read_head)?;
            // A transaction without changes writes nothing, and fails if no transaction can begin.
            self.shared.probe(|writer| writer.write(|_| ReadResult::Ok(()))).await
        })
    }

    fn rules(&self) -> Rules {
        let known = self.shared.rules();
        // Another process may have changed the policy.
        match self.readers.read(|connection| in_force(connection, known)) {
            Ok(rules) => {
                self.shared.set_rules(rules);
                rules
            }
            Err(_) => known,
        }
    }

    fn schema(&self) -> Arc<UserSchema> {
        // It was read when the tenant was opened.
        self.shared.schema(self.tenant).unwrap_or_default()
    }

    fn failed_reads(&self) -> u64 {
        self.shared.health.failed_reads()
    }

    fn wal_bytes(&self) -> Option<u64> {
        Some(wal_bytes(self.readers.settings()))
    }

    fn secret(&self) -> Secret {
        self.secret
    }

    fn log_id(&self) -> LogId {
        self.log_id
    }

    fn former_log_end(&self, log: LogId) -> Answer<'_, Result<Option<i64>, StoreError>> {
        ready(self.read_now(|rows| run(former_log_end(rows, log))))
    }

    fn walks(&self) -> Option<&dyn WalkStore> {
        None
    }

    fn note_settings(&self, start: StartSettings) -> Answer<'_, Result<Vec<String>, StoreError>> {
        let note = move |connection: &_| run(note_settings(Rows::of_store(connection), &start));
        Box::pin(self.write(note))
    }

    fn indexes(&self) -> &dyn IndexStore {
        self
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self
    }
}

impl IndexStore for Sqlite {
    fn tenants_with_index_work(&self) -> Answer<'_, Result<Vec<TenantId>, StoreError>> {
        ready(self.read_now(|rows| run(tenants_with_index_work(rows))))
    }

    fn index_step(&self) -> Answer<'_, Result<IndexStep, StoreError>> {
        let tenant = self.tenant;
        Box::pin(self.shared.task(move |writer| writer.index_step(tenant)))
    }

    fn pauses_beside_writes(&self) -> u32 {
        // A step changes many pages of the file, whose writing delays other writes too.
        10
    }

    fn index_keys(
        &self,
        kind: i16,
        after: Option<(String, UserId)>,
    ) -> Answer<'_, Result<Vec<(String, UserId)>, StoreError>> {
        self.read_by(false, move |rows| run(index_keys(rows, kind, after)))
    }

    fn end_index_check(
        &self,
        kind: i16,
        shared: Vec<Vec<UserId>>,
    ) -> Answer<'_, Result<(), StoreError>> {
        let tenant = self.tenant;
        Box::pin(self.shared.task(move |writer| {
            let schema = writer.write(|connection| {
                run(end_index_check(Rows(connection, tenant), &INDEX_SQL, kind, shared))
            })?;
            writer.shared.replace_schema(tenant, schema);
            Ok(())
        }))
    }
}

impl GroupStore for Sqlite {
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        ready(self.read_now(|rows| run(group(rows, id))))
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        let are_few = query.ids.as_ref().is_none_or(|ids| ids.len() <= FEW_GROUPS_MAX);
        let is_short = query.limit <= PAGE_SIZE_MAX
            && (query.is_unconditional() || !query.count)
            && are_few
            && !query.has_tests();
        self.read_by(is_short, move |rows| {
            snapshot(rows, |rows, head| group_page(rows, head, &query))
        })
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        self.read_by(query.limit <= PAGE_SIZE_MAX, move |rows| {
            snapshot(rows, |rows, head| members_page(rows, head, &query))
        })
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        if users.len() <= FEW_USERS_MAX {
            let most = FEW_MEMBERSHIPS_MAX;
            let few = |rows: Rows<'_>| run(groups_of(rows, &users, most));
            if let Some(few) = self.read_now(few).transpose() {
                return ready(few);
            }
        }
        self.read_by(false, move |rows| {
            Ok(run(groups_of(rows, &users, usize::MAX))?.unwrap_or_default())
        })
    }
}

impl KeyStore for Sqlite {
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        ready(self.read_now(|rows| run(changed_keys(rows, known))))
    }

    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>> {
        ready(self.read_now(|rows| run(keys(rows, view))))
    }

    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>> {
        ready(self.read_now(|rows| run(key(rows, id))))
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(async move {
            Ok(self
                .write(move |connection| run(change_keys(Rows::of_store(connection), &change)))
                .await??)
        })
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(self.write(move |connection| note_use(connection, &uses)))
    }
}

impl TenantStore for Sqlite {
    fn of_tenant(&self, tenant: TenantId) -> Answer<'_, Result<Arc<dyn Store>, StoreError>> {
        ready(self.of(tenant).map(|store| -> Arc<dyn Store> { Arc::new(store) }))
    }

    fn tenant(
        &self,
        name: TenantName,
    ) -> Answer<'_, Result<Option<(Tenant, TenantCounts)>, StoreError>> {
        ready(self.read_now(|rows| run(tenant(rows, &name))))
    }

    fn totals(&self) -> Answer<'_, Result<Head, StoreError>> {
        ready(self.read_now(|rows| run(totals(rows))))
    }

    fn tenants(&self, query: TenantQuery) -> Answer<'_, Result<TenantPage, StoreError>> {
        ready(self.read_now(|rows| run(tenants(rows, &query))))
    }

    fn tenants_generation(&self) -> Answer<'_, Result<i64, StoreError>> {
        ready(self.read_now(|rows| run(tenants_generation(rows))))
    }

    fn change_tenant(
        &self,
        change: TenantChange,
    ) -> Answer<'_, Result<TenantDecision, TenantFailure>> {
        Box::pin(async move {
            let change =
                move |connection: &_| run(change_tenant(Rows::of_store(connection), &change));
            Ok(self.write(change).await??)
        })
    }
}

impl Sqlite {
    /// Makes a request. It is decided now if its user is new or in the cache. Otherwise the stored
    /// user is read only for an edit, because the decision on an edit may take long: for other
    /// commands the read takes longer than it saves.
    fn request(&self, command: Command) -> Request {
        let cached = match &command.act {
            Act::User(act) if act.target() == Target::Live => {
                self.shared.cache.current(self.tenant, act.id())
            }
            Act::User(_) | Act::Group(_) | Act::Schema(_) => None,
        };
        let current = cached.or_else(|| match &command.act {
            Act::User(UserAct::Edit { id, .. }) => {
                let Stored { id, record, .. } = self.read(*id).ok()??;
                Current::read(id, record, "users").ok()
            }
            Act::User(_) | Act::Group(_) | Act::Schema(_) => None,
        });
        let (tenant, rules, schema) = (self.tenant, self.shared.rules(), self.schema());
        match current {
            Some(current) => Request::decided_on(tenant, rules, &schema, command, &current),
            None => Request::new(tenant, rules, &schema, command),
        }
    }

    /// Short reads run on this thread, others on the threads for long reads.
    fn read_by<T: Send + 'static>(
        &self,
        is_short: bool,
        read: impl FnOnce(Rows<'_>) -> ReadResult<T> + Send + 'static,
    ) -> Answer<'_, Result<T, StoreError>> {
        if is_short {
            return ready(self.read_now(read));
        }
        let tenant = self.tenant;
        Box::pin(self.scans.read(move |connection| read(Rows(connection, tenant))))
    }

    /// Reads on this thread.
    pub(crate) fn read_now<T>(
        &self,
        read: impl FnOnce(Rows<'_>) -> ReadResult<T>,
    ) -> Result<T, StoreError> {
        self.readers.read(|connection| read(Rows(connection, self.tenant)))
    }
}

fn page(rows: Rows<'_>, query: &PageQuery, plan: Plan) -> ReadResult<Page> {
    snapshot(rows, |rows, head| read_page(rows, head, query, plan))
}

pub(crate) fn ready<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(future::ready(value))
}
