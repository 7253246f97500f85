//! Implements the core's `Store`.

use std::sync::Arc;

use roster_core::{
    Answer, ClockMark, ClockReading, Command, Deleted, Erasure, EventsPage, EventsQuery,
    ExpiredUser, Failure, GroupId, GroupStore, Head, IndexStep, IndexStore, KeyStore, LogId,
    Outcome, Outlived, Purged, Rules, Store, StoreError, Stored, TenantId, Timestamp, UserId,
    UserSchema, WebhookStore,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
    group::{GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::{Secret, StartSettings, StoreFaults},
    walk::WalkStore,
};

use roster_engine::{
    Database as _, advance_clock_mark, changed_keys, deleted_page, deleted_user, expired_users,
    forget, former_log_end, group, group_page, groups_of, head, index_keys, key, keys,
    members_page, note_settings, pending_erasures, tenants_with_index_work,
};

use crate::{
    api_keys,
    connection::{BEGIN_AT_HEAD, Connection},
    erasure, indexes,
    pool::{self, LONG, SHORT},
    postgres::Postgres,
    reads::{
        events,
        page::{Direct, walked},
        rows::{Rows, snapshot},
    },
};

/// Writes the clock mark, unless another process was first. Writes nothing if the log has no head,
/// because then another store is being loaded. The lock makes the load wait until this row is
/// written, or this statement wait until the head is deleted.
pub(crate) const WRITE_CLOCK_MARK: &str = "INSERT INTO clock_mark AS stored \
     (id, revision, at, pending_at, waited_ms) SELECT 1::smallint, $1::bigint, $2::bigint, \
     $3::bigint, $4::bigint FROM log_head WHERE number = 1 FOR KEY SHARE \
     ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, at = excluded.at, \
     pending_at = excluded.pending_at, waited_ms = excluded.waited_ms \
     WHERE stored.revision = excluded.revision - 1";

/// Takes the locks of tables that writes and reads need, and changes no row: none is at this place.
pub(crate) const PROBE: &str = "WITH of_users AS (DELETE FROM users WHERE ctid = '(0,0)'), \
     of_deleted AS (DELETE FROM deleted_users WHERE ctid = '(0,0)'), \
     of_words AS (DELETE FROM words WHERE ctid = '(0,0)'), \
     of_keys AS (DELETE FROM further_keys WHERE ctid = '(0,0)'), \
     of_events AS (DELETE FROM events WHERE ctid = '(0,0)'), \
     of_retries AS (DELETE FROM idempotency_keys WHERE ctid = '(0,0)'), \
     of_members AS (DELETE FROM group_members WHERE ctid = '(0,0)'), \
     of_groups AS (DELETE FROM groups WHERE ctid = '(0,0)'), \
     of_tenants AS (DELETE FROM tenants WHERE ctid = '(0,0)') \
     DELETE FROM log_head WHERE ctid = '(0,0)'";

/// The maximum number of users of a page that is read on a shared connection: a larger page would
/// delay the queries behind it.
const SHARED_PAGE_MAX: usize = 100;
/// The same, if the records of the tenant are large.
const SHARED_PAGE_OF_LARGE_MAX: usize = 4;

impl Store for Postgres {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(self.execute(commands))
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(self.dry_run(command))
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(self.user_lookups.get(self.tenant, id))
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        let tenant = self.tenant;
        let read = move |c: Arc<_>| async move { deleted_user(Rows(&c, tenant), id).await };
        Box::pin(self.shared.run(read))
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        Box::pin(async move {
            let is_large = self.large_pages.expects(self.tenant);
            let most = if is_large { SHARED_PAGE_OF_LARGE_MAX } else { SHARED_PAGE_MAX };
            let page = match Direct::of(self.tenant, &query) {
                Some(direct) if query.limit <= most => self.shared.run(|c| direct.read(c)).await?,
                Some(direct) => self.exclusive.run(LONG, |c| direct.read(c)).await?,
                None => None,
            };
            if let Some(page) = page {
                self.large_pages.note(self.tenant, &page);
                return Ok(page);
            }
            let query = Arc::new(query);
            let read = |c| self.long_reads.run(walked(c, self.tenant, Arc::clone(&query)));
            self.exclusive.run(LONG, read).await
        })
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        Box::pin(async move {
            let query = Arc::new(query);
            let read = |c: Arc<Connection>| {
                let (query, tenant) = (Arc::clone(&query), self.tenant);
                self.long_reads.run(async move {
                    let read = |rows, head| deleted_page(rows, head, &query);
                    snapshot(Rows(&c, tenant), read).await
                })
            };
            self.exclusive.run(LONG, read).await
        })
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        let tenant = self.tenant;
        Box::pin(self.shared.run(move |c| async move { head(Rows(&c, tenant)).await }))
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        Box::pin(
            async move { self.exclusive.run(LONG, |c| events::page(c, self.tenant, &query)).await },
        )
    }

    fn log_grown(&self, position: i64) -> Answer<'_, ()> {
        Box::pin(self.log_end.grown(position))
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        let forget = move |c: Arc<_>| async move { forget(Rows::of_store(&c), before).await };
        Box::pin(self.exclusive.run(LONG, forget))
    }

    fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Answer<'_, Result<Vec<ExpiredUser>, StoreError>> {
        let read =
            move |c: Arc<_>| async move { expired_users(Rows::of_store(&c), now, after).await };
        Box::pin(self.shared.run(read))
    }

    fn pending_erasures(&self) -> Answer<'_, Result<Vec<Purged>, StoreError>> {
        let read = |c: Arc<_>| async move { pending_erasures(Rows::of_store(&c)).await };
        Box::pin(self.shared.run(read))
    }

    fn erase(&self, purged: Purged) -> Answer<'_, Result<Erasure, StoreError>> {
        Box::pin(self.exclusive.run(LONG, move |c| erasure::erase(c, purged)))
    }

    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>> {
        let advance = move |c: Arc<_>| async move {
            advance_clock_mark(Rows::of_store(&c), WRITE_CLOCK_MARK, reading).await
        };
        Box::pin(self.exclusive.run(SHORT, advance))
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.in_force.refresh().await?;
            let probe = |c: Arc<_>| async move { Rows::of_store(&c).execute(PROBE, &[]).await };
            self.probe.run(pool::PROBE, probe).await.map(drop)
        })
    }

    fn faults(&self) -> StoreFaults {
        let superseded_servers = self.shared.connector().superseded();
        StoreFaults { superseded_servers, ..self.counters.read() }
    }

    fn rules(&self) -> Rules {
        self.in_force.known(self.tenant).rules
    }

    fn renew_schema(&self) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(self.in_force.renew())
    }

    fn schema(&self) -> Arc<UserSchema> {
        self.in_force.known(self.tenant).schema.unwrap_or_default()
    }

    fn secret(&self) -> Secret {
        self.secret
    }

    fn log_id(&self) -> LogId {
        // The log is known as long as the store is open.
        self.shared.connector().log().map_or(LogId([0; 8]), |known| known.log)
    }

    fn former_log_end(&self, log: LogId) -> Answer<'_, Result<Option<i64>, StoreError>> {
        let read = move |c: Arc<_>| async move { former_log_end(Rows::of_store(&c), log).await };
        Box::pin(self.shared.run(read))
    }

    fn walks(&self) -> Option<&dyn WalkStore> {
        Some(self)
    }

    fn note_settings(&self, start: StartSettings) -> Answer<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            let note = |c: Arc<Connection>| {
                let start = start.clone();
                async move {
                    let work = note_settings(Rows::of_store(&c), &start);
                    c.transaction(BEGIN_AT_HEAD, work).await
                }
            };
            self.exclusive.run(SHORT, note).await
        })
    }

    fn indexes(&self) -> &dyn IndexStore {
        self
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self
    }
}

impl IndexStore for Postgres {
    fn tenants_with_index_work(&self) -> Answer<'_, Result<Vec<TenantId>, StoreError>> {
        let read = |c: Arc<_>| async move { tenants_with_index_work(Rows::of_store(&c)).await };
        Box::pin(self.shared.run(read))
    }

    fn index_step(&self) -> Answer<'_, Result<IndexStep, StoreError>> {
        Box::pin(indexes::step(self))
    }

    fn index_keys(
        &self,
        kind: i16,
        after: Option<(String, UserId)>,
    ) -> Answer<'_, Result<Vec<(String, UserId)>, StoreError>> {
        Box::pin(async move {
            if after.is_none() {
                indexes::begin_check(self, kind).await?;
            }
            let tenant = self.tenant;
            let read = |c: Arc<_>| {
                let after = after.clone();
                async move { index_keys(Rows(&c, tenant), kind, after).await }
            };
            self.exclusive.run(LONG, read).await
        })
    }

    fn end_index_check(
        &self,
        kind: i16,
        shared: Vec<Vec<UserId>>,
    ) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(indexes::end_check(self, kind, shared))
    }
}

impl GroupStore for Postgres {
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        let tenant = self.tenant;
        Box::pin(self.shared.run(move |c| async move { group(Rows(&c, tenant), id).await }))
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        Box::pin(async move {
            let query = Arc::new(query);
            let read = |c: Arc<Connection>| {
                let (query, tenant) = (Arc::clone(&query), self.tenant);
                self.long_reads.run(async move {
                    let read = |rows, head| group_page(rows, head, &query);
                    snapshot(Rows(&c, tenant), read).await
                })
            };
            self.exclusive.run(LONG, read).await
        })
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        Box::pin(async move {
            let read = |c: Arc<Connection>| {
                let tenant = self.tenant;
                self.long_reads.run(async move {
                    let read = |rows, head| members_page(rows, head, &query);
                    snapshot(Rows(&c, tenant), read).await
                })
            };
            self.exclusive.run(LONG, read).await
        })
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        Box::pin(async move {
            let users: Arc<[UserId]> = users.into();
            let query = |c: Arc<Connection>| {
                let (users, tenant) = (Arc::clone(&users), self.tenant);
                async move { groups_of(Rows(&c, tenant), &users, usize::MAX).await }
            };
            // A user is in a limited number of groups, whose records are short.
            let groups = match *users {
                [_] => self.shared.run(query).await,
                _ => self.exclusive.run(LONG, |c| self.long_reads.run(query(c))).await,
            };
            Ok(groups?.unwrap_or_default())
        })
    }
}

impl KeyStore for Postgres {
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        let read = move |c: Arc<_>| async move { changed_keys(Rows::of_store(&c), known).await };
        Box::pin(self.shared.run(read))
    }

    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>> {
        let read = move |c: Arc<_>| async move { keys(Rows::of_store(&c), view).await };
        Box::pin(self.exclusive.run(LONG, read))
    }

    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>> {
        let read = move |c: Arc<_>| async move { key(Rows::of_store(&c), id).await };
        Box::pin(self.shared.run(read))
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(
            async move { Ok(self.exclusive.run(SHORT, |c| api_keys::change(c, &change)).await??) },
        )
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move { self.exclusive.run(SHORT, |c| api_keys::note_use(c, &uses)).await })
    }
}
