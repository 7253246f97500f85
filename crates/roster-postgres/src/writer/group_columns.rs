//! Rows of groups and memberships, turned into columns: each is one parameter.

use roster_core::{GroupId, Member, MemberKind, StoreError, UserId};
use roster_engine::{GroupWrite, GroupWrites};
use uuid::Uuid;

use super::{
    columns::{Parameters, text},
    sql,
};
use crate::columns::uuid;

/// The groups that a batch writes.
pub(super) struct GroupColumns<'w> {
    created: Groups<'w>,
    updated: Groups<'w>,
    deleted: Vec<Uuid>,
    added: Memberships,
    removed: Memberships,
    count: i64,
}

impl<'w> GroupColumns<'w> {
    pub(super) fn of(writes: &'w GroupWrites) -> Result<Self, StoreError> {
        Ok(Self {
            created: Groups::of(writes.created.iter())?,
            updated: Groups::of(writes.updated.values())?,
            deleted: writes.deleted.iter().copied().map(uuid).collect(),
            added: Memberships::added(&writes.added),
            removed: Memberships::removed(&writes.removed),
            count: writes.count(),
        })
    }

    /// The statements in their order, each with whether it has any row.
    pub(super) fn steps(&self) -> [(&'static str, bool, Parameters<'_>); 7] {
        let Self { created, updated, deleted, added, removed, count } = self;
        [
            (sql::REMOVE_MEMBERSHIPS, !removed.is_empty(), removed.pairs()),
            (sql::DELETE_MEMBERSHIPS_OF_GROUPS, !deleted.is_empty(), vec![deleted]),
            (sql::DELETE_GROUPS, !deleted.is_empty(), vec![deleted]),
            (sql::UPDATE_GROUPS, !updated.is_empty(), updated.parameters()),
            (sql::CREATE_GROUPS, !created.is_empty(), created.parameters()),
            (sql::ADD_MEMBERSHIPS, !added.is_empty(), added.rows()),
            (sql::COUNT_GROUPS, *count != 0, vec![count]),
        ]
    }
}

/// Rows of `groups`.
#[derive(Default)]
struct Groups<'w> {
    ids: Vec<Uuid>,
    versions: Vec<i64>,
    members: Vec<i64>,
    names: Vec<Vec<u8>>,
    external_ids: Vec<Option<&'w [u8]>>,
    records: Vec<&'w str>,
}

impl<'w> Groups<'w> {
    fn of(writes: impl Iterator<Item = &'w GroupWrite>) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for GroupWrite { change, members, .. } in writes {
            let group = &change.group;
            columns.records.push(text(&change.record)?);
            columns.ids.push(uuid(group.id));
            columns.versions.push(group.version);
            columns.members.push(*members);
            columns.names.push(group.name_key().into_bytes());
            columns.external_ids.push(group.external_id.as_deref().map(str::as_bytes));
        }
        Ok(columns)
    }

    const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn parameters(&self) -> Parameters<'_> {
        vec![
            &self.ids,
            &self.versions,
            &self.members,
            &self.names,
            &self.external_ids,
            &self.records,
        ]
    }
}

/// Rows of `group_members`.
#[derive(Default)]
struct Memberships {
    groups: Vec<Uuid>,
    members: Vec<Uuid>,
    kinds: Vec<i16>,
}

impl Memberships {
    fn added(added: &[(GroupId, Member)]) -> Self {
        let kind = |kind| match kind {
            MemberKind::User => 0,
            MemberKind::Group => 1,
        };
        Self {
            groups: added.iter().map(|(group, _)| uuid(*group)).collect(),
            members: added.iter().map(|(_, member)| uuid(member.id)).collect(),
            kinds: added.iter().map(|(_, member)| kind(member.kind)).collect(),
        }
    }

    fn removed(removed: &[(GroupId, UserId)]) -> Self {
        Self {
            groups: removed.iter().map(|(group, _)| uuid(*group)).collect(),
            members: removed.iter().map(|(_, member)| uuid(*member)).collect(),
            kinds: Vec::new(),
        }
    }

    const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Group and member alone.
    fn pairs(&self) -> Parameters<'_> {
        vec![&self.groups, &self.members]
    }

    fn rows(&self) -> Parameters<'_> {
        vec![&self.groups, &self.members, &self.kinds]
    }
}
