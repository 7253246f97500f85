//! Passing the rows of a page to the walk that builds it, with the groups of their users if the
//! filter reads them.

use std::{cmp::Ordering, collections::HashMap};

use roster_core::{
    Group, StoreError, User, UserId,
    filter::Memberships,
    group::GroupRef,
    list::{PageKey, PageQuery, SortBy, SortKey},
    page::{Flow, Row, Walk, order::compare},
};

use crate::{
    database::{Cell, Database, Values, corrupt},
    read::stored_groups::direct_groups,
};

/// The maximum number of records that are fetched by their ids at once, and of users whose groups
/// are.
pub(crate) const ROWS_MAX: usize = 256;

/// The number of users whose groups are read first, and the factor by which each further number is
/// larger.
const GROUPED_MIN: usize = 1;
const GROUPED_FACTOR: usize = 4;

/// Passes rows to a walk.
pub(crate) struct Passing<'q> {
    query: &'q PageQuery,
    /// The row that the first row must follow.
    pub(crate) after: Option<PageKey>,
    /// The number of passed rows, and the last one.
    pub(crate) count: usize,
    pub(crate) last: Option<Values>,
    /// The number of users whose groups are read at once.
    grouped: usize,
}

impl<'q> Passing<'q> {
    pub(crate) const fn new(query: &'q PageQuery) -> Self {
        Self { query, after: None, count: 0, last: None, grouped: GROUPED_MIN }
    }

    pub(crate) fn pass(
        &mut self,
        walk: &mut Walk<'_>,
        row: Values,
        groups: Option<&Memberships>,
    ) -> Result<Flow, StoreError> {
        self.count += 1;
        let is_passed = self.count > 1 || is_behind(&row, self.after.as_ref(), self.query)?;
        let flow = if is_passed { show_row(walk, &row, self.query, groups)? } else { Flow::Next };
        self.last = Some(row);
        Ok(flow)
    }

    /// Passes rows with the groups of their users. These are read for growing numbers of users,
    /// because a user may be in many groups. If they need more comparisons than the page has left,
    /// the page ends before these users, but never before the first one.
    pub(crate) async fn pass_all<D: Database>(
        &mut self,
        db: D,
        rows: Vec<Values>,
        walk: &mut Walk<'_>,
    ) -> Result<Flow, D::Error> {
        let mut rows = rows.into_iter();
        if walk.group_filter().is_none() {
            self.grouped = ROWS_MAX;
        }
        loop {
            let chunk: Vec<Values> = rows.by_ref().take(self.grouped).collect();
            if chunk.is_empty() {
                return Ok(Flow::Next);
            }
            let ids: Result<Vec<UserId>, _> =
                chunk.iter().map(|row| row.id(0, "users.id")).collect();
            let ids = ids?;
            let Some(groups) = memberships(db, walk, &ids).await? else {
                // No row of this portion may have been passed yet.
                if let Some(last) = self.last_key()?.or_else(|| self.after.clone()) {
                    walk.end_after(last);
                }
                return Ok(Flow::Stop);
            };
            for (row, id) in chunk.into_iter().zip(&ids) {
                if self.pass(walk, row, groups.get(id))? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            self.grouped = self.grouped.saturating_mul(GROUPED_FACTOR).min(ROWS_MAX);
        }
    }

    /// The position after the last passed row.
    pub(crate) fn last_key(&self) -> Result<Option<PageKey>, StoreError> {
        let key = |row: &Values| {
            Ok(PageKey { key: key_of(row, 2, self.query)?, id: row.id(0, "users.id")? })
        };
        self.last.as_ref().map(key).transpose()
    }
}

/// The results of the walk's tests of groups for these users. Runs no statement if the filter does
/// not read groups. Returns `None` if they need more comparisons than the page has left, unless no
/// row was examined yet.
async fn memberships<D: Database>(
    db: D,
    walk: &Walk<'_>,
    ids: &[UserId],
) -> Result<Option<HashMap<UserId, Memberships>>, D::Error> {
    let mut memberships: HashMap<UserId, Memberships> = HashMap::new();
    if walk.group_filter().is_none() {
        return Ok(Some(memberships));
    }
    let must_end = || walk.has_examined() && walk.is_out_of_work();
    let add = |row: Values| {
        if must_end() {
            return Ok(Flow::Stop);
        }
        let Group { id, display_name, .. } = row.group()?;
        let user = row.id(3, "group_members.member_id")?;
        walk.add_group(memberships.entry(user).or_default(), &GroupRef { id, display_name });
        Ok(Flow::Next)
    };
    db.each(&direct_groups::<D>(), &[Cell::Ids(ids.to_vec()), db.tenant().into()], add).await?;
    // The last group may have used up the comparisons. The walk could not end the page there,
    // because it keeps the key of a row only if the page may end after it.
    Ok((!must_end()).then_some(memberships))
}

/// Passes a row to the walk: id, version, sort key, record. `groups` are those of the user, if the
/// walk's filter reads them.
pub fn show_row(
    walk: &mut Walk<'_>,
    row: &Values,
    query: &PageQuery,
    groups: Option<&Memberships>,
) -> Result<Flow, StoreError> {
    let is_tested = row.0.get(3) != Some(&Cell::Null);
    let record = is_tested.then(|| row.bytes(3, "users.record")).transpose()?;
    let (id, version) = (row.id(0, "users.id")?, row.number(1, "users.version")?);
    walk.take(&Row { id, version, record, groups }, || key_of(row, 2, query))
}

/// Whether a row comes after a position. Only for the first row of a statement this may be false.
pub fn is_behind(
    row: &Values,
    after: Option<&PageKey>,
    query: &PageQuery,
) -> Result<bool, StoreError> {
    let Some(after) = after else { return Ok(true) };
    let place = (key_of(row, 2, query)?, row.id(0, "users.id")?);
    let begin = (after.key.clone(), after.id);
    Ok(compare(&place, &begin, query.sort.direction) == Ordering::Greater)
}

/// The sort key in a column. Where users have no column for it, that is the record, from which the
/// key follows.
pub(crate) fn key_of(row: &Values, index: usize, query: &PageQuery) -> Result<SortKey, StoreError> {
    if let SortBy::Indexed(kind) = query.sort.by {
        let found = row.text(index, "further_keys.key")?;
        if !found.starts_with('{') {
            return Ok(SortKey::Text(Some(found.to_owned())));
        }
        let user = User::from_record(found.as_bytes()).map_err(|_| corrupt("users.record"))?;
        let index = query.schema.index(kind).ok_or_else(|| corrupt("indexes"))?;
        return Ok(SortKey::Text(Some(index.sort_key(&user))));
    }
    match (query.sort.by, row.0.get(index)) {
        (SortBy::Id, _) => Ok(SortKey::Id),
        (SortBy::UpdatedAt, _) => Ok(SortKey::Time(row.moment(index, "users.updated_at")?)),
        (_, Some(Cell::Bytes(_))) => Ok(SortKey::Text(None)),
        _ => Ok(SortKey::Text(Some(row.text(index, "users keys")?.to_owned()))),
    }
}
