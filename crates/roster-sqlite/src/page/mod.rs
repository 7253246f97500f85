//! One page of the collection, with its position and total, in one snapshot.
//!
//! The way is core's [`Plan`]; here it is told in SQL and walked.

mod candidates;
mod found;
pub(crate) mod head;
pub(crate) mod range;
pub(crate) mod sql;
mod total;

use roster_core::{
    Head, Timestamp,
    list::{Equals, Page, PageQuery, SortBy, SortKey},
    page::{Flow, Row, Walk},
    plan::{Beginning, Condition, Driver, Plan, Range, SORTED_ROWS_MAX},
};
use rusqlite::{CachedStatement, Connection, types::ValueRef};

use crate::{
    columns::{SortText, id_of, status_number, string_of, text_of},
    failure::ReadResult,
};
use found::Found;
use range::Bounds;
use sql::{AFTER_ID, AFTER_KEY, Shape};

/// Reads a page.
pub(crate) fn read(connection: &Connection, query: &PageQuery) -> ReadResult<Page> {
    head::in_snapshot(connection, |head| {
        let total = query.count.then(|| total::count(connection, head, query)).transpose()?;
        let mut walk = Walk::new(query);
        if query.limit > 0 {
            fill(connection, head, query, &mut walk)?;
        }
        Ok(walk.page(head.position, total))
    })
}

/// Reads a page of users that indexes find, if they are few; `None` where they are not.
pub(crate) fn read_few(
    connection: &Connection,
    query: &PageQuery,
    plan: &Plan,
) -> ReadResult<Option<Page>> {
    if query.count || query.limit == 0 {
        return Ok(None);
    }
    head::in_snapshot(connection, |head| {
        let Some(found) = found::ids(connection, &plan.driver, query, found::FEW)? else {
            return Ok(None);
        };
        let mut walk = Walk::new(query);
        among(connection, query, plan, &mut walk, found)?;
        Ok(Some(walk.page(head.position, None)))
    })
}

/// Walks the rows of users that were found.
fn among(
    connection: &Connection,
    query: &PageQuery,
    plan: &Plan,
    walk: &mut Walk<'_>,
    found: Found,
) -> ReadResult<()> {
    if plan.meets_filter(query) {
        walk.meets_filter();
    }
    if found.by_all_words {
        walk.has_words();
    }
    let shape = Shape { driver: &Driver::Ids, sort: query.sort, equals: &query.equals };
    candidates::fill_ids(connection, &shape, query, walk, found.ids)
}

fn fill(
    connection: &Connection,
    head: Head,
    query: &PageQuery,
    walk: &mut Walk<'_>,
) -> ReadResult<()> {
    let plan = Plan::of(query);
    let (driver, sorts) = (&plan.driver, plan.sorts);
    let shape = Shape { driver, sort: query.sort, equals: &query.equals };
    if let (Driver::Range(range), false) = (driver, sorts) {
        return along_range(connection, &shape, range, query, walk);
    }
    if matches!(driver, Driver::Lookups(_) | Driver::Words | Driver::Range(_)) {
        return match found::ids(connection, driver, query, usize::MAX)? {
            Some(found) => among(connection, query, &plan, walk, found),
            None => along(connection, &Shape { driver: &Driver::Sort, ..shape }, query, walk),
        };
    }
    if sorts && *driver != Driver::Ids && has_too_many(connection, head, &shape)? {
        return along(connection, &Shape { driver: &Driver::Sort, ..shape }, query, walk);
    }
    if sorts || matches!(driver, Driver::Ids | Driver::Username) {
        return candidates::fill(connection, &shape, query, walk);
    }
    along(connection, &shape, query, walk)
}

/// Whether the driver has more rows than are put in order after they were found.
fn has_too_many(connection: &Connection, head: Head, shape: &Shape<'_>) -> ReadResult<bool> {
    if let (Driver::Status, Some(status)) = (shape.driver, shape.equals.status) {
        let rows = usize::try_from(total::of_status(head, status)).unwrap_or(usize::MAX);
        return Ok(rows > SORTED_ROWS_MAX);
    }
    let mut statement = connection.prepare_cached(&shape.driven())?;
    shape.bind_driver(&mut statement)?;
    let mut rows = statement.raw_query();
    for _ in 0..=SORTED_ROWS_MAX {
        if rows.next()?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Walks along the driver's index, which is in the order of the page.
fn along(
    connection: &Connection,
    shape: &Shape<'_>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
) -> ReadResult<()> {
    let after = match shape.driver.beginning(query) {
        Beginning::Start => None,
        Beginning::After(key) => Some(key),
        Beginning::Nowhere => return Ok(()),
    };
    let sql = shape.rows(after.is_some());
    let mut statement = connection.prepare_cached(&sql)?;
    shape.bind_driver(&mut statement)?;
    shape.bind_residuals(&mut statement)?;
    if let Some(after) = after {
        statement.raw_bind_parameter(AFTER_ID, after.id.as_bytes())?;
        if *shape.driver == Driver::Sort {
            bind_key(&mut statement, &after.key)?;
        }
    }
    take_all(walk, &mut statement, shape.sort.by)
}

/// Walks along a range of the wanted order.
fn along_range(
    connection: &Connection,
    shape: &Shape<'_>,
    range: &Range,
    query: &PageQuery,
    walk: &mut Walk<'_>,
) -> ReadResult<()> {
    let (bounds, after) = Bounds::after(range, shape.sort, query.after.as_ref());
    let sql = shape.rows_in(&bounds, after);
    let mut statement = connection.prepare_cached(&sql)?;
    shape.bind_residuals(&mut statement)?;
    bounds.bind(&mut statement)?;
    if let Some(after) = query.after.as_ref().filter(|_| after) {
        statement.raw_bind_parameter(AFTER_ID, after.id.as_bytes())?;
        bind_key(&mut statement, &after.key)?;
    }
    take_all(walk, &mut statement, shape.sort.by)
}

/// Shows the rows of a statement to the walk until it has enough.
fn take_all(
    walk: &mut Walk<'_>,
    statement: &mut CachedStatement<'_>,
    by: SortBy,
) -> ReadResult<()> {
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()?
        && take(walk, row, by)? == Flow::Next
    {}
    Ok(())
}

/// Shows a row of [`Shape::rows`] or [`Shape::row`] to the walk.
fn take(walk: &mut Walk<'_>, row: &rusqlite::Row<'_>, by: SortBy) -> ReadResult<Flow> {
    let matched = row.get_ref(3)? != ValueRef::Null;
    let record = matched.then(|| text_of(row, 3, "users.record")).transpose()?;
    let (id, version) = (id_of(row, 0, "users.id")?, row.get(1)?);
    Ok(walk.take(&Row { id, version, record }, || Ok(key_of(by, row, 2)?))?)
}

/// The sort key in a column.
fn key_of(by: SortBy, row: &rusqlite::Row<'_>, index: usize) -> ReadResult<SortKey> {
    match (by, row.get_ref(index)?) {
        (SortBy::Id, _) => Ok(SortKey::Id),
        (SortBy::UpdatedAt, ValueRef::Integer(millis)) => {
            Ok(SortKey::Time(Timestamp::from_millis(millis)))
        }
        (_, ValueRef::Blob([])) => Ok(SortKey::Text(None)),
        _ => Ok(SortKey::Text(Some(string_of(row, index, "users keys")?.to_owned()))),
    }
}

fn bind_key(statement: &mut CachedStatement<'_>, key: &SortKey) -> rusqlite::Result<()> {
    match key {
        SortKey::Id => Ok(()),
        SortKey::Time(moment) => statement.raw_bind_parameter(AFTER_KEY, moment.as_millis()),
        SortKey::Text(text) => statement.raw_bind_parameter(AFTER_KEY, SortText(text.as_deref())),
    }
}

impl Shape<'_> {
    /// Binds the condition that the driver reads along.
    fn bind_driver(&self, statement: &mut CachedStatement<'_>) -> rusqlite::Result<()> {
        self.driver
            .condition()
            .map_or(Ok(()), |condition| bind_condition(statement, condition, self.equals))
    }

    /// Binds the conditions that the driver does not answer.
    fn bind_residuals(&self, statement: &mut CachedStatement<'_>) -> rusqlite::Result<()> {
        self.driver
            .residuals(self.equals)
            .try_for_each(|condition| bind_condition(statement, condition, self.equals))
    }
}

fn bind_condition(
    statement: &mut CachedStatement<'_>,
    condition: Condition,
    equals: &Equals,
) -> rusqlite::Result<()> {
    let parameter = sql::parameter(condition);
    match condition {
        Condition::Username => statement.raw_bind_parameter(parameter, &equals.username),
        Condition::Email => statement.raw_bind_parameter(parameter, &equals.email),
        Condition::ExternalId => statement.raw_bind_parameter(parameter, &equals.external_id),
        Condition::PhoneNumber => statement.raw_bind_parameter(parameter, &equals.phone_number),
        Condition::Status => {
            statement.raw_bind_parameter(parameter, equals.status.map(status_number))
        }
    }
}
