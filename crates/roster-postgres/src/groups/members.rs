//! A page of a group's members.

use std::sync::Arc;

use roster_core::{
    Member, MemberKind, StoreError,
    group::{MembersPage, MembersQuery},
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::stored_at;
use crate::{
    columns::{column, corrupt, id_column, uuid},
    connect::Connection,
    query_error::QueryResult,
    reads,
    writer::SNAPSHOT,
};

pub(crate) const OF_MEMBERS: &str = "SELECT id, version, record, members FROM groups WHERE id = $1";

pub(crate) const MEMBERS: &str = "SELECT member_id, kind FROM group_members \
     WHERE group_id = $1 AND member_id > $2 ORDER BY group_id, member_id LIMIT $3";

/// A page of members; `None` if there is no such group.
pub(crate) async fn page(
    connection: Arc<Connection>,
    query: &MembersQuery,
) -> QueryResult<Option<MembersPage>> {
    let work = async {
        let group = uuid(query.group);
        let head = reads::head(&connection).await?;
        let Some(row) = connection.query_opt(OF_MEMBERS, &[&group]).await? else { return Ok(None) };
        let total: i64 = column(&row, 3, "groups.members")?;
        let mut page = MembersPage {
            group: stored_at(&row, 0)?,
            total: total.unsigned_abs(),
            items: Vec::new(),
            next: None,
            position: head.position,
        };
        if query.limit > 0 {
            let after = query.after.map_or(Uuid::nil(), uuid);
            let limit = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
            let rows = connection.query(MEMBERS, &[&group, &after, &limit]).await?;
            page.items = rows.iter().take(query.limit).map(member).collect::<Result<_, _>>()?;
            let more = rows.len() > query.limit;
            page.next = page.items.last().filter(|_| more).map(|last| last.id);
        }
        Ok(Some(page))
    };
    connection.transaction(SNAPSHOT, work).await
}

fn member(row: &Row) -> Result<Member, StoreError> {
    let kind = match column(row, 1, "group_members.kind")? {
        0_i16 => MemberKind::User,
        1 => MemberKind::Group,
        _ => return Err(corrupt("group_members.kind")),
    };
    Ok(Member { id: id_column(row, 0, "group_members.member_id")?, kind })
}
