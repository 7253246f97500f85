//! The statements of a page.
//!
//! Each statement is written so that only one index has its rows in its order: keys are ranges of
//! that index, the order names all its columns, and an engine that does not choose the index by
//! itself gets its name. So no statistics can make the engine scan the table. The record of a row
//! with another status is not read.

use std::{fmt::Write as _, ops::Bound};

use roster_core::{
    Status, UserId,
    list::{Direction, PageKey, Sort, SortBy, SortKey},
    plan::{Index, Lookup, Range, RangeKey},
};

use crate::database::{Cell, Dialect};

/// The users that have a key other than that of their primary address (kind 0) or number (kind 1).
pub const FURTHER: &str =
    "SELECT id FROM further_keys WHERE kind = $1 AND key = $2 ORDER BY kind, key, id LIMIT $3";

/// The users with words that have a prefix. A user is returned once for each such word.
pub const WORDS: &str =
    "SELECT id FROM words WHERE word >= $1 AND word <= $2 ORDER BY word, id LIMIT $3";

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

    fn any<D: Dialect>(&mut self, ids: &[UserId]) -> String {
        D::any(&self.push(Cell::Ids(ids.to_vec())))
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

/// The users with this key in a column.
pub fn ids_of_key<D: Dialect>(lookup: &Lookup) -> String {
    let index = match lookup {
        Lookup::Id(_) => Index::Sort(SortBy::Id),
        Lookup::Username(_) => Index::Sort(SortBy::Username),
        Lookup::Email(_) | Lookup::AnyEmail(_) => Index::Sort(SortBy::Email),
        Lookup::ExternalId(_) => Index::ExternalId,
        Lookup::PhoneNumber(_) | Lookup::AnyPhoneNumber(_) => Index::PhoneNumber,
        Lookup::Member(_) => {
            return "SELECT member_id FROM group_members WHERE group_id = $1 AND kind = 0 \
                    ORDER BY group_id, member_id LIMIT $2"
                .to_owned();
        }
    };
    let (column, mut sql) = (index.column(), format!("SELECT id {}", from::<D>(index)));
    let _infallible = if has_no_id(index) {
        write!(sql, " WHERE {column} = $1 LIMIT $2")
    } else {
        write!(sql, " WHERE {column} >= $1 AND {column} <= $1 ORDER BY {column}, id LIMIT $2")
    };
    sql
}

/// The rows of a range in the order of the page, after a row: id, version, key, record (NULL if the
/// status differs). In the order of usernames, the first row may be that row itself.
pub fn rows_along<D: Dialect>(
    range: &Range,
    sort: Sort,
    after: Option<&PageKey>,
    status: Option<Status>,
    limit: usize,
    to: &mut Parameters,
) -> String {
    let mut sql = select(sort.by, status, to);
    sql.push_str(&from::<D>(range.index));
    if range.index == Index::Sort(sort.by) {
        let after = after.filter(|after| range.begins_after(after, sort));
        // The position after the row replaces the bound at the start of the walk.
        let replaced = after.map(|_| sort.direction);
        let word = bounds::<D>(&mut sql, range, replaced, to);
        if let Some(after) = after {
            follow::<D>(&mut sql, word, sort, after, to);
        }
    } else {
        of_key(&mut sql, range, sort.direction, after, to);
    }
    join(&mut sql, range.index);
    order(&mut sql, range.index, sort.direction);
    let _infallible = write!(sql, " LIMIT {}", to.limit(limit));
    sql
}

/// The rows of some ids, unordered, with the columns of [`rows_along`].
pub fn rows_of_ids<D: Dialect>(
    ids: &[UserId],
    by: SortBy,
    status: Option<Status>,
    to: &mut Parameters,
) -> String {
    let (select, by_id) = (select(by, status, to), from::<D>(Index::Sort(SortBy::Id)));
    format!("{select}{by_id} WHERE id = {}", to.any::<D>(ids))
}

/// The keys and ids of some ids, unordered.
pub fn places_of_ids<D: Dialect>(ids: &[UserId], by: SortBy, to: &mut Parameters) -> String {
    let (key, by_id) = (Index::Sort(by).column(), from::<D>(Index::Sort(SortBy::Id)));
    format!("SELECT {key}, id {by_id} WHERE id = {}", to.any::<D>(ids))
}

/// The ids of a range.
pub fn ids_of_range<D: Dialect>(range: &Range, limit: usize, to: &mut Parameters) -> String {
    within::<D>("id", range, limit, to)
}

/// The number of rows in a range, counted up to a limit.
pub fn count_of_range<D: Dialect>(range: &Range, limit: usize, to: &mut Parameters) -> String {
    format!("SELECT count(*) FROM ({}) AS met", within::<D>("1", range, limit, to))
}

fn within<D: Dialect>(what: &str, range: &Range, limit: usize, to: &mut Parameters) -> String {
    let mut sql = format!("SELECT {what} {}", from::<D>(range.index));
    bounds::<D>(&mut sql, range, None, to);
    join(&mut sql, range.index);
    order(&mut sql, range.index, Direction::Ascending);
    let _infallible = write!(sql, " LIMIT {}", to.limit(limit));
    sql
}

fn select(by: SortBy, status: Option<Status>, to: &mut Parameters) -> String {
    let record = match status {
        Some(status) => {
            format!("CASE WHEN status = {} THEN record END", to.push(status_number(status)))
        }
        None => "record".to_owned(),
    };
    format!("SELECT id, version, {}, {record} ", Index::Sort(by).column())
}

/// Writes the bounds of a range, except the start of a walk in the `replaced` direction. Returns
/// the keyword before a further condition. Absent keys, which sort after every text, are only in
/// the range of the whole index.
fn bounds<D: Dialect>(
    sql: &mut String,
    range: &Range,
    replaced: Option<Direction>,
    to: &mut Parameters,
) -> &'static str {
    let column = range.index.column();
    let mut word = "WHERE";
    if replaced != Some(Direction::Ascending)
        && let Bound::Included(key) | Bound::Excluded(key) = &range.from
    {
        let comparison = if matches!(range.from, Bound::Included(_)) { ">=" } else { ">" };
        // Writing to a string does not fail.
        let _infallible = write!(sql, " WHERE {column} {comparison} {}", to.bound(key));
        word = "AND";
    }
    if replaced == Some(Direction::Descending) {
        return word;
    }
    let is_text =
        !matches!(range.index, Index::Sort(SortBy::Id | SortBy::UpdatedAt) | Index::Member);
    let _infallible = match &range.to {
        Bound::Included(key) => write!(sql, " {word} {column} <= {}", to.bound(key)),
        Bound::Excluded(key) => write!(sql, " {word} {column} < {}", to.bound(key)),
        Bound::Unbounded if is_text && !range.is_whole() => {
            write!(sql, " {word} {column} < {}", D::ABSENT_KEY)
        }
        Bound::Unbounded => return word,
    };
    "AND"
}

/// Writes the condition for the rows after a row, in the order of the index. The index of usernames
/// has no id.
fn follow<D: Dialect>(
    sql: &mut String,
    word: &str,
    sort: Sort,
    after: &PageKey,
    to: &mut Parameters,
) {
    let column = Index::Sort(sort.by).column();
    let comparison = if sort.direction == Direction::Ascending { '>' } else { '<' };
    let _infallible = match sort.by {
        SortBy::Id => write!(sql, " {word} id {comparison} {}", to.push(after.id)),
        SortBy::Username => {
            write!(sql, " {word} {column} {comparison}= {}", to.sort_key::<D>(&after.key))
        }
        SortBy::UpdatedAt | SortBy::Email | SortBy::FamilyName | SortBy::Name => {
            let (key, id) = (to.sort_key::<D>(&after.key), to.push(after.id));
            write!(sql, " {word} ({column}, id) {comparison} ({key}, {id})")
        }
    };
}

/// Writes the condition for the rows of one key after an id. The condition on the key is a range,
/// not an equality, so that only its index has the rows in this order.
fn of_key(
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
        _ if range.index == Index::Sort(SortBy::Username) => write!(sql, " WHERE {column} = {key}"),
        None => write!(sql, " WHERE {column} >= {key} AND {column} <= {key}"),
        Some(after) => {
            let id = to.push(after.id);
            let (follows, bound) = match direction {
                Direction::Ascending => ('>', "<="),
                Direction::Descending => ('<', ">="),
            };
            write!(
                sql,
                " WHERE ({column}, {id_column}) {follows} ({key}, {id}) AND {column} {bound} {key}"
            )
        }
    };
}

fn order(sql: &mut String, index: Index, direction: Direction) {
    let way = if direction == Direction::Ascending { "" } else { " DESC" };
    let column = index.column();
    let id = if has_no_id(index) { String::new() } else { format!(", {}{way}", id_column(index)) };
    let _infallible = write!(sql, " ORDER BY {column}{way}{id}");
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
        let by_id = D::indexed_by("users_id");
        return format!("FROM group_members CROSS JOIN users{by_id}");
    }
    let indexed = D::indexed_by(match index {
        Index::Sort(SortBy::Id) => "users_id",
        Index::Sort(SortBy::UpdatedAt) => "users_updated_at",
        Index::Sort(SortBy::Username) => "users_username",
        Index::Sort(SortBy::Email) => "users_email",
        Index::Sort(SortBy::FamilyName) => "users_family_name",
        Index::Sort(SortBy::Name) => "users_name",
        Index::ExternalId => "users_external_id",
        Index::PhoneNumber => "users_phone_number",
        Index::Status => "users_status",
        Index::Member => return String::new(),
    });
    format!("FROM users{indexed}")
}

/// Writes the condition that joins members to users.
fn join(sql: &mut String, index: Index) {
    if index == Index::Member {
        sql.push_str(" AND kind = 0 AND id = member_id");
    }
}
