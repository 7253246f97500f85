//! Reading groups, their members, and the groups of users.
//!
//! Each page is read in one snapshot with the head of the log. Whatever leads a page has an index,
//! and what is counted has a bound.

use bytes::Bytes;
use roster_core::{
    Group, GroupId, Member, MemberKind, StoreError, Stored, UserId,
    group::{GroupPage, GroupQuery, GroupRef, GroupsOf, MembersPage, MembersQuery},
    limits::TOTAL_EXACT_MAX,
    list::Total,
};
use rusqlite::{CachedStatement, Connection, Row};

use crate::{
    columns::{corrupt, id_of, text_of},
    failure::store_error,
    page::head,
};

pub(crate) const GET: &str = "SELECT id, version, record FROM groups WHERE id = ?1";

pub(crate) const GET_WITH_COUNT: &str =
    "SELECT id, version, record, members FROM groups WHERE id = ?1";

pub(crate) const TOTAL: &str = "SELECT total FROM groups_head WHERE id = 1";

/// Stepped row by row: a bound limit would plan the statement anew.
pub(crate) const MEMBERS: &str = "SELECT member_id, kind FROM group_members \
     WHERE group_id = ?1 AND member_id > ?2 ORDER BY member_id";

pub(crate) const GROUPS_OF: &str = "SELECT g.id, g.version, g.record \
     FROM group_members AS m INDEXED BY group_members_member \
     CROSS JOIN groups AS g WHERE m.member_id = ?1 AND g.id = m.group_id ORDER BY m.group_id";

/// The group of that id.
pub(crate) fn get(connection: &Connection, id: GroupId) -> Result<Option<Stored>, StoreError> {
    let mut statement = connection.prepare_cached(GET).map_err(store_error)?;
    let mut rows = statement.query([id.as_bytes()]).map_err(store_error)?;
    rows.next().map_err(store_error)?.map(stored).transpose()
}

/// The group of that id, with the number of its members.
pub(crate) fn get_with_count(
    connection: &Connection,
    id: GroupId,
) -> Result<Option<(Stored, u64)>, StoreError> {
    let mut statement = connection.prepare_cached(GET_WITH_COUNT).map_err(store_error)?;
    let mut rows = statement.query([id.as_bytes()]).map_err(store_error)?;
    let Some(row) = rows.next().map_err(store_error)? else { return Ok(None) };
    let members: i64 = row.get(3).map_err(store_error)?;
    Ok(Some((stored(row)?, members.unsigned_abs())))
}

/// The number of a kind.
pub(crate) const fn kind_number(kind: MemberKind) -> i64 {
    match kind {
        MemberKind::User => 0,
        MemberKind::Group => 1,
    }
}

/// A row whose first columns are id, version and record.
fn stored(row: &Row<'_>) -> Result<Stored, StoreError> {
    let column = |index: usize| row.get_ref(index).map_err(store_error);
    let id = id_of(column(0)?, "groups.id")?;
    let version = row.get(1).map_err(store_error)?;
    let record = Bytes::copy_from_slice(text_of(column(2)?, "groups.record")?);
    Ok(Stored { id, version, record })
}

/// What leads a page of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    Ids,
    Name,
    Member,
    ExternalId,
    All,
}

impl Lead {
    pub(crate) fn of(query: &GroupQuery) -> Self {
        if query.ids.is_some() {
            Self::Ids
        } else if query.name_key.is_some() {
            Self::Name
        } else if query.member.is_some() {
            Self::Member
        } else if query.external_id.is_some() {
            Self::ExternalId
        } else {
            Self::All
        }
    }
}

/// The rows that a query is about: parameter 1 is the place after which they stand, or the one id
/// that is looked for; 2 the name, 3 the external id, 4 the member.
pub(crate) fn from(lead: Lead, query: &GroupQuery) -> String {
    let (table, id) = match lead {
        Lead::Ids => ("groups AS g WHERE g.id = ?1", "g.id"),
        Lead::Name => {
            ("groups AS g INDEXED BY groups_name WHERE g.name_key = ?2 AND g.id > ?1", "g.id")
        }
        Lead::Member => (
            "group_members AS m INDEXED BY group_members_member CROSS JOIN groups AS g \
             WHERE m.member_id = ?4 AND m.group_id > ?1 AND g.id = m.group_id",
            "m.group_id",
        ),
        Lead::ExternalId => (
            "groups AS g INDEXED BY groups_external_id WHERE g.external_id = ?3 AND g.id > ?1",
            "g.id",
        ),
        Lead::All => ("groups AS g WHERE g.id > ?1", "g.id"),
    };
    let mut from = table.to_owned();
    if query.name_key.is_some() && lead != Lead::Name {
        from.push_str(" AND g.name_key = ?2");
    }
    if query.external_id.is_some() && lead != Lead::ExternalId {
        from.push_str(" AND g.external_id = ?3");
    }
    if query.member.is_some() && lead != Lead::Member {
        from.push_str(
            " AND EXISTS (SELECT 1 FROM group_members AS of \
             WHERE of.group_id = g.id AND of.member_id = ?4)",
        );
    }
    format!("{from} ORDER BY {id}")
}

/// The statement of a page's rows.
pub(crate) fn rows_sql(lead: Lead, query: &GroupQuery) -> String {
    format!("SELECT g.id, g.version, g.record FROM {}", from(lead, query))
}

/// The statement that counts up to a bound.
pub(crate) fn count_sql(lead: Lead, query: &GroupQuery) -> String {
    let most = TOTAL_EXACT_MAX + 1;
    format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {most})", from(lead, query))
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
pub(crate) fn page(connection: &Connection, query: &GroupQuery) -> Result<GroupPage, StoreError> {
    head::in_snapshot(connection, |head| {
        let total = query.count.then(|| total(connection, query)).transpose()?;
        let mut page = GroupPage { items: Vec::new(), next: None, position: head.position, total };
        let lead = Lead::of(query);
        let mut statement =
            connection.prepare_cached(&rows_sql(lead, query)).map_err(store_error)?;
        let mut bytes = 0;
        for start in starts(query) {
            bind(&mut statement, query, &start).map_err(store_error)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next().map_err(store_error)? {
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
fn all(connection: &Connection) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(TOTAL).map_err(store_error)?;
    let total: i64 = statement.query_row([], |row| row.get(0)).map_err(store_error)?;
    Ok(total.unsigned_abs())
}

fn total(connection: &Connection, query: &GroupQuery) -> Result<Total, StoreError> {
    if query.is_unconditional() {
        return Ok(Total::Exactly(all(connection)?));
    }
    let whole = GroupQuery { after: None, ..query.clone() };
    let sql = count_sql(Lead::of(query), query);
    let mut statement = connection.prepare_cached(&sql).map_err(store_error)?;
    let mut total = 0;
    for start in starts(&whole) {
        bind(&mut statement, query, &start).map_err(store_error)?;
        let mut rows = statement.raw_query();
        let row = rows.next().map_err(store_error)?.ok_or_else(|| corrupt("groups"))?;
        let counted: i64 = row.get(0).map_err(store_error)?;
        total += counted.unsigned_abs();
    }
    let bounded = total <= TOTAL_EXACT_MAX;
    Ok(if bounded { Total::Exactly(total) } else { Total::AtLeast(TOTAL_EXACT_MAX) })
}

/// Reads a page of members, with the group.
pub(crate) fn members(
    connection: &Connection,
    query: &MembersQuery,
) -> Result<Option<MembersPage>, StoreError> {
    head::in_snapshot(connection, |head| {
        let Some((group, total)) = get_with_count(connection, query.group)? else {
            return Ok(None);
        };
        let (items, next) = members_after(connection, query)?;
        Ok(Some(MembersPage { group, total, items, next, position: head.position }))
    })
}

fn members_after(
    connection: &Connection,
    query: &MembersQuery,
) -> Result<(Vec<Member>, Option<UserId>), StoreError> {
    let mut items: Vec<Member> = Vec::new();
    if query.limit == 0 {
        return Ok((items, None));
    }
    let mut statement = connection.prepare_cached(MEMBERS).map_err(store_error)?;
    let after = query.after.map(|after| after.as_bytes().to_vec()).unwrap_or_default();
    let bound = rusqlite::params![query.group.as_bytes(), after];
    let mut rows = statement.query(bound).map_err(store_error)?;
    while let Some(row) = rows.next().map_err(store_error)? {
        if items.len() >= query.limit {
            let next = items.last().map(|last| last.id);
            return Ok((items, next));
        }
        items.push(member(row)?);
    }
    Ok((items, None))
}

fn member(row: &Row<'_>) -> Result<Member, StoreError> {
    let id = id_of(row.get_ref(0).map_err(store_error)?, "group_members.member_id")?;
    let kind = match row.get(1).map_err(store_error)? {
        0_i64 => MemberKind::User,
        1 => MemberKind::Group,
        _ => return Err(corrupt("group_members.kind")),
    };
    Ok(Member { id, kind })
}

/// The direct groups of users, if that is no more than so many memberships.
pub(crate) fn few_groups_of(
    connection: &Connection,
    users: &[UserId],
    most: usize,
) -> Result<Option<GroupsOf>, StoreError> {
    // Who keeps no groups pays for none.
    if all(connection)? == 0 {
        return Ok(Some(GroupsOf::new()));
    }
    head::in_snapshot(connection, |_| {
        let (mut groups_of, mut left) = (GroupsOf::new(), most);
        let mut statement = connection.prepare_cached(GROUPS_OF).map_err(store_error)?;
        for user in users {
            let mut rows = statement.query([user.as_bytes()]).map_err(store_error)?;
            let mut groups = Vec::new();
            while let Some(row) = rows.next().map_err(store_error)? {
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

/// The direct groups of users.
pub(crate) fn groups_of(connection: &Connection, users: &[UserId]) -> Result<GroupsOf, StoreError> {
    Ok(few_groups_of(connection, users, usize::MAX)?.unwrap_or_default())
}

/// The groups that somebody is a direct member of.
pub(crate) fn direct(connection: &Connection, member: UserId) -> Result<Vec<Group>, StoreError> {
    let mut statement = connection.prepare_cached(GROUPS_OF).map_err(store_error)?;
    let mut rows = statement.query([member.as_bytes()]).map_err(store_error)?;
    let mut groups = Vec::new();
    while let Some(row) = rows.next().map_err(store_error)? {
        groups.push(group_of(&stored(row)?)?);
    }
    Ok(groups)
}

/// The group of a stored record.
pub(crate) fn group_of(stored: &Stored) -> Result<Group, StoreError> {
    Group::from_record(&stored.record)
        .map_err(|fault| corrupt(&format!("groups.record of {}, {}", stored.id, fault.member)))
}
