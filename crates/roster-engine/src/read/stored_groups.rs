//! Reading groups, their members, and the groups of users.
//!
//! A query that names ids, a name or a member matches few groups. So all groups of one of these
//! conditions are read, and the other conditions are tested on them. Any other page is read along
//! the index of the external id, of the names or of the ids. If a filter or words are tested on the
//! groups, these are read in portions until the page is full or has examined enough.

use std::{cmp::Ordering, collections::BTreeSet, fmt::Write as _};

use bytes::Bytes;
use roster_core::{
    Group, GroupId, Head, Member, MemberKind, StoreError, Stored, TenantId, UserId,
    group::{GroupPage, GroupQuery, GroupRef, GroupsOf, MembersPage, MembersQuery},
    limits::{COUNT_FACTOR, TOTAL_EXACT_MAX},
    list::{Direction, PageKey, Sort, SortBy, SortKey, Total},
    page::{Flow, order::compare},
};

use crate::{
    database::{Cell, Database, Dialect, Values, corrupt, first, group_of, rows},
    read::{
        examined::{COUNT_EXAMINED_MAX, Examined, PORTION},
        page_sql::{Parameters, limit},
    },
};

/// The group of an id, with the number of its members.
pub const GROUP: &str =
    "SELECT id, version, record, members FROM groups WHERE tenant = $1 AND id = $2";

/// The number of groups.
pub const GROUPS_TOTAL: &str = "SELECT groups FROM tenants WHERE id = $1";

/// The group of a name.
pub const GROUP_OF_NAME: &str =
    "SELECT id, version, record, members FROM groups WHERE tenant = $1 AND name_key = $2";

/// A page of members.
pub const MEMBERS: &str = "SELECT member_id, kind FROM group_members \
     WHERE tenant = $1 AND group_id = $2 AND member_id > $3 ORDER BY group_id, member_id LIMIT $4";

/// The groups of some ids, with the numbers of their members. `$2` is the tenant.
pub fn groups_of_ids<D: Dialect>() -> String {
    D::for_each("$1", |id| {
        let (is_id, order) = (D::equals("id", id), D::ordered_by("id"));
        format!(
            "SELECT id, version, record, members FROM groups \
             WHERE {is_id} AND tenant = $2{order}"
        )
    })
}

/// The direct groups of some members, each with the id of the member. `$2` is the tenant.
pub fn direct_groups<D: Dialect>() -> String {
    let by_member = D::indexed_by("group_members_member");
    // A group is found by subqueries, because an engine may begin a join with all groups.
    let of_group = format!(
        "FROM groups WHERE tenant = memberships.tenant AND {}{}",
        D::equals("id", "group_id"),
        D::ordered_by("id")
    );
    D::for_each("$1", |id| {
        format!(
            "SELECT group_id, (SELECT version {of_group}), (SELECT record {of_group}), member_id \
             FROM group_members AS memberships{by_member} WHERE member_id = {id} AND tenant = $2"
        )
    })
}

/// A page of all groups or of those of an external id, in the order of ids or of names.
pub fn groups_along<D: Dialect>(
    tenant: TenantId,
    query: &GroupQuery,
    to: &mut Parameters,
) -> String {
    let by_name = query.sort.by == SortBy::Name;
    let column = if by_name { "name_key" } else { "id" };
    let (follows, way) = match query.sort.direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    let index = match (&query.external_id, by_name) {
        (Some(_), true) => D::indexed_by("groups_external_id_name"),
        (Some(_), false) => D::indexed_by("groups_external_id"),
        (None, true) => D::indexed_by("groups_name"),
        (None, false) => String::new(),
    };
    let (mut condition, mut order) = (format!("tenant = {}", to.push(tenant)), String::new());
    if let Some(id) = &query.external_id {
        // Writing to a string does not fail.
        let _infallible = write!(condition, " AND external_id = {}", to.push(id.as_str()));
        order = format!("external_id{way}, ");
    }
    let after = query.after.as_ref().map(|after| {
        let key = match &after.key {
            SortKey::Text(Some(key)) if by_name => to.push(key.as_str()),
            SortKey::Id | SortKey::Time(_) | SortKey::Text(_) => to.push(after.id),
        };
        format!(" AND {column} {follows} {key}")
    });
    format!(
        "SELECT id, version, record, members FROM groups{index} WHERE {condition}{} \
         ORDER BY {order}{column}{way} LIMIT {}",
        after.unwrap_or_default(),
        to.limit(query.limit.saturating_add(1))
    )
}

/// The number of groups with an external id, counted up to one more than the largest exact total.
pub fn count_of_external_id<D: Dialect>() -> String {
    let (by_external_id, most) = (D::indexed_by("groups_external_id"), TOTAL_EXACT_MAX + 1);
    format!(
        "SELECT count(*) FROM (SELECT 1 FROM groups{by_external_id} \
         WHERE tenant = $1 AND external_id = $2 ORDER BY external_id, id LIMIT {most}) AS met"
    )
}

/// Reads the group of an id.
pub async fn group<D: Database>(db: D, id: GroupId) -> Result<Option<Stored>, D::Error> {
    let row = first(db, GROUP, &[db.tenant().into(), id.into()]).await?;
    Ok(row.map(|row| row.stored("groups")).transpose()?)
}

/// Reads a page of groups.
pub async fn group_page<D: Database>(
    db: D,
    head: Head,
    query: &GroupQuery,
) -> Result<GroupPage, D::Error> {
    let mut taking = Taking::new(query, head);
    let total = if let Some((few, total)) = few(db, query).await? {
        for stored in few {
            if taking.take(stored)? == Flow::Stop {
                break;
            }
        }
        Some(Total::Exactly(u64::try_from(total).unwrap_or(u64::MAX)))
    } else {
        along(db, &mut taking).await?;
        if query.count { Some(total(db, head, query).await?) } else { None }
    };
    let total = total.filter(|_| query.count);
    Ok(GroupPage { total, ..taking.page })
}

/// Passes the groups along an index to the page, and tests them.
async fn along<D: Database>(db: D, taking: &mut Taking<'_>) -> Result<(), D::Error> {
    let query = taking.query;
    if !query.has_tests() {
        let mut to = Parameters::default();
        let sql = groups_along::<D>(db.tenant(), query, &mut to);
        return db.each(&sql, &to.0, |row| taking.take(row.stored("groups")?)).await;
    }
    let mut portion = GroupQuery { limit: PORTION - 1, ..query.clone() };
    // A statement reads one group more than the limit.
    if query.limit == 0 {
        return Ok(());
    }
    loop {
        let (mut to, mut flow, mut count) = (Parameters::default(), Flow::Next, 0);
        let sql = groups_along::<D>(db.tenant(), &portion, &mut to);
        let take = |row: Values| {
            count += 1;
            flow = taking.test(row.stored("groups")?, has_members(&row)?)?;
            Ok(flow)
        };
        db.each(&sql, &to.0, take).await?;
        if flow == Flow::Stop || count < PORTION {
            break;
        }
        portion.after.clone_from(&taking.examined.last);
    }
    Ok(())
}

/// A page under construction.
struct Taking<'q> {
    query: &'q GroupQuery,
    page: GroupPage,
    bytes: usize,
    examined: Examined<PageKey>,
}

impl<'q> Taking<'q> {
    fn new(query: &'q GroupQuery, head: Head) -> Self {
        let (items, position) = (Vec::new(), head.position);
        let page = GroupPage { items, next: None, position, total: None, examined: None };
        let examined = Examined::new(query.examined_max, query.comparisons_max);
        Self { query, page, bytes: 0, examined }
    }

    fn is_full(&self) -> bool {
        self.page.items.len() >= self.query.limit || self.bytes >= self.query.bytes_max
    }

    /// Adds a group that matches.
    fn take(&mut self, stored: Stored) -> Result<Flow, StoreError> {
        if self.is_full() {
            let last = self.page.items.last().map(|last| page_key(last, self.query.sort));
            self.page.next = last.transpose()?;
            return Ok(Flow::Stop);
        }
        self.bytes += stored.record.len();
        self.page.items.push(stored);
        Ok(Flow::Next)
    }

    /// Adds a group if it matches the conditions that are tested.
    fn test(&mut self, stored: Stored, has_members: bool) -> Result<Flow, StoreError> {
        if !self.examined.may_go_on() {
            self.page.examined = (!self.is_full()).then_some(self.examined.count);
            self.page.next = self.examined.last.take();
            return Ok(Flow::Stop);
        }
        let group = group_of(&stored)?;
        self.examined.work.count(self.query.comparisons(&group, stored.record.len()));
        self.examined.note(page_key(&stored, self.query.sort)?);
        if self.query.tests(&group, has_members) { self.take(stored) } else { Ok(Flow::Next) }
    }
}

/// The groups that match the conditions, if one of the conditions limits them to few: those after
/// the previous page, in the order of the query, and the number of all. Returns `None` if no
/// condition does.
async fn few<D: Database>(
    db: D,
    query: &GroupQuery,
) -> Result<Option<(Vec<Stored>, usize)>, D::Error> {
    let found = if let Some(ids) = &query.ids {
        rows(db, &groups_of_ids::<D>(), &[Cell::Ids(ids.clone()), db.tenant().into()]).await?
    } else if let Some(key) = &query.name_key {
        rows(db, GROUP_OF_NAME, &[db.tenant().into(), key.as_str().into()]).await?
    } else if let Some(member) = query.member {
        groups_of_member(db, member).await?
    } else {
        return Ok(None);
    };
    let mut of_member = None;
    if let Some(member) = query.member.filter(|_| query.ids.is_some() || query.name_key.is_some()) {
        let groups = groups_of_member(db, member).await?;
        let ids: Result<BTreeSet<_>, _> = groups.iter().map(|row| row.id(0, "groups.id")).collect();
        of_member = Some(ids?);
    }
    let is_of_member = query.ids.is_none() && query.name_key.is_none();
    let mut few = Vec::with_capacity(found.len());
    for row in &found {
        let group = row.group()?;
        if query.name_key.as_ref().is_none_or(|key| group.name_key() == *key)
            && (query.external_id.is_none() || group.external_id == query.external_id)
            && of_member.as_ref().is_none_or(|groups| groups.contains(&group.id))
            && query.tests(&group, is_of_member || has_members(row)?)
        {
            let stored = row.stored("groups")?;
            few.push((page_key(&stored, query.sort)?, stored));
        }
    }
    let total = few.len();
    let place = |key: &PageKey| (key.key.clone(), key.id);
    let by_place =
        |one: &PageKey, other: &PageKey| compare(&place(one), &place(other), query.sort.direction);
    if let Some(after) = &query.after {
        few.retain(|(key, _)| by_place(key, after) == Ordering::Greater);
    }
    few.sort_unstable_by(|(one, _), (other, _)| by_place(one, other));
    Ok(Some((few.into_iter().map(|(_, stored)| stored).collect(), total)))
}

fn has_members(row: &Values) -> Result<bool, StoreError> {
    Ok(row.number(3, "groups.members")? > 0)
}

/// The place of a group in an order.
fn page_key(stored: &Stored, sort: Sort) -> Result<PageKey, StoreError> {
    let key = if sort.by == SortBy::Name {
        SortKey::Text(Some(group_of(stored)?.name_key()))
    } else {
        SortKey::Id
    };
    Ok(PageKey { key, id: stored.id })
}

async fn groups_of_member<D: Database>(db: D, member: UserId) -> Result<Vec<Values>, D::Error> {
    rows(db, &direct_groups::<D>(), &[Cell::Ids(vec![member]), db.tenant().into()]).await
}

/// The number of groups that match the conditions, which no condition limits to few.
async fn total<D: Database>(db: D, head: Head, query: &GroupQuery) -> Result<Total, D::Error> {
    let (total, is_complete) = if query.has_tests() {
        let counted = GroupQuery {
            after: None,
            limit: usize::try_from(TOTAL_EXACT_MAX).unwrap_or(usize::MAX).saturating_add(1),
            bytes_max: usize::MAX,
            examined_max: COUNT_EXAMINED_MAX,
            comparisons_max: query.comparisons_max.saturating_mul(COUNT_FACTOR),
            ..query.clone()
        };
        let mut taking = Taking::new(&counted, head);
        along(db, &mut taking).await?;
        let total = u64::try_from(taking.page.items.len()).unwrap_or(u64::MAX);
        (total, taking.page.next.is_none())
    } else {
        let row = match &query.external_id {
            Some(id) => {
                let parameters = [db.tenant().into(), id.as_str().into()];
                first(db, &count_of_external_id::<D>(), &parameters).await?
            }
            None => first(db, GROUPS_TOTAL, &[db.tenant().into()]).await?,
        };
        let row = row.ok_or_else(|| corrupt("tenants"))?;
        (row.number(0, "tenants")?.unsigned_abs(), true)
    };
    let is_exact = is_complete && (total <= TOTAL_EXACT_MAX || query.is_unconditional());
    Ok(if is_exact { Total::Exactly(total) } else { Total::AtLeast(total.min(TOTAL_EXACT_MAX)) })
}

/// Reads a page of members with the group. Returns `None` if the group does not exist.
pub async fn members_page<D: Database>(
    db: D,
    head: Head,
    query: &MembersQuery,
) -> Result<Option<MembersPage>, D::Error> {
    let Some(row) = first(db, GROUP, &[db.tenant().into(), query.group.into()]).await? else {
        return Ok(None);
    };
    let total = row.number(3, "groups.members")?.unsigned_abs();
    let (group, items, position) = (row.stored("groups")?, Vec::new(), head.position);
    let mut page = MembersPage { group, total, items, next: None, position };
    if query.limit == 0 {
        return Ok(Some(page));
    }
    let take = |row: Values| {
        if page.items.len() >= query.limit {
            page.next = page.items.last().map(|last| last.id);
            return Ok(Flow::Stop);
        }
        let id = row.id(0, "group_members.member_id")?;
        page.items.push(Member { id, kind: member_kind(&row, 1)? });
        Ok(Flow::Next)
    };
    let after = query.after.map_or(Cell::Bytes(Bytes::new()), Cell::from);
    let parameters = [db.tenant().into(), query.group.into(), after, limit(query.limit)];
    db.each(MEMBERS, &parameters, take).await?;
    Ok(Some(page))
}

/// The number of a member's kind.
pub const fn kind_number(kind: MemberKind) -> i16 {
    match kind {
        MemberKind::User => 0,
        MemberKind::Group => 1,
    }
}

/// The kind of a member, from its number.
pub(crate) fn member_kind(row: &Values, index: usize) -> Result<MemberKind, StoreError> {
    match row.number(index, "group_members.kind")? {
        0 => Ok(MemberKind::User),
        1 => Ok(MemberKind::Group),
        _ => Err(corrupt("group_members.kind")),
    }
}

/// Reads the direct groups of users. Returns `None` if there are more than this many memberships.
pub async fn groups_of<D: Database>(
    db: D,
    users: &[UserId],
    most: usize,
) -> Result<Option<GroupsOf>, D::Error> {
    let (mut groups_of, mut left) = (GroupsOf::new(), Some(most));
    let take = |row: Values| {
        left = left.and_then(|left| left.checked_sub(1));
        if left.is_none() {
            return Ok(Flow::Stop);
        }
        let Group { id, display_name, .. } = row.group()?;
        let user = row.id(3, "group_members.member_id")?;
        groups_of.entry(user).or_default().push(GroupRef { id, display_name });
        Ok(Flow::Next)
    };
    db.each(&direct_groups::<D>(), &[Cell::Ids(users.to_vec()), db.tenant().into()], take).await?;
    // A user has few groups. They are sorted here, so that the statement needs no order.
    for groups in groups_of.values_mut() {
        groups.sort_unstable_by_key(|group| group.id);
    }
    Ok(left.map(|_| groups_of))
}
