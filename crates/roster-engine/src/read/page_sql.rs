//! The statements of a page.
//!
//! Each statement is written so that only one index has its rows in its order: keys are ranges of
//! that index, the order names all its columns, and an engine that does not choose the index by
//! itself gets its name. So no statistics can make the engine scan the table. The record of a row
//! with another status is not read.

use std::{fmt::Write as _, ops::Bound};

use roster_core::{
    Status, TenantId, UserId,
    list::{Direction, PageKey, Sort, SortBy, SortKey},
    plan::{Index, Lookup, Range, RangeKey},
};

use crate::database::{Cell, Dialect};

/// The users that have a key other than that of their primary address (kind 0) or number (kind 1).
pub const FURTHER: &str = "SELECT id FROM further_keys WHERE tenant = $1 AND kind = $2 \
     AND key = $3 ORDER BY kind, key, id LIMIT $4";

/// The users with words that have a prefix. A user is returned once for each such word.
pub const WORDS: &str = "SELECT id FROM words WHERE tenant = $1 AND word >= $2 AND word <= $3 \
     ORDER BY word, id LIMIT $4";

/// The parameters of a statement, numbered in the order in which its text names them.
#[derive(Debug, Default)]
pub struct Parameters(pub Vec<Cell>);

impl Parameters {
    pub(crate) fn push(&mut self, value: impl Into<Cell>) -> String {
        self.0.push(value.into());
        format!("${}", self.0.len())
    }

    /// The sort key of the row that a page begins after.
    fn sort_key<D: Dialect>(&mut self, key: &SortKey) -> String {
        match key {
            SortKey::Id | SortKey::Text(None) => D::ABSENT_KEY.to_owned(),
            SortKey::Time(moment) => self.push(moment.as_millis()),
            SortKey::Text(Some(text)) => self.push(text.as_str()),
        }
    }

    fn bound(&mut self, key: &RangeKey) -> String {
        match key {
            RangeKey::Id(id) => self.push(*id),
            RangeKey::Time(moment) => self.push(moment.as_millis()),
            RangeKey::Text(text) => self.push(text.as_str()),
            RangeKey::Status(status) => self.push(status_number(*status)),
        }
    }

    pub(crate) fn limit(&mut self, rows: usize) -> String {
        self.push(i64::try_from(rows).unwrap_or(i64::MAX))
    }
}

/// The limit of a statement that returns at most this many rows and one more, which shows that
/// there are more.
pub(crate) fn limit(most: usize) -> Cell {
    i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1).into()
}

/// The number of a status.
pub const fn status_number(status: Status) -> i64 {
    match status {
        Status::Active => 0,
        Status::Suspended => 1,
    }
}

/// The users of a tenant with this key in a column.
pub fn ids_of_key<D: Dialect>(lookup: &Lookup) -> String {
    let index = match lookup {
        Lookup::Id(_) => Index::Sort(SortBy::Id),
        Lookup::Username(_) => Index::Sort(SortBy::Username),
        Lookup::Email(_) | Lookup::AnyEmail(_) => Index::Sort(SortBy::Email),
        Lookup::ExternalId(_) => Index::ExternalId,
        Lookup::PhoneNumber(_) | Lookup::AnyPhoneNumber(_) => Index::PhoneNumber,
        Lookup::Indexed { .. } => return FURTHER.to_owned(),
        Lookup::Member(_) => {
            return "SELECT member_id FROM group_members WHERE tenant = $1 AND group_id = $2 \
                    AND kind = 0 ORDER BY group_id, member_id LIMIT $3"
                .to_owned();
        }
    };
    let (column, mut sql) = (index.column(), format!("SELECT id {}", from::<D>(index)));
    let _infallible = if has_no_id(index) {
        write!(
            sql,
            " WHERE tenant = $1 AND {}{} LIMIT $3",
            D::equals(column, "$2"),
            D::ordered_by(column)
        )
    } else {
        write!(
            sql,
            " WHERE tenant = $1 AND {column} >= $2 AND {column} <= $2 \
             ORDER BY {column}, id LIMIT $3"
        )
    };
    sql
}

/// The rows of a range in the order of the page, after a row: id, version, key, record (NULL if the
/// status differs). In the order of usernames, the first row may be that row itself.
pub fn rows_along<D: Dialect>(
    tenant: TenantId,
    range: &Range,
    sort: Sort,
    after: Option<&PageKey>,
    status: Option<Status>,
    limit: usize,
    to: &mut Parameters,
) -> String {
    let is_along = matches!(sort.by, SortBy::Indexed(_)) && range.index == Index::Sort(sort.by);
    let key = if is_along { range.index.column() } else { key_column(sort.by) };
    let mut sql = select(key, status, to);
    sql.push_str(&from::<D>(range.index));
    of_tenant(&mut sql, range.index, tenant, to);
    of_kind(&mut sql, range.index, to);
    if range.index == Index::Sort(sort.by) {
        let after = after.filter(|after| range.begins_after(after, sort));
        // The position after the row replaces the bound at the start of the walk.
        let replaced = after.map(|_| sort.direction);
        bounds::<D>(&mut sql, range, replaced, to);
        if let Some(after) = after {
            follow::<D>(&mut sql, sort, after, to);
        }
    } else {
        of_key::<D>(&mut sql, range, sort.direction, after, to);
    }
    join::<D>(&mut sql, range.index);
    order(&mut sql, range.index, sort.direction);
    let _infallible = write!(sql, " LIMIT {}", to.limit(limit));
    sql
}

/// The rows of some ids, unordered, with the columns of [`rows_along`].
pub fn rows_of_ids<D: Dialect>(
    tenant: TenantId,
    ids: &[UserId],
    by: SortBy,
    status: Option<Status>,
    to: &mut Parameters,
) -> String {
    let select = select(key_column(by), status, to);
    of_ids::<D>(tenant, &select, ids, to)
}

/// The keys and ids of some ids, unordered.
pub fn places_of_ids<D: Dialect>(
    tenant: TenantId,
    ids: &[UserId],
    by: SortBy,
    to: &mut Parameters,
) -> String {
    let select = format!("SELECT {}, id ", key_column(by));
    of_ids::<D>(tenant, &select, ids, to)
}

/// A selection from the users of some ids.
fn of_ids<D: Dialect>(
    tenant: TenantId,
    select: &str,
    ids: &[UserId],
    to: &mut Parameters,
) -> String {
    let by_id = from::<D>(Index::Sort(SortBy::Id));
    let (ids, tenant) = (to.push(Cell::Ids(ids.to_vec())), to.push(tenant));
    D::for_each(&ids, |id| {
        let (is_id, order) = (D::equals("id", id), D::ordered_by("id"));
        format!("{select}{by_id} WHERE {is_id} AND tenant = {tenant}{order}")
    })
}

/// The ids of a range.
pub fn ids_of_range<D: Dialect>(
    tenant: TenantId,
    range: &Range,
    limit: usize,
    to: &mut Parameters,
) -> String {
    within::<D>("id", tenant, range, limit, to)
}

/// The number of rows in a range, counted up to a limit.
pub fn count_of_range<D: Dialect>(
    tenant: TenantId,
    range: &Range,
    limit: usize,
    to: &mut Parameters,
) -> String {
    format!("SELECT count(*) FROM ({}) AS met", within::<D>("1", tenant, range, limit, to))
}

fn within<D: Dialect>(
    what: &str,
    tenant: TenantId,
    range: &Range,
    limit: usize,
    to: &mut Parameters,
) -> String {
    let mut sql = format!("SELECT {what} {}", from::<D>(range.index));
    of_tenant(&mut sql, range.index, tenant, to);
    of_kind(&mut sql, range.index, to);
    bounds::<D>(&mut sql, range, None, to);
    join::<D>(&mut sql, range.index);
    order(&mut sql, range.index, Direction::Ascending);
    let _infallible = write!(sql, " LIMIT {}", to.limit(limit));
    sql
}

/// The column of a user with the key of an order. Users have no column for an index that the schema
/// names: their key follows from the record.
const fn key_column(by: SortBy) -> &'static str {
    match by {
        SortBy::Indexed(_) => "record",
        // The id is selected anyway, so nothing reads a key.
        SortBy::Id => "NULL",
        SortBy::UpdatedAt
        | SortBy::Username
        | SortBy::Email
        | SortBy::FamilyName
        | SortBy::Name
        | SortBy::ExpiresAt => Index::Sort(by).column(),
    }
}

fn select(key: &str, status: Option<Status>, to: &mut Parameters) -> String {
    let record = match status {
        Some(status) => {
            format!("CASE WHEN status = {} THEN record END", to.push(status_number(status)))
        }
        None => "record".to_owned(),
    };
    format!("SELECT id, version, {key}, {record} ")
}

/// Writes the condition for the rows of a tenant. It is the first one.
fn of_tenant(sql: &mut String, index: Index, tenant: TenantId, to: &mut Parameters) {
    let table = if index == Index::Member { "group_members." } else { "" };
    // Writing to a string does not fail.
    let _infallible = write!(sql, " WHERE {table}tenant = {}", to.push(tenant));
}

/// Writes the condition for the rows of an index that the schema names.
fn of_kind(sql: &mut String, index: Index, to: &mut Parameters) {
    if let Some(kind) = index.kind() {
        let _infallible = write!(sql, " AND kind = {}", to.push(i64::from(kind)));
    }
}

/// Writes the bounds of a range, except the start of a walk in the `replaced` direction. Absent
/// keys, which sort after every text, are only in the range of the whole index.
fn bounds<D: Dialect>(
    sql: &mut String,
    range: &Range,
    replaced: Option<Direction>,
    to: &mut Parameters,
) {
    let column = range.index.column();
    if replaced != Some(Direction::Ascending)
        && let Bound::Included(key) | Bound::Excluded(key) = &range.from
    {
        let comparison = if matches!(range.from, Bound::Included(_)) { ">=" } else { ">" };
        let _infallible = write!(sql, " AND {column} {comparison} {}", to.bound(key));
    }
    if replaced == Some(Direction::Descending) {
        return;
    }
    let is_text =
        !matches!(range.index, Index::Sort(SortBy::Id | SortBy::UpdatedAt) | Index::Member);
    let _infallible = match &range.to {
        Bound::Included(key) => write!(sql, " AND {column} <= {}", to.bound(key)),
        Bound::Excluded(key) => write!(sql, " AND {column} < {}", to.bound(key)),
        Bound::Unbounded if is_text && !range.is_whole() => {
            write!(sql, " AND {column} < {}", D::ABSENT_KEY)
        }
        Bound::Unbounded => Ok(()),
    };
}

/// Writes the condition for the rows after a row, in the order of the index. The index of usernames
/// has no id.
fn follow<D: Dialect>(sql: &mut String, sort: Sort, after: &PageKey, to: &mut Parameters) {
    let column = Index::Sort(sort.by).column();
    let comparison = if sort.direction == Direction::Ascending { '>' } else { '<' };
    let _infallible = match sort.by {
        SortBy::Id => write!(sql, " AND id {comparison} {}", to.push(after.id)),
        SortBy::Username => {
            write!(sql, " AND {column} {comparison}= {}", to.sort_key::<D>(&after.key))
        }
        SortBy::UpdatedAt
        | SortBy::Email
        | SortBy::FamilyName
        | SortBy::Name
        | SortBy::ExpiresAt
        | SortBy::Indexed(_) => {
            let (key, id) = (to.sort_key::<D>(&after.key), to.push(after.id));
            write!(sql, " AND ({column}, id) {comparison} ({key}, {id})")
        }
    };
}

/// Writes the condition for the rows of one key after an id. The condition on the key is a range,
/// not an equality, so that only its index has the rows in this order.
fn of_key<D: Dialect>(
    sql: &mut String,
    range: &Range,
    direction: Direction,
    after: Option<&PageKey>,
    to: &mut Parameters,
) {
    let Some(key) = range.key() else { return };
    let (column, id_column) = (range.index.column(), id_column(range.index));
    let key = to.bound(key);
    let _infallible = match after {
        // At most one row has a given username.
        _ if range.index == Index::Sort(SortBy::Username) => {
            write!(sql, " AND {}", D::equals(column, &key))
        }
        None => write!(sql, " AND {column} >= {key} AND {column} <= {key}"),
        Some(after) => {
            let id = to.push(after.id);
            let (follows, bound) = match direction {
                Direction::Ascending => ('>', "<="),
                Direction::Descending => ('<', ">="),
            };
            write!(
                sql,
                " AND ({column}, {id_column}) {follows} ({key}, {id}) AND {column} {bound} {key}"
            )
        }
    };
}

fn order(sql: &mut String, index: Index, direction: Direction) {
    let way = if direction == Direction::Ascending { "" } else { " DESC" };
    let kind = if index.kind().is_some() { format!("kind{way}, ") } else { String::new() };
    let column = index.column();
    let id = if has_no_id(index) { String::new() } else { format!(", {}{way}", id_column(index)) };
    let _infallible = write!(sql, " ORDER BY {kind}{column}{way}{id}");
}

/// Whether an index has no id after its key, because each key belongs to one row.
const fn has_no_id(index: Index) -> bool {
    matches!(index, Index::Sort(SortBy::Id | SortBy::Username))
}

/// The column of the id that follows the key of an index.
const fn id_column(index: Index) -> &'static str {
    if matches!(index, Index::Member) { "member_id" } else { "id" }
}

/// The table of an index. For members, the users are joined by their ids.
fn from<D: Dialect>(index: Index) -> String {
    if index == Index::Member {
        return format!("FROM {}", D::users_of_members().0);
    }
    if index.kind().is_some() {
        return format!("FROM {}", D::users_of_keys().0);
    }
    let indexed = D::indexed_by(match index {
        Index::Sort(SortBy::Id) => "users_id",
        Index::Sort(SortBy::UpdatedAt) => "users_updated_at",
        Index::Sort(SortBy::Username) => "users_username",
        Index::Sort(SortBy::Email) => "users_email",
        Index::Sort(SortBy::FamilyName) => "users_family_name",
        Index::Sort(SortBy::Name) => "users_name",
        Index::Sort(SortBy::ExpiresAt) => "users_expires_at",
        Index::ExternalId => "users_external_id",
        Index::PhoneNumber => "users_phone_number",
        Index::Status => "users_status",
        Index::Member | Index::Sort(SortBy::Indexed(_)) => return String::new(),
    });
    format!("FROM users{indexed}")
}

/// Writes the condition that joins members to users.
fn join<D: Dialect>(sql: &mut String, index: Index) {
    if index == Index::Member {
        sql.push_str(" AND kind = 0");
        sql.push_str(D::users_of_members().1);
    } else if index.kind().is_some() {
        sql.push_str(D::users_of_keys().1);
    }
}
