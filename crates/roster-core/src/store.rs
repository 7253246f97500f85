//! The functions that an engine implements: [`Store`], with [`GroupStore`] and [`KeyStore`].
//!
//! An engine stores users, groups, the change log and one secret. Each command is one atomic step,
//! and its result is returned only after its transaction is on disk. No transaction and no stream
//! crosses this trait. An engine contains no rules: it loads the facts, calls [`crate::decide()`],
//! and writes the decision.

use std::{fmt, sync::Arc};

use crate::{
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyView, Keyring},
    clock_mark::{ClockMark, ClockReading},
    failure::{Failure, StoreError},
    group::{GroupId, GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    id::UserId,
    read::{
        events::{EventsPage, EventsQuery},
        list::{DeletedPage, DeletedQuery, Page, PageQuery},
        walk::WalkStore,
    },
    schema::UserSchema,
    tenant::{
        Tenant, TenantChange, TenantCounts, TenantDecision, TenantFailure, TenantId, TenantName,
        TenantPage, TenantQuery,
    },
    timestamp::Timestamp,
    user::{Deleted, Status, Stored},
    webhook::{
        Progress, ServedWebhook, StoredWebhook, WebhookChange, WebhookDecision, WebhookDelivery,
        WebhookFailure, WebhookId,
    },
    write::{
        command::{Caller, Command, Rules},
        erasure::{Erasure, Purged},
        outcome::{Answer, Outcome},
        position::LogId,
    },
};

/// The maximum number of pending erasures that are returned at once.
pub const PENDING_ERASURES_MAX: usize = 1000;

/// The maximum number of expired users that are returned at once.
pub const EXPIRED_USERS_MAX: usize = 500;

/// An active user whose `expires_at` has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiredUser {
    /// The tenant, which is not deleted.
    pub tenant: TenantId,
    /// The user's id.
    pub id: UserId,
    /// The version.
    pub version: i64,
    /// When the user expired.
    pub expires_at: Timestamp,
}

/// The settings with which a process starts.
#[derive(Clone, Debug)]
pub struct StartSettings {
    /// The names and values, without secrets.
    pub settings: Vec<(String, String)>,
    /// The author of the event.
    pub caller: Caller,
    /// The time of the start.
    pub at: Timestamp,
}

/// The operations of an engine on one tenant, and on the whole store.
pub trait Store: KeyStore + GroupStore + TenantStore {
    /// Executes commands in order, each as one atomic step, with shared commits where possible. The
    /// results have the order of the commands. A success is durable.
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>>;

    /// Decides a command in the same way, and stores nothing. The position is the current one of
    /// the log.
    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>>;

    /// The live user with this id.
    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>>;

    /// The deleted user with this id, while it is kept.
    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>>;

    /// One page of live users with its log position, read in one snapshot.
    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>>;

    /// One page of deleted users.
    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>>;

    /// The end of the log, and the stored counters.
    fn head(&self) -> Answer<'_, Result<Head, StoreError>>;

    /// Events in log order, read in one snapshot.
    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>>;

    /// Returns once the log of all tenants has an event after this position, written by any
    /// process. May be dropped while it waits.
    fn log_grown(&self, position: i64) -> Answer<'_, ()>;

    /// Deletes one batch of expired data, oldest first, and returns its size; 0 once nothing is
    /// left.
    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>>;

    /// The active users of all tenants that have expired by this time, in the order of the times
    /// and ids after this one, up to [`EXPIRED_USERS_MAX`].
    fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Answer<'_, Result<Vec<ExpiredUser>, StoreError>>;

    /// What is purged and not yet erased, in the order of tenants and ids, up to
    /// [`PENDING_ERASURES_MAX`].
    fn pending_erasures(&self) -> Answer<'_, Result<Vec<Purged>, StoreError>>;

    /// Erases the next step of something that is purged.
    fn erase(&self, purged: Purged) -> Answer<'_, Result<Erasure, StoreError>>;

    /// Advances the clock mark by a process's measurement; creates it if there is none.
    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>>;

    /// Whether the last commit succeeded and writes are accepted. Writes nothing.
    fn health(&self) -> Answer<'_, Result<(), StoreError>>;

    /// The current rules: the policy of the store, with the guards of this process. Another process
    /// may change the policy.
    fn rules(&self) -> Rules;

    /// The current schema of users. After a command of this process that replaces it, it is the new
    /// one. Another process may replace it too: after [`Self::renew_schema`] it is not older than
    /// the last one whose replacement was acknowledged.
    fn schema(&self) -> Arc<UserSchema>;

    /// Reads the schema of users again if another process may have replaced it.
    fn renew_schema(&self) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// How many reads of this process failed because of the disk or of damaged bytes. 0 if the
    /// engine reads no files.
    fn failed_reads(&self) -> u64 {
        0
    }

    /// The size of the write-ahead log's file in bytes, if the engine has one.
    fn wal_bytes(&self) -> Option<u64> {
        None
    }

    /// How often a database failed the engine since the start, if it uses one of its own.
    fn faults(&self) -> StoreFaults {
        StoreFaults::default()
    }

    /// The secret that encrypts cursors: created once, the same for all processes that serve this
    /// store.
    fn secret(&self) -> Secret;

    /// The identity of the log, as far as this process knows: another process may have found that
    /// the log continues another one. What is read after this call is of this log or of a later
    /// one, never of a former one.
    fn log_id(&self) -> LogId;

    /// The last position that the log has in common with a former one; `None` if that is no former
    /// one.
    fn former_log_end(&self, log: LogId) -> Answer<'_, Result<Option<i64>, StoreError>>;

    /// The ends of SCIM pages by index, if several processes serve this store; `None` if this
    /// process is the only one.
    fn walks(&self) -> Option<&dyn WalkStore>;

    /// Appends an event with the names of the settings that have another value than the last time,
    /// and keeps these values. Returns the names. Settings that were not there the last time do not
    /// count.
    fn note_settings(&self, start: StartSettings) -> Answer<'_, Result<Vec<String>, StoreError>>;

    /// The steps of the indexes that the schema of users names.
    fn indexes(&self) -> &dyn IndexStore;

    /// The webhooks of this tenant.
    fn webhooks(&self) -> &dyn WebhookStore;
}

/// The indexes that the schema of users names: they are built and deleted in bounded steps, which
/// housekeeping calls.
pub trait IndexStore: Send + Sync + 'static {
    /// The tenants whose indexes need steps, up to [`PENDING_ERASURES_MAX`].
    fn tenants_with_index_work(&self) -> Answer<'_, Result<Vec<TenantId>, StoreError>>;

    /// Executes the next step for the indexes of this tenant.
    fn index_step(&self) -> Answer<'_, Result<IndexStep, StoreError>>;

    /// The pause after a step while others write, as a multiple of the time that it took. With 3
    /// times the other writes hardly notice, unless a step delays the commits of others.
    fn pauses_beside_writes(&self) -> u32 {
        3
    }

    /// Keys of values in an index after this one, with their users, in the order of both.
    fn index_keys(
        &self,
        kind: i16,
        after: Option<(String, UserId)>,
    ) -> Answer<'_, Result<Vec<(String, UserId)>, StoreError>>;

    /// Stores which users share values of a unique index; nobody does if there are none.
    fn end_index_check(
        &self,
        kind: i16,
        shared: Vec<Vec<UserId>>,
    ) -> Answer<'_, Result<(), StoreError>>;
}

/// The webhooks of a tenant, and what the process that sends needs of those of all tenants.
pub trait WebhookStore: Send + Sync + 'static {
    /// All webhooks of the tenant, in the order of creation.
    fn list(&self) -> Answer<'_, Result<Vec<StoredWebhook>, StoreError>>;

    /// The webhook with this id.
    fn webhook(&self, id: WebhookId) -> Answer<'_, Result<Option<StoredWebhook>, StoreError>>;

    /// Its last deliveries, the newest first. `None` if there is no such webhook.
    fn deliveries(
        &self,
        id: WebhookId,
    ) -> Answer<'_, Result<Option<Vec<WebhookDelivery>>, StoreError>>;

    /// Changes a webhook as [`decide_webhook`](crate::webhook::decide_webhook()) decides, and
    /// returns it and whether anything changed.
    fn change(&self, change: WebhookChange) -> Answer<'_, Result<WebhookDecision, WebhookFailure>>;

    /// The active webhooks of all active tenants.
    fn served(&self) -> Answer<'_, Result<Vec<ServedWebhook>, StoreError>>;

    /// Stores how far the events of a webhook are sent, and its new deliveries, the newest first.
    /// Returns false, and stores nothing, if the webhook has another version now, or if another
    /// process sends.
    fn save_progress(
        &self,
        id: WebhookId,
        version: i64,
        progress: Progress,
        new: Vec<WebhookDelivery>,
        lease: Lease,
    ) -> Answer<'_, Result<bool, StoreError>>;

    /// Lets this process send to webhooks for a time, if no other one does. `holder` identifies the
    /// process.
    fn take_lease(&self, holder: [u8; 16]) -> Answer<'_, Result<Option<Lease>, StoreError>>;

    /// Ends the lease of this process, so that another one may send at once.
    fn end_lease(&self, lease: Lease) -> Answer<'_, Result<(), StoreError>>;
}

/// How long a process may send to webhooks after it took or renewed the lease, in milliseconds of
/// the database's clock.
pub const LEASE_MS: i64 = 30_000;

/// The right of one process to send to webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Rises with each process that takes it.
    pub fence: i64,
}

/// The result of a step for the indexes of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStep {
    /// More steps are due.
    Pending,
    /// The keys of the unique index with this number are to be compared.
    Check(i16),
    /// The last rows of a dropped index were deleted. More steps may be due.
    Dropped,
    /// Nothing is due but to compare the indexes again whose values were shared.
    Failed,
    /// A step is due that cannot be executed yet.
    Waiting,
    /// Another process or a write has locked what the step needs.
    Busy,
    /// Nothing is due.
    Done,
}

/// The maximum number of keys that [`IndexStore::index_keys`] returns.
pub const INDEX_KEYS_MAX: usize = 2000;

/// The reads of groups and memberships of an engine.
pub trait GroupStore: Send + Sync + 'static {
    /// The group with this id.
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>>;

    /// One page of groups with its log position, read in one snapshot.
    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>>;

    /// One page of a group's direct members with the group, read in one snapshot; `None` if the
    /// group does not exist.
    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>>;

    /// The direct groups of these users, in one statement.
    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>>;
}

/// The operations of an engine on API keys. They are a trait of their own, because a command that
/// creates a key offline needs no other.
pub trait KeyStore: Send + Sync + 'static {
    /// The keys that changed since this generation; `None` if none did. Without a generation, or
    /// with a later one than the store has, all keys.
    fn changed_keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>>;

    /// The keys of a view.
    fn keys(&self, view: KeyView) -> Answer<'_, Result<Vec<ApiKey>, StoreError>>;

    /// The key with this id.
    fn key(&self, id: KeyId) -> Answer<'_, Result<Option<ApiKey>, StoreError>>;

    /// Changes the keys as [`decide_keys`](crate::access::decide_keys()) decides and returns the
    /// changed key. Every change increases the generation.
    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>>;

    /// Stores when keys were used; ignores keys that no longer exist. This does not change the
    /// generation.
    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>>;
}

/// The operations on keys of a program that does not serve the store, which also finds tenants by
/// their names.
pub trait OfflineKeyStore: KeyStore {
    /// The tenant with this name.
    fn tenant_of_name(&self, name: TenantName) -> Answer<'_, Result<Option<Tenant>, StoreError>>;

    /// The name of a tenant, and whether it is deleted; `None` if it has no name.
    fn name_of_tenant(
        &self,
        tenant: TenantId,
    ) -> Answer<'_, Result<Option<(TenantName, bool)>, StoreError>>;
}

/// The operations of an engine on tenants. They are the same for every tenant of the store.
pub trait TenantStore: Send + Sync + 'static {
    /// The store of a tenant's users and groups. A tenant that does not exist has none.
    fn of_tenant(&self, tenant: TenantId) -> Answer<'_, Result<Arc<dyn Store>, StoreError>>;

    /// The tenant with this name, and its counters.
    fn tenant(
        &self,
        name: TenantName,
    ) -> Answer<'_, Result<Option<(Tenant, TenantCounts)>, StoreError>>;

    /// The end of the log, and the counters of all tenants together.
    fn totals(&self) -> Answer<'_, Result<Head, StoreError>>;

    /// One page of tenants, in the order of their names.
    fn tenants(&self, query: TenantQuery) -> Answer<'_, Result<TenantPage, StoreError>>;

    /// The number of changes of tenants so far, by any process. Tenants that were read after it are
    /// current while it stays the same.
    fn tenants_generation(&self) -> Answer<'_, Result<i64, StoreError>>;

    /// Changes a tenant as [`decide_tenant`](crate::tenant::decide_tenant()) decides, and returns
    /// it and whether anything changed.
    fn change_tenant(
        &self,
        change: TenantChange,
    ) -> Answer<'_, Result<TenantDecision, TenantFailure>>;
}

/// How often a database failed the engine since the start. Most transactions were repeated and then
/// succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFaults {
    /// Another transaction changed the same data.
    pub conflicts: u64,
    /// Another transaction held a lock for too long.
    pub lock_timeouts: u64,
    /// It is not known whether the commit arrived: the caller got 503.
    pub commits_in_doubt: u64,
    /// A server was refused, because a failover left it behind or its log is another one.
    pub superseded_servers: u64,
}

/// Key material. Its `Debug` form has no secret.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The end of the log, and the stored counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The position of the last event.
    pub position: i64,
    /// The number of active users.
    pub active: i64,
    /// The number of suspended users.
    pub suspended: i64,
    /// The number of deleted users that are kept.
    pub deleted: i64,
}

impl Head {
    /// The number of live users.
    pub const fn live(&self) -> i64 {
        self.active + self.suspended
    }

    /// The value of a counter.
    pub const fn count(&self, counter: Counter) -> u64 {
        let count = match counter {
            Counter::Live => self.live(),
            Counter::Status(Status::Active) => self.active,
            Counter::Status(Status::Suspended) => self.suspended,
        };
        count.unsigned_abs()
    }
}

/// A number of live users that every engine stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// All live users.
    Live,
    /// The live users with this status.
    Status(Status),
}

/// Limits for expired data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlived {
    /// Idempotency records older than this time.
    pub keys_before: Timestamp,
    /// Events older than this time.
    pub events_before: Timestamp,
}
