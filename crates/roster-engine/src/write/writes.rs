//! The writes of a batch.

use std::{collections::BTreeMap, sync::Arc};

use indexmap::IndexMap;
use roster_core::{
    Change, Effect, Event, EventKind, GroupId, IndexDelta, Keys, Member, SearchKeys, Status,
    Stored, Timestamp, UserId, UserSchema, group::GroupChange,
};

use crate::write::idempotency::UNCHANGED;

/// Everything that a batch writes. An engine applies it in one transaction.
#[derive(Debug, Default)]
pub struct Writes {
    /// The users whose row in the collection changes, in the order of their first change.
    pub users: IndexMap<UserId, UserWrite>,
    /// The users whose row among the deleted users changes.
    pub deleted_users: IndexMap<UserId, DeletedWrite>,
    /// The events, in the order of the log.
    pub events: Vec<Arc<Event>>,
    /// The records of idempotency keys.
    pub idempotency: IndexMap<[u8; 32], NewIdempotencyRecord>,
    /// The purged users, each with the number of its event in the batch, counted from 1.
    pub purged: Vec<(UserId, i64)>,
    /// The groups.
    pub groups: GroupWrites,
    /// The changes of the stored counters.
    pub counts: Counts,
    /// The new schema of users.
    pub schema: Option<Arc<UserSchema>>,
}

/// The differences of the stored counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Active users.
    pub active: i64,
    /// Suspended users.
    pub suspended: i64,
    /// Deleted users that are stored.
    pub deleted: i64,
}

/// The changes of one user.
#[derive(Debug)]
pub struct UserWrite {
    first: Arc<Change>,
    last: Arc<Change>,
    /// The sum of the index deltas, if there are several changes.
    index: Option<IndexDelta>,
}

/// The row of a user among the deleted users.
#[derive(Debug)]
pub struct DeletedWrite {
    /// Whether there was a row before the batch.
    pub existed: bool,
    /// The row after the batch.
    pub row: Option<Arc<Change>>,
}

/// The record of an idempotency key that must be stored.
#[derive(Debug)]
pub struct NewIdempotencyRecord {
    /// A digest of the request without its key.
    pub fingerprint: [u8; 32],
    /// The time of the request.
    pub at: Timestamp,
    /// The effect of the request.
    pub effect: Effect,
    /// The user or group after it.
    pub stored: Stored,
    /// The number of events of this batch up to the result.
    pub nth: i64,
    /// Whether it replaces a record that is erased or whose result is no longer in the log.
    pub replaces_record: bool,
}

/// The groups that a batch writes.
#[derive(Debug, Default)]
pub struct GroupWrites {
    /// New groups.
    pub created: Vec<GroupWrite>,
    /// Groups that change.
    pub updated: BTreeMap<GroupId, GroupWrite>,
    /// Groups that are deleted, with all their memberships.
    pub deleted: Vec<GroupId>,
    /// New memberships.
    pub added: Vec<(GroupId, Member)>,
    /// Memberships that end.
    pub removed: Vec<(GroupId, UserId)>,
    /// The number of other memberships that were examined, or that end with their group.
    pub(crate) others: usize,
}

/// A written group.
#[derive(Debug)]
pub struct GroupWrite {
    /// The last change.
    pub change: GroupChange,
    /// The change of the number of members.
    pub members: i64,
    /// Whether its name or external id may change.
    pub changes_keys: bool,
}

impl NewIdempotencyRecord {
    /// The stored form of the effect, and the record. A record that a change wrote is in its event
    /// and not repeated here.
    pub fn effect_and_record(&self) -> (&'static str, Option<&[u8]>) {
        match self.effect {
            Effect::Changed(kind) => (kind.as_str(), None),
            Effect::Unchanged | Effect::Skipped => (UNCHANGED, Some(&self.stored.record)),
        }
    }
}

/// The keys of further addresses and numbers, and those in indexes, each with the number of its
/// kind.
pub fn further_keys(keys: &SearchKeys) -> impl Iterator<Item = (i16, &String)> {
    let emails = keys.emails.iter().map(|key| (0, key));
    let indexed = keys.indexed.iter().map(|(kind, key)| (*kind, key));
    emails.chain(keys.phone_numbers.iter().map(|key| (1, key))).chain(indexed)
}

/// The number of rows of search keys.
pub(crate) fn rows_of(keys: &SearchKeys) -> usize {
    keys.words.len() + further_keys(keys).count()
}

impl Writes {
    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.idempotency.is_empty()
    }

    pub(crate) fn event_count(&self) -> i64 {
        i64::try_from(self.events.len()).unwrap_or(i64::MAX)
    }

    pub(crate) fn change_user(&mut self, change: &Arc<Change>) {
        if let Some(write) = self.users.get_mut(&change.user.id) {
            write.add(change);
        } else {
            let (first, last) = (Arc::clone(change), Arc::clone(change));
            self.users.insert(change.user.id, UserWrite { first, last, index: None });
        }
        let before = live_keys_before(change).map(|keys| (keys.status, -1));
        let after = is_live_after(change).then_some((change.user.status, 1));
        for (status, difference) in before.into_iter().chain(after) {
            match status {
                Status::Active => self.counts.active += difference,
                Status::Suspended => self.counts.suspended += difference,
            }
        }
    }

    /// Sets or removes the row of a deleted user.
    pub(crate) fn change_deleted_user(&mut self, id: UserId, row: Option<Arc<Change>>) {
        self.counts.deleted += if row.is_some() { 1 } else { -1 };
        // A deletion adds a row, a restore or a purge removes one. So there was a row before the
        // batch if the first change of the batch removes it.
        let existed = row.is_none();
        let write = self.deleted_users.entry(id).or_insert(DeletedWrite { existed, row: None });
        write.row = row;
    }
}

impl UserWrite {
    fn add(&mut self, change: &Arc<Change>) {
        self.index = Some(self.index().then(&change.index));
        self.last = Arc::clone(change);
    }

    /// The user's keys before the batch; `None` if it was not in the collection.
    pub fn keys_before(&self) -> Option<&Keys> {
        live_keys_before(&self.first)
    }

    /// The user after the batch; `None` if it is not in the collection.
    pub fn after(&self) -> Option<&Arc<Change>> {
        is_live_after(&self.last).then_some(&self.last)
    }

    /// The changes of the rows of search keys.
    pub fn index(&self) -> &IndexDelta {
        self.index.as_ref().unwrap_or(&self.first.index)
    }
}

/// The keys before a change, if the user was in the collection.
pub(crate) fn live_keys_before(change: &Change) -> Option<&Keys> {
    let was_live = matches!(change.event.kind, EventKind::Updated | EventKind::Deleted);
    change.keys_before.as_ref().filter(|_| was_live)
}

pub(crate) fn is_live_after(change: &Change) -> bool {
    change.event.kind != EventKind::Deleted
}

impl GroupWrites {
    /// The number of memberships that are examined or changed.
    pub const fn memberships(&self) -> usize {
        self.added.len() + self.removed.len() + self.others
    }

    /// The change of the number of groups.
    pub fn count(&self) -> i64 {
        number(self.created.len()) - number(self.deleted.len())
    }

    pub(crate) fn add(&mut self, change: GroupChange) {
        let id = change.group.id;
        let members = number(change.added.len()) - number(change.removed.len());
        let changes_keys = !change.event.changed.is_empty();
        self.added.extend(change.added.iter().map(|member| (id, *member)));
        self.removed.extend(change.removed.iter().map(|member| (id, *member)));
        let write = GroupWrite { change, members, changes_keys };
        let kind = write.change.event.kind;
        if kind == EventKind::GroupCreated {
            self.created.push(write);
        } else if kind == EventKind::GroupDeleted {
            self.deleted.push(id);
        } else if let Some(earlier) = self.updated.get_mut(&id) {
            earlier.change = write.change;
            earlier.members += members;
            earlier.changes_keys |= changes_keys;
        } else {
            self.updated.insert(id, write);
        }
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
