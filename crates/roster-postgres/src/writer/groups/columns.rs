//! Rows of groups and memberships, turned into columns: each is one parameter.

use roster_core::{GroupId, Member, MemberKind, StoreError, UserId};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{COUNT, CREATE, DELETE, EMPTY, GroupWrites, JOIN, LEAVE, REPLACE, Written};
use crate::{columns::uuid, writer::columns::text};

type Parameters<'a> = Vec<&'a (dyn ToSql + Sync)>;

/// All that a transaction makes of groups, as columns.
pub(in crate::writer) struct GroupColumns<'w> {
    created: Groups<'w>,
    replaced: Groups<'w>,
    gone: Vec<Uuid>,
    joined: Memberships,
    left: Memberships,
    more: i64,
}

impl<'w> GroupColumns<'w> {
    pub(in crate::writer) fn of(writes: &'w GroupWrites) -> Result<Self, StoreError> {
        Ok(Self {
            created: Groups::of(writes.created.iter())?,
            replaced: Groups::of(writes.replaced.values())?,
            gone: writes.deleted.iter().copied().map(uuid).collect(),
            joined: Memberships::joined(&writes.joined),
            left: Memberships::left(&writes.left),
            more: writes.more,
        })
    }

    /// The statements in their order, each with whether there is anything to do for it.
    pub(in crate::writer) fn steps(&self) -> [(&'static str, bool, Parameters<'_>); 7] {
        let Self { created, replaced, gone, joined, left, more } = self;
        [
            (LEAVE, !left.is_empty(), left.pairs()),
            (EMPTY, !gone.is_empty(), vec![gone]),
            (DELETE, !gone.is_empty(), vec![gone]),
            (REPLACE, !replaced.is_empty(), replaced.parameters()),
            (CREATE, !created.is_empty(), created.parameters()),
            (JOIN, !joined.is_empty(), joined.rows()),
            (COUNT, *more != 0, vec![more]),
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
    fn of(written: impl Iterator<Item = &'w Written>) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for Written { change, more } in written {
            let group = &change.group;
            columns.records.push(text(&change.record)?);
            columns.ids.push(uuid(group.id));
            columns.versions.push(group.version);
            columns.members.push(*more);
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
    fn joined(joined: &[(GroupId, Member)]) -> Self {
        let kind = |kind| match kind {
            MemberKind::User => 0,
            MemberKind::Group => 1,
        };
        Self {
            groups: joined.iter().map(|(group, _)| uuid(*group)).collect(),
            members: joined.iter().map(|(_, member)| uuid(member.id)).collect(),
            kinds: joined.iter().map(|(_, member)| kind(member.kind)).collect(),
        }
    }

    fn left(left: &[(GroupId, UserId)]) -> Self {
        Self {
            groups: left.iter().map(|(group, _)| uuid(*group)).collect(),
            members: left.iter().map(|(_, member)| uuid(*member)).collect(),
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
