//! Group commands: each is a transaction of its own.
//!
//! Whoever changes groups, and whoever deletes users, locks the one row of `groups_head` before
//! anything else and holds it until the commit. So who belongs to what stands still while a
//! command is judged, nobody joins who is being deleted, and no two changes make a circle together.

mod attempt;
mod columns;
pub(crate) mod judge;
mod preview;

pub(super) use attempt::attempt;
pub(super) use columns::GroupColumns;
pub(crate) use preview::PreviewGroup;

use std::collections::BTreeMap;

use roster_core::{EventKind, GroupId, Member, UserId, group::GroupChange};

/// The lock of all that changes groups.
pub(crate) const LOCK: &str = "SELECT total FROM groups_head WHERE id = 1 FOR UPDATE";

pub(crate) const CREATE: &str = "INSERT INTO groups \
     (id, version, members, name_key, external_id, record) \
     SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], \
     $6::text[])";

pub(crate) const REPLACE: &str = "UPDATE groups SET version = new.version, \
     members = groups.members + new.more, name_key = new.name_key, \
     external_id = new.external_id, record = new.record \
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::text[]) \
     AS new (id, version, more, name_key, external_id, record) WHERE groups.id = new.id";

pub(crate) const DELETE: &str = "DELETE FROM groups WHERE id = ANY($1)";

pub(crate) const EMPTY: &str = "DELETE FROM group_members WHERE group_id = ANY($1)";

pub(crate) const JOIN: &str = "INSERT INTO group_members (group_id, member_id, kind) \
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[])";

pub(crate) const LEAVE: &str = "DELETE FROM group_members \
     USING unnest($1::uuid[], $2::uuid[]) AS gone (group_id, member_id) \
     WHERE group_members.member_id = gone.member_id \
     AND group_members.group_id BETWEEN gone.group_id AND gone.group_id";

pub(crate) const COUNT: &str = "UPDATE groups_head SET total = total + $1 WHERE id = 1";

/// What a transaction makes of groups.
#[derive(Debug, Default)]
pub(crate) struct GroupWrites {
    pub(super) created: Vec<Written>,
    pub(super) replaced: BTreeMap<GroupId, Written>,
    pub(super) deleted: Vec<GroupId>,
    pub(super) joined: Vec<(GroupId, Member)>,
    pub(super) left: Vec<(GroupId, UserId)>,
    /// How many groups more there are.
    pub(super) more: i64,
}

/// A group that is written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) change: GroupChange,
    /// How many members more it has.
    pub(super) more: i64,
}

impl GroupWrites {
    /// Notes the rows of a change; its event is not known here.
    pub(super) fn add(&mut self, change: GroupChange) {
        let id = change.group.id;
        let count = |of: usize| i64::try_from(of).unwrap_or(i64::MAX);
        let more = count(change.added.len()) - count(change.removed.len());
        self.joined.extend(change.added.iter().map(|member| (id, *member)));
        self.left.extend(change.removed.iter().map(|member| (id, *member)));
        match change.event.kind {
            EventKind::GroupCreated => {
                self.more += 1;
                self.created.push(Written { change, more });
            }
            EventKind::GroupDeleted => {
                self.more -= 1;
                self.deleted.push(id);
            }
            EventKind::GroupUpdated
            | EventKind::Created
            | EventKind::Updated
            | EventKind::Deleted
            | EventKind::Restored
            | EventKind::Purged => {
                let before = self.replaced.remove(&id).map_or(0, |written| written.more);
                self.replaced.insert(id, Written { change, more: before + more });
            }
        }
    }
}
