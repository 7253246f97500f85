//! A single group, and the direct groups of users.

use roster_core::{
    Group, GroupId, Stored, UserId,
    group::{GroupRef, GroupsOf},
};
use uuid::Uuid;

use super::{group_of, stored_at};
use crate::{
    columns::{id_column, uuid},
    connect::Connection,
    pool::{Miss, Question},
};

pub(crate) const GET: &str = "SELECT id, version, record FROM groups WHERE id = $1";

/// The groups that some are direct members of, each with who that is.
pub(crate) const DIRECT: &str = "SELECT m.member_id, g.id, g.version, g.record \
     FROM group_members AS m JOIN groups AS g ON g.id = m.group_id \
     WHERE m.member_id = ANY($1)";

/// Asks for the group of an id.
pub(crate) struct OneGroup(pub(crate) GroupId);

impl Question for OneGroup {
    type Answer = Option<Stored>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        let get = connection.prepare(GET).await?;
        let row = connection.client().query_opt(&get, &[&uuid(self.0)]).await?;
        Ok(row.as_ref().map(|row| stored_at(row, 0)).transpose()?)
    }
}

/// Asks for the direct groups of users.
pub(crate) struct GroupsOfUsers(pub(crate) Vec<UserId>);

impl Question for GroupsOfUsers {
    type Answer = GroupsOf;

    async fn ask(&self, connection: &Connection) -> Result<GroupsOf, Miss> {
        let users: Vec<Uuid> = self.0.iter().copied().map(uuid).collect();
        let direct = connection.prepare(DIRECT).await?;
        let mut groups_of = GroupsOf::new();
        for row in connection.client().query(&direct, &[&users]).await? {
            let user = id_column(&row, 0, "group_members.member_id")?;
            let Group { id, display_name, .. } = group_of(&stored_at(&row, 1)?)?;
            groups_of.entry(user).or_default().push(GroupRef { id, display_name });
        }
        // They are few for each: sorted here, the statement needs no order.
        for groups in groups_of.values_mut() {
            groups.sort_unstable_by_key(|group| group.id);
        }
        Ok(groups_of)
    }
}
