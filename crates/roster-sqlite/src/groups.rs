//! Reading groups, their members, and the groups of users.
//!
//! Each page is read in one snapshot with the head of the log. Whatever leads a page has an index,
//! and what is counted has a bound.

use roster_core::{
    Group, GroupId, Member, MemberKind, Stored, UserId,
    group::{GroupPage, GroupQuery, GroupRef, GroupsOf, MembersPage, MembersQuery},
    limits::TOTAL_EXACT_MAX,
    list::Total,
};
use rusqlite::{CachedStatement, Connection, Row};

use crate::{
    columns::{corrupt, id_of, record_of},
    failure::ReadResult,
    page::head,
};

pub(crate) const GET: &str = "SELECT id, version, record, members FROM groups WHERE id = ?1";

pub(crate) const TOTAL: &str = "SELECT total FROM groups_head WHERE id = 1";

/// Stepped row by row: a bound limit would plan the statement anew.
pub(crate) const MEMBERS: &str = "SELECT member_id, kind FROM group_members \
     WHERE group_id = ?1 AND member_id > ?2 ORDER BY member_id";

pub(crate) const GROUPS_OF: &str = "SELECT g.id, g.version, g.record \
     FROM group_members AS m INDEXED BY group_members_member \
     CROSS JOIN groups AS g WHERE m.member_id = ?1 AND g.id = m.group_id ORDER BY m.group_id";

/// The group of that id, with the number of its members.
pub(crate) fn get(connection: &Connection, id: GroupId) -> ReadResult<Option<(Stored, u64)>> {
    let mut statement = connection.prepare_cached(GET)?;
    let with_count = |row: &Row<'_>| Ok((stored(row)?, row.get::<_, i64>(3)?.unsigned_abs()));
    statement.query_and_then([id.as_bytes()], with_count)?.next().transpose()
}

/// The number of a kind.
pub(crate) const fn kind_number(kind: MemberKind) -> i64 {
    match kind {
        MemberKind::User => 0,
        MemberKind::Group => 1,
    }
}

/// A row whose first columns are id, version and record.
fn stored(row: &Row<'_>) -> ReadResult<Stored> {
    let record = record_of(row, 2, "groups.record")?;
    Ok(Stored { id: id_of(row, 0, "groups.id")?, version: row.get(1)?, record })
}

/// The rows that a query is about: parameter 1 is the id after which they begin, or the one id
/// that is looked for; 2 the name, 3 the external id, 4 the member. The first of these conditions
/// has its index named: ids, name, member, external id.
fn from(query: &GroupQuery) -> String {
    let (ids, name) = (query.ids.is_some(), query.name_key.is_some());
    let (member, external_id) = (query.member.is_some(), query.external_id.is_some());
    let (table, id) = if ids {
        ("groups AS g WHERE g.id = ?1", "g.id")
    } else if name {
        ("groups AS g INDEXED BY groups_name WHERE g.name_key = ?2 AND g.id > ?1", "g.id")
    } else if member {
        (
            "group_members AS m INDEXED BY group_members_member CROSS JOIN groups AS g \
             WHERE m.member_id = ?4 AND m.group_id > ?1 AND g.id = m.group_id",
            "m.group_id",
        )
    } else if external_id {
        ("groups AS g INDEXED BY groups_external_id WHERE g.external_id = ?3 AND g.id > ?1", "g.id")
    } else {
        ("groups AS g WHERE g.id > ?1", "g.id")
    };
    let mut from = table.to_owned();
    if name && ids {
        from.push_str(" AND g.name_key = ?2");
    }
    if external_id && (ids || name || member) {
        from.push_str(" AND g.external_id = ?3");
    }
    if member && (ids || name) {
        from.push_str(
            " AND EXISTS (SELECT 1 FROM group_members AS of \
             WHERE of.group_id = g.id AND of.member_id = ?4)",
        );
    }
    format!("{from} ORDER BY {id}")
}

/// The statement of a page's rows.
pub(crate) fn rows_sql(query: &GroupQuery) -> String {
    format!("SELECT g.id, g.version, g.record FROM {}", from(query))
}

/// The statement that counts up to a bound.
pub(crate) fn count_sql(query: &GroupQuery) -> String {
    let most = TOTAL_EXACT_MAX + 1;
    format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {most})", from(query))
}

fn bind(
    statement: &mut CachedStatement<'_>,
    query: &GroupQuery,
    after: &[u8],
) -> rusqlite::Result<()> {
    // A statement has those alone that it names.
    let most = statement.parameter_count();
    statement.raw_bind_parameter(1, after)?;
    for (number, text) in [(2, &query.name_key), (3, &query.external_id)] {
        if let Some(text) = text {
            statement.raw_bind_parameter(number, text)?;
        }
    }
    match query.member {
        Some(member) if most >= 4 => statement.raw_bind_parameter(4, member.as_bytes()),
        _ => Ok(()),
    }
}

/// Reads a page.
pub(crate) fn page(connection: &Connection, query: &GroupQuery) -> ReadResult<GroupPage> {
    head::in_snapshot(connection, |head| {
        let total = query.count.then(|| total(connection, query)).transpose()?;
        let mut page = GroupPage { items: Vec::new(), next: None, position: head.position, total };
        let mut statement = connection.prepare_cached(&rows_sql(query))?;
        let mut bytes = 0;
        for start in starts(query) {
            bind(&mut statement, query, &start)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                if page.items.len() >= query.limit || bytes >= query.bytes_max {
                    page.next = page.items.last().map(|last| last.id);
                    return Ok(page);
                }
                let stored = stored(row)?;
                bytes += stored.record.len();
                page.items.push(stored);
            }
        }
        Ok(page)
    })
}

/// What parameter 1 is bound to, one after the other: each id that is looked for, or the place
/// after which the page begins.
fn starts(query: &GroupQuery) -> Vec<Vec<u8>> {
    let behind = |id: &&GroupId| query.after.is_none_or(|after| **id > after);
    match &query.ids {
        Some(ids) => ids.iter().filter(behind).map(|id| id.as_bytes().to_vec()).collect(),
        None => vec![query.after.map(|after| after.as_bytes().to_vec()).unwrap_or_default()],
    }
}

/// How many groups there are.
fn all(connection: &Connection) -> ReadResult<u64> {
    let mut statement = connection.prepare_cached(TOTAL)?;
    let total: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(total.unsigned_abs())
}

fn total(connection: &Connection, query: &GroupQuery) -> ReadResult<Total> {
    if query.is_unconditional() {
        return Ok(Total::Exactly(all(connection)?));
    }
    let whole = GroupQuery { after: None, ..query.clone() };
    let mut statement = connection.prepare_cached(&count_sql(query))?;
    let mut total = 0;
    for start in starts(&whole) {
        bind(&mut statement, query, &start)?;
        let mut rows = statement.raw_query();
        let row = rows.next()?.ok_or_else(|| corrupt("groups"))?;
        let counted: i64 = row.get(0)?;
        total += counted.unsigned_abs();
    }
    let bounded = total <= TOTAL_EXACT_MAX;
    Ok(if bounded { Total::Exactly(total) } else { Total::AtLeast(TOTAL_EXACT_MAX) })
}

/// Reads a page of members, with the group.
pub(crate) fn members(
    connection: &Connection,
    query: &MembersQuery,
) -> ReadResult<Option<MembersPage>> {
    head::in_snapshot(connection, |head| {
        let Some((group, total)) = get(connection, query.group)? else { return Ok(None) };
        let (items, position) = (Vec::new(), head.position);
        let mut page = MembersPage { group, total, items, next: None, position };
        let mut statement = connection.prepare_cached(MEMBERS)?;
        let after = query.after.map(|after| after.as_bytes().to_vec()).unwrap_or_default();
        let mut rows = statement.query((query.group.as_bytes(), after))?;
        while query.limit > 0
            && let Some(row) = rows.next()?
        {
            if page.items.len() >= query.limit {
                page.next = page.items.last().map(|last| last.id);
                break;
            }
            page.items.push(member(row)?);
        }
        Ok(Some(page))
    })
}

fn member(row: &Row<'_>) -> ReadResult<Member> {
    let id = id_of(row, 0, "group_members.member_id")?;
    let kind = match row.get(1)? {
        0_i64 => MemberKind::User,
        1 => MemberKind::Group,
        _ => return Err(corrupt("group_members.kind").into()),
    };
    Ok(Member { id, kind })
}

/// The direct groups of users, if that is no more than so many memberships.
pub(crate) fn groups_of(
    connection: &Connection,
    users: &[UserId],
    most: usize,
) -> ReadResult<Option<GroupsOf>> {
    // Who keeps no groups pays for none.
    if all(connection)? == 0 {
        return Ok(Some(GroupsOf::new()));
    }
    head::in_snapshot(connection, |_| {
        let (mut groups_of, mut left) = (GroupsOf::new(), most);
        let mut statement = connection.prepare_cached(GROUPS_OF)?;
        for user in users {
            let mut rows = statement.query([user.as_bytes()])?;
            let mut groups = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(rest) = left.checked_sub(1) else { return Ok(None) };
                left = rest;
                let Group { id, display_name, .. } = group_of(&stored(row)?)?;
                groups.push(GroupRef { id, display_name });
            }
            if !groups.is_empty() {
                groups_of.insert(*user, groups);
            }
        }
        Ok(Some(groups_of))
    })
}

/// The groups that a user or group is a direct member of.
pub(crate) fn direct(connection: &Connection, member: UserId) -> ReadResult<Vec<Group>> {
    let mut statement = connection.prepare_cached(GROUPS_OF)?;
    statement.query_and_then([member.as_bytes()], |row| group_of(&stored(row)?))?.collect()
}

/// The group of a stored record.
pub(crate) fn group_of(stored: &Stored) -> ReadResult<Group> {
    let corrupt = |member| corrupt(&format!("groups.record of {}, {member}", stored.id));
    Group::from_record(&stored.record).map_err(|fault| corrupt(fault.member).into())
}
