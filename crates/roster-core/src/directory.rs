//! The directory: the functions by which both interfaces read and change users, groups and the
//! schema of users.
//!
//! It adds the time and the id of its clock to a request, which makes a complete command, and
//! passes it to the store. It has no state and no rules. Functions that read or change data for a
//! caller require a permit. The right to read users includes reading groups, and the right to
//! change users includes changing groups.

mod bulk;
mod schema;
mod tenants;
mod webhooks;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::{
    access::{
        AuditView, Authority, KeyService, Permit, PurgeUsers, ReadDeletedUsers, ReadEvents,
        ReadUsers, RestoreIds, SeesDeleted, WriteUsers,
    },
    clock::Clock,
    clock_mark::{ClockMark, ClockReading},
    failure::{Failure, StoreError},
    group::{
        Group, GroupAct, GroupDraft, GroupEdit, GroupId, GroupPage, GroupQuery, GroupsOf,
        MembersEdit, MembersPage, MembersQuery, StatedKinds,
    },
    id::UserId,
    json::Json,
    limits::NESTED_MEMBERSHIPS_MAX,
    read::{
        events::{EventsPage, EventsQuery},
        list::{DeletedPage, DeletedQuery, Page, PageQuery},
        walk::WalkStore,
    },
    store::{ExpiredUser, Head, Outlived, Secret, StartSettings, Store, StoreFaults},
    tenant::TenantId,
    timestamp::Timestamp,
    user::{Deleted, Stored, User, draft::Draft},
    write::{
        command::{Act, Command, Mode, Rules, Terms, Upsert, UserAct},
        edit::Edit,
        erasure::{Erasure, Purged},
        outcome::Outcome,
        position::{LogId, Position},
    },
};

pub use bulk::{BulkLine, BulkWrite};

/// The number of groups whose own groups are read at once.
const NESTED_AT_ONCE: usize = 100;

/// The collections of users and groups.
#[derive(Clone)]
pub struct Directory {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    tenant: TenantId,
}

impl Directory {
    /// The directory of the default tenant of a store.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, tenant: TenantId::DEFAULT }
    }

    /// The directory of a tenant of the same store.
    pub async fn of_tenant(&self, tenant: TenantId) -> Result<Self, StoreError> {
        if tenant == self.tenant {
            return Ok(self.clone());
        }
        let (store, clock) = (self.store.of_tenant(tenant).await?, Arc::clone(&self.clock));
        Ok(Self { store, clock, tenant })
    }

    /// The number of its tenant, which no other tenant ever has.
    pub const fn tenant_id(&self) -> TenantId {
        self.tenant
    }

    /// Creates a user.
    pub async fn create(
        &self,
        may: Permit<WriteUsers>,
        draft: Draft,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.upsert(may, draft, Upsert::default(), terms).await
    }

    /// Makes the create of a user keep the id of its body.
    pub fn keep_id(&self, _may: Permit<RestoreIds>, draft: &mut Draft) {
        draft.keep_id(self.clock.now());
    }

    /// Creates a user, or updates or skips the one that exists.
    pub async fn upsert(
        &self,
        _may: Permit<WriteUsers>,
        draft: Draft,
        upsert: Upsert,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(self.new_user(draft, upsert), terms).await
    }

    /// Replaces a user.
    pub async fn replace(
        &self,
        _may: Permit<WriteUsers>,
        id: UserId,
        draft: Draft,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(UserAct::Replace { id, draft: Box::new(draft) }, terms).await
    }

    /// Patches a user by JSON Merge Patch.
    pub async fn patch(
        &self,
        _may: Permit<WriteUsers>,
        id: UserId,
        patch: Json,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(UserAct::Patch { id, patch: Arc::new(patch) }, terms).await
    }

    /// Patches a user: the result of a function is its new content.
    pub async fn edit(
        &self,
        _may: Permit<WriteUsers>,
        id: UserId,
        edit: Edit<User, Draft>,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(UserAct::Edit { id, edit, replaces: false }, terms).await
    }

    /// Replaces a user by the result of a function.
    pub async fn replace_by(
        &self,
        _may: Permit<WriteUsers>,
        id: UserId,
        edit: Edit<User, Draft>,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(UserAct::Edit { id, edit, replaces: true }, terms).await
    }

    /// Deletes a user. It is kept among the deleted users.
    pub async fn delete(
        &self,
        _may: Permit<WriteUsers>,
        id: UserId,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(UserAct::Delete { id }, terms).await
    }

    /// Restores a deleted user, and its group memberships if requested.
    pub async fn restore(
        &self,
        _may: Permit<WriteUsers>,
        id: UserId,
        joins_groups: bool,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(UserAct::Restore { id, joins_groups }, terms).await
    }

    /// Purges a deleted user and its history.
    pub async fn purge(
        &self,
        _may: Permit<PurgeUsers>,
        id: UserId,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(UserAct::Purge { id }, terms).await
    }

    /// The deleted user with this id, while it is kept.
    pub async fn get_deleted(
        &self,
        _may: Permit<impl SeesDeleted>,
        id: UserId,
    ) -> Result<Option<Deleted>, StoreError> {
        self.store.get_deleted(id).await
    }

    /// One page of deleted users.
    pub async fn list_deleted(
        &self,
        _may: Permit<ReadDeletedUsers>,
        query: DeletedQuery,
    ) -> Result<DeletedPage, StoreError> {
        self.store.deleted_page(query).await
    }

    /// Events of the change log, without the audit events that a view does not show.
    pub async fn events(
        &self,
        _may: Permit<ReadEvents>,
        audit: AuditView,
        query: EventsQuery,
    ) -> Result<EventsPage, StoreError> {
        let mut page = self.store.events(query.clone()).await?;
        let read = page.events.len();
        page.retain(|event| audit.shows(event));
        let is_end = page.reached == query.end(page.head, page.oldest);
        if page.events.len() < read && !is_end {
            // Hidden events take no places of a page. They are rare, so most pages are read once,
            // without a condition.
            let kinds = query.kinds.and(audit.kinds());
            page = self.store.events(EventsQuery { kinds, ..query }).await?;
            page.retain(|event| audit.shows(event));
        }
        Ok(page)
    }

    /// Appends an event with the names of the settings that have another value than the last
    /// process had, and keeps these values.
    pub async fn note_settings(
        &self,
        settings: Vec<(String, String)>,
    ) -> Result<Vec<String>, StoreError> {
        let caller = Authority::of_the_service().caller("start");
        self.store.note_settings(StartSettings { settings, caller, at: self.clock.now() }).await
    }

    /// Returns once the log of all tenants has an event after this position. May be dropped while
    /// it waits. Shows nothing of the event.
    pub async fn log_grown(&self, position: i64) {
        self.store.log_grown(position).await;
    }

    /// Whether a user with this id exists, is deleted, or is in the log after this position.
    pub async fn is_known(
        &self,
        may: Permit<ReadEvents>,
        id: UserId,
        after: i64,
    ) -> Result<bool, StoreError> {
        if self.store.get(id).await?.is_some() || self.store.get_deleted(id).await?.is_some() {
            return Ok(true);
        }
        let query = EventsQuery { user_id: Some(id), ..EventsQuery::after(after, 1) };
        let events = self.events(may, AuditView::Nothing, query).await?.events;
        // Users and groups have ids from the same source, so events of groups do not count.
        Ok(events.iter().any(|(_, event)| event.kind.is_of_user()))
    }

    /// Deletes one batch of expired data and returns its size.
    pub async fn forget(&self, before: Outlived) -> Result<u64, StoreError> {
        self.store.forget(before).await
    }

    /// The active users of all tenants that have expired by this time, after this one.
    pub async fn expired_users(
        &self,
        now: Timestamp,
        after: Option<ExpiredUser>,
    ) -> Result<Vec<ExpiredUser>, StoreError> {
        self.store.expired_users(now, after).await
    }

    /// What is purged and not yet erased.
    pub async fn pending_erasures(&self) -> Result<Vec<Purged>, StoreError> {
        self.store.pending_erasures().await
    }

    /// Erases the next step of something that is purged.
    pub async fn erase(&self, purged: Purged) -> Result<Erasure, StoreError> {
        self.store.erase(purged).await
    }

    /// Advances the clock mark by this process's measurement.
    pub async fn advance_clock_mark(&self, reading: ClockReading) -> Result<ClockMark, StoreError> {
        self.store.advance_clock_mark(reading).await
    }

    /// The uptime of this process since a fixed point.
    pub fn uptime(&self) -> Duration {
        self.clock.uptime()
    }

    /// The time of the directory's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The live user with this id.
    pub async fn get(
        &self,
        _may: Permit<ReadUsers>,
        id: UserId,
    ) -> Result<Option<Stored>, StoreError> {
        self.store.get(id).await
    }

    /// One page of live users.
    pub async fn list(
        &self,
        _may: Permit<ReadUsers>,
        query: PageQuery,
    ) -> Result<Page, StoreError> {
        self.store.page(query).await
    }

    /// The ends of SCIM pages by index, if several processes share the store.
    pub fn walks(&self, _may: Permit<ReadUsers>) -> Option<&dyn WalkStore> {
        self.store.walks()
    }

    /// The operations on keys.
    pub fn keys(&self) -> KeyService {
        KeyService::new(self.store.clone(), Arc::clone(&self.clock), self.tenant)
    }

    /// The end of the change log, and the stored counters.
    pub async fn head(&self) -> Result<Head, StoreError> {
        self.store.head().await
    }

    /// How many reads of this process failed because of the disk or of damaged bytes.
    pub fn failed_reads(&self) -> u64 {
        self.store.failed_reads()
    }

    /// The size of the write-ahead log's file in bytes, if the engine has one.
    pub fn wal_bytes(&self) -> Option<u64> {
        self.store.wal_bytes()
    }

    /// How often a database failed the engine since the start.
    pub fn faults(&self) -> StoreFaults {
        self.store.faults()
    }

    /// Whether the store accepts writes.
    pub async fn health(&self) -> Result<(), StoreError> {
        self.store.health().await
    }

    /// The current rules.
    pub fn rules(&self) -> Rules {
        self.store.rules()
    }

    /// Creates a group with these members.
    pub async fn create_group(
        &self,
        _may: Permit<WriteUsers>,
        draft: GroupDraft,
        members: BTreeSet<UserId>,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        let (id, draft) = (self.clock.new_id(), Box::new(draft));
        self.execute(
            GroupAct::Create { id, draft, members, kinds: StatedKinds::new(), otherwise: None },
            terms,
        )
        .await
    }

    /// Changes a group, its members, or both at once.
    pub async fn change_group(
        &self,
        _may: Permit<WriteUsers>,
        id: GroupId,
        edit: GroupEdit,
        members: MembersEdit,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(GroupAct::Change { id, edit, members, kinds: StatedKinds::new() }, terms).await
    }

    /// Changes a group and its members by the result of a function.
    pub async fn edit_group(
        &self,
        _may: Permit<WriteUsers>,
        id: GroupId,
        edit: Edit<Group, (GroupEdit, MembersEdit)>,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(GroupAct::Edit { id, edit }, terms).await
    }

    /// Deletes a group permanently.
    pub async fn delete_group(
        &self,
        _may: Permit<WriteUsers>,
        id: GroupId,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        self.execute(GroupAct::Delete { id }, terms).await
    }

    /// The group with this id.
    pub async fn get_group(
        &self,
        _may: Permit<ReadUsers>,
        id: GroupId,
    ) -> Result<Option<Stored>, StoreError> {
        self.store.group(id).await
    }

    /// One page of groups.
    pub async fn list_groups(
        &self,
        _may: Permit<ReadUsers>,
        query: GroupQuery,
    ) -> Result<GroupPage, StoreError> {
        self.store.groups(query).await
    }

    /// One page of a group's direct members, with the group; `None` if the group does not exist.
    pub async fn list_members(
        &self,
        _may: Permit<ReadUsers>,
        query: MembersQuery,
    ) -> Result<Option<MembersPage>, StoreError> {
        self.store.members(query).await
    }

    /// The direct groups of these users.
    pub async fn groups_of(
        &self,
        _may: Permit<ReadUsers>,
        users: Vec<UserId>,
    ) -> Result<GroupsOf, StoreError> {
        self.store.groups_of(users).await
    }

    /// The groups that the user is a direct member of, and those that contain these, sorted. They
    /// are read level by level, so the result may contain a part of a concurrent change. Returns
    /// `None` if more than [`NESTED_MEMBERSHIPS_MAX`] memberships lead to them.
    pub async fn nested_groups_of(
        &self,
        _may: Permit<ReadUsers>,
        user: UserId,
    ) -> Result<Option<Vec<GroupId>>, StoreError> {
        let (mut found, mut front) = (BTreeSet::new(), vec![user]);
        let mut left = NESTED_MEMBERSHIPS_MAX;
        while !front.is_empty() {
            let mut next = Vec::new();
            for members in front.chunks(NESTED_AT_ONCE) {
                let groups = self.store.groups_of(members.to_vec()).await?;
                for group in groups.into_values().flatten() {
                    let Some(less) = left.checked_sub(1) else { return Ok(None) };
                    left = less;
                    if found.insert(group.id) {
                        next.push(group.id);
                    }
                }
            }
            front = next;
        }
        Ok(Some(found.into_iter().collect()))
    }

    /// The identity of the change log. A position that is read after this call is of this log or of
    /// a later one. As a position of this log, it is then rejected, but never wrong.
    pub fn log_id(&self) -> LogId {
        self.store.log_id()
    }

    /// Whether the log has all events up to this position of a former log.
    pub async fn has_former(&self, position: Position) -> Result<bool, StoreError> {
        let end = self.store.former_log_end(position.log).await?;
        Ok(end.is_some_and(|end| position.number <= end))
    }

    /// The secret that encrypts cursors.
    pub fn secret(&self) -> Secret {
        self.store.secret()
    }

    fn new_user(&self, draft: Draft, upsert: Upsert) -> UserAct {
        let id = draft.kept_id().unwrap_or_else(|| self.clock.new_id());
        UserAct::Create { id, draft: Box::new(draft), upsert }
    }

    async fn execute(&self, act: impl Into<Act>, terms: Terms) -> Result<Outcome, Failure> {
        let Terms { caller, preconditions, idempotency, mode, start } = terms;
        let (act, at) = (act.into(), self.clock.now());
        let command = Command { act, preconditions, at, caller, idempotency, start };
        if mode == Mode::DryRun {
            return self.store.preview(command).await;
        }
        let mut results = self.store.apply(vec![command]).await;
        results.pop().unwrap_or_else(|| {
            Err(Failure::Store(StoreError::Internal("the store returned no result".into())))
        })
    }
}
