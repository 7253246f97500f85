//! A page of groups, and how many meet its conditions.
//!
//! A name has one group, a member has few and ids are few: where one of them is asked for, all
//! groups that it leads to are looked at and the other conditions tested on them. Else the page is
//! read along the index of the external id, or of the ids.

use std::sync::Arc;

use std::collections::BTreeSet;

use roster_core::{
    Group, Stored, UserId,
    group::{GroupPage, GroupQuery},
    limits::TOTAL_EXACT_MAX,
    list::Total,
};
use uuid::Uuid;

use super::{group_of, stored_at};
use crate::{
    columns::{column, corrupt, id_column, uuid},
    connect::{Connection, Params},
    query_error::QueryResult,
    reads,
    writer::SNAPSHOT,
};

pub(crate) const TOTAL: &str = "SELECT total FROM groups_head WHERE id = 1";

pub(crate) const BY_IDS: &str = "SELECT id, version, record FROM groups WHERE id = ANY($1)";

pub(crate) const BY_NAME: &str = "SELECT id, version, record FROM groups WHERE name_key = $1";

pub(crate) const BY_MEMBER: &str = "SELECT g.id, g.version, g.record \
     FROM group_members AS m JOIN groups AS g ON g.id = m.group_id WHERE m.member_id = $1";

/// The groups of somebody, to test others by.
pub(crate) const OF_MEMBER: &str = "SELECT group_id FROM group_members WHERE member_id = $1";

pub(crate) const BY_EXTERNAL_ID: &str = "SELECT id, version, record FROM groups \
     WHERE external_id = $3 AND id > $1 ORDER BY external_id, id LIMIT $2";

pub(crate) const COUNT_BY_EXTERNAL_ID: &str = "SELECT count(*) FROM (SELECT FROM groups \
     WHERE external_id = $1 ORDER BY external_id, id LIMIT 10001) AS met";

pub(crate) const ALL: &str =
    "SELECT id, version, record FROM groups WHERE id > $1 ORDER BY id LIMIT $2";

/// A page of groups.
pub(crate) async fn page(
    connection: Arc<Connection>,
    query: &GroupQuery,
) -> QueryResult<GroupPage> {
    let work = async {
        let head = reads::head(&connection).await?;
        let (met, total) = match few(&connection, query).await? {
            Some(mut met) => {
                let total = u64::try_from(met.len()).unwrap_or(u64::MAX);
                met.retain(|stored| query.after.is_none_or(|after| stored.id > after));
                (met, Some(Total::Exactly(total)))
            }
            None => along(&connection, query).await?,
        };
        let total = total.filter(|_| query.count);
        Ok((GroupPage { items: Vec::new(), next: None, position: head.position, total }, met))
    };
    let (mut page, met) = connection.transaction(SNAPSHOT, work).await?;
    let mut bytes = 0;
    for stored in met {
        if page.items.len() >= query.limit || bytes >= query.bytes_max {
            page.next = page.items.last().map(|last| last.id);
            break;
        }
        bytes += stored.record.len();
        page.items.push(stored);
    }
    Ok(page)
}

/// All groups that meet the conditions, in the order of ids, where one of these leads to few.
async fn few(connection: &Connection, query: &GroupQuery) -> QueryResult<Option<Vec<Stored>>> {
    let rows = if let Some(ids) = &query.ids {
        let ids: Vec<Uuid> = ids.iter().copied().map(uuid).collect();
        connection.query(BY_IDS, &[&ids]).await?
    } else if let Some(key) = &query.name_key {
        connection.query(BY_NAME, &[&key.as_bytes()]).await?
    } else if let Some(member) = query.member {
        connection.query(BY_MEMBER, &[&uuid(member)]).await?
    } else {
        return Ok(None);
    };
    let of_member = match query.member {
        Some(member) => Some(groups_of(connection, member).await?),
        None => None,
    };
    let mut met = Vec::with_capacity(rows.len());
    for row in &rows {
        let stored = stored_at(row, 0)?;
        let group = group_of(&stored)?;
        let belongs = of_member.as_ref().is_none_or(|groups| groups.contains(&group.id));
        if belongs && meets(&group, query) {
            met.push(stored);
        }
    }
    met.sort_unstable_by_key(|stored| stored.id);
    Ok(Some(met))
}

fn meets(group: &Group, query: &GroupQuery) -> bool {
    query.name_key.as_ref().is_none_or(|key| group.name_key() == *key)
        && (query.external_id.is_none() || group.external_id == query.external_id)
}

async fn groups_of(connection: &Connection, member: UserId) -> QueryResult<BTreeSet<UserId>> {
    let rows = connection.query(OF_MEMBER, &[&uuid(member)]).await?;
    Ok(rows
        .iter()
        .map(|row| id_column(row, 0, "group_members.group_id"))
        .collect::<Result<_, _>>()?)
}

/// The groups of a page, and one more, along an index; and how many there are.
async fn along(
    connection: &Connection,
    query: &GroupQuery,
) -> QueryResult<(Vec<Stored>, Option<Total>)> {
    let after = query.after.map_or(Uuid::nil(), uuid);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
    let (rows, total) = if let Some(id) = &query.external_id {
        let id = id.as_bytes();
        let rows = connection.query(BY_EXTERNAL_ID, &[&after, &limit, &id]).await?;
        (rows, count(connection, query, COUNT_BY_EXTERNAL_ID, &[&id]).await?)
    } else {
        let rows = connection.query(ALL, &[&after, &limit]).await?;
        (rows, count(connection, query, TOTAL, &[]).await?)
    };
    let total = total.map(|total| {
        let is_whole = total <= TOTAL_EXACT_MAX || query.is_unconditional();
        if is_whole { Total::Exactly(total) } else { Total::AtLeast(TOTAL_EXACT_MAX) }
    });
    let stored: Result<Vec<Stored>, _> = rows.iter().map(|row| stored_at(row, 0)).collect();
    Ok((stored?, total))
}

async fn count(
    connection: &Connection,
    query: &GroupQuery,
    sql: &str,
    params: Params<'_>,
) -> QueryResult<Option<u64>> {
    if !query.count {
        return Ok(None);
    }
    let row = connection.query_opt(sql, params).await?.ok_or_else(|| corrupt("groups_head"))?;
    let count: i64 = column(&row, 0, "groups_head.total")?;
    Ok(Some(count.unsigned_abs()))
}
