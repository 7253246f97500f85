//! Reading groups, their members, and the groups of users.
//!
//! A page takes several statements in one snapshot. A single group and the groups of users are one
//! statement each.

pub(crate) mod members;
pub(crate) mod page;

use std::sync::Arc;

use roster_core::{
    Group, GroupId, StoreError, Stored, UserId,
    group::{GroupRef, GroupsOf},
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    columns::{column, corrupt, id_column, record_column, uuid},
    connect::Connection,
    query_error::QueryResult,
};

pub(crate) const GET: &str = "SELECT id, version, record FROM groups WHERE id = $1";

/// The groups that some are direct members of, each with who that is.
pub(crate) const DIRECT: &str = "SELECT m.member_id, g.id, g.version, g.record \
     FROM group_members AS m JOIN groups AS g ON g.id = m.group_id \
     WHERE m.member_id = ANY($1)";

/// The group of an id.
pub(crate) async fn group(connection: Arc<Connection>, id: GroupId) -> QueryResult<Option<Stored>> {
    let row = connection.query_opt(GET, &[&uuid(id)]).await?;
    Ok(row.as_ref().map(|row| stored_at(row, 0)).transpose()?)
}

/// The direct groups of users.
pub(crate) async fn groups_of(
    connection: Arc<Connection>,
    users: &[UserId],
) -> QueryResult<GroupsOf> {
    let users: Vec<Uuid> = users.iter().copied().map(uuid).collect();
    let mut groups_of = GroupsOf::new();
    for row in connection.query(DIRECT, &[&users]).await? {
        let user = id_column(&row, 0, "group_members.member_id")?;
        let Group { id, display_name, .. } = group_of(&stored_at(&row, 1)?)?;
        groups_of.entry(user).or_default().push(GroupRef { id, display_name });
    }
    // A user has few groups. They are sorted here, so that the statement needs no order.
    for groups in groups_of.values_mut() {
        groups.sort_unstable_by_key(|group| group.id);
    }
    Ok(groups_of)
}

/// A group of a row whose columns from that one on are id, version and record.
pub(crate) fn stored_at(row: &Row, first: usize) -> Result<Stored, StoreError> {
    let id = id_column(row, first, "groups.id")?;
    let version = column(row, first + 1, "groups.version")?;
    let record = record_column(row, first + 2, "groups.record")?;
    Ok(Stored { id, version, record })
}

/// The group of a stored record.
pub(crate) fn group_of(stored: &Stored) -> Result<Group, StoreError> {
    Group::from_record(&stored.record)
        .map_err(|fault| corrupt(&format!("groups.record of {}, {}", stored.id, fault.member)))
}
