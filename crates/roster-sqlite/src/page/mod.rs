//! One page of the collection, with its position and total, in one snapshot.
//!
//! `roster-engine` chooses the steps of a page. Here each is one statement.

pub(crate) mod head;
pub(crate) mod range;
pub(crate) mod sql;

use futures_util::FutureExt as _;
use roster_core::{
    Status, StoreError, Timestamp, UserId,
    list::{Page, PageQuery, SortBy, SortKey},
    page::{Flow, Row, Walk, order::Place},
    plan::{Lookup, Plan, Range},
};
use roster_engine::{IdStep, PageReader};
use rusqlite::{CachedStatement, Connection, ToSql, types::ValueRef};

use crate::{
    columns::{SortText, corrupt, id_of, status_number, text_of},
    failure::{ReadError, ReadResult},
};
use range::Bounds;
use sql::{AFTER_ID, AFTER_KEY, STATUS};

/// Reads a page.
pub(crate) fn read(connection: &Connection, query: &PageQuery, plan: Plan) -> ReadResult<Page> {
    head::in_snapshot(connection, |head| {
        run(roster_engine::read_page(&mut Reader(connection), head, query, plan))?
    })
}

/// Reads a page of users that indexes find, if they are few; `None` if they are not.
pub(crate) fn read_few(
    connection: &Connection,
    query: &PageQuery,
    plan: Plan,
) -> ReadResult<Option<Page>> {
    head::in_snapshot(connection, |head| {
        run(roster_engine::read_few(&mut Reader(connection), head, query, plan))?
    })
}

/// Runs a future that never waits: each of its steps is a call of SQLite.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> Result<T, StoreError> {
    future.now_or_never().ok_or_else(|| StoreError::Internal("a step of SQLite waits".into()))
}

/// Reads the steps of pages.
struct Reader<'c>(&'c Connection);

impl PageReader for Reader<'_> {
    type Error = ReadError;

    async fn ids(&mut self, step: IdStep<'_>, most: usize) -> ReadResult<Vec<UserId>> {
        match step {
            IdStep::Range(range) => {
                let bounds = Bounds::of(range);
                let mut statement = self.0.prepare_cached(&sql::ids(range, &bounds))?;
                bounds.bind(&mut statement)?;
                collect(&mut statement, most)
            }
            IdStep::Words(first, last) => self.ids_of(sql::WORDS, &[&first, &last], most),
            IdStep::FurtherEmail(key) => self.ids_of(sql::FURTHER_EMAIL, &[&key], most),
            IdStep::FurtherPhoneNumber(key) => {
                self.ids_of(sql::FURTHER_PHONE_NUMBER, &[&key], most)
            }
            IdStep::Key(lookup) => match lookup {
                Lookup::Id(id) => self.ids_of(sql::key(lookup), &[id.as_bytes()], most),
                Lookup::Username(key)
                | Lookup::Email(key)
                | Lookup::AnyEmail(key)
                | Lookup::ExternalId(key)
                | Lookup::PhoneNumber(key)
                | Lookup::AnyPhoneNumber(key) => self.ids_of(sql::key(lookup), &[key], most),
            },
        }
    }

    async fn places(&mut self, ids: &[UserId], by: SortBy) -> ReadResult<Vec<Place>> {
        let mut statement = self.0.prepare_cached(&sql::place(by))?;
        let mut places = Vec::with_capacity(ids.len());
        for id in ids {
            statement.raw_bind_parameter(AFTER_ID, id.as_bytes())?;
            let mut rows = statement.raw_query();
            if let Some(row) = rows.next()? {
                places.push((key_of(row, 0, by)?, *id));
            }
        }
        Ok(places)
    }

    async fn rows(
        &mut self,
        ids: &[UserId],
        query: &PageQuery,
        status: Option<Status>,
        walk: &mut Walk<'_>,
    ) -> ReadResult<()> {
        let by = query.sort.by;
        let mut statement = self.0.prepare_cached(&sql::row(by, status.is_some()))?;
        bind_status(&mut statement, status)?;
        for id in ids {
            statement.raw_bind_parameter(AFTER_ID, id.as_bytes())?;
            let mut rows = statement.raw_query();
            if let Some(row) = rows.next()?
                && take(walk, row, by)? == Flow::Stop
            {
                break;
            }
        }
        Ok(())
    }

    async fn rows_along(
        &mut self,
        range: &Range,
        query: &PageQuery,
        status: Option<Status>,
        walk: &mut Walk<'_>,
    ) -> ReadResult<()> {
        let (bounds, after) = Bounds::after(range, query);
        let statement = sql::along(range, query.sort, &bounds, after.is_some(), status.is_some());
        let mut statement = self.0.prepare_cached(&statement)?;
        bind_status(&mut statement, status)?;
        bounds.bind(&mut statement)?;
        if let Some(after) = after {
            statement.raw_bind_parameter(AFTER_ID, after.id.as_bytes())?;
            if sql::is_in_order(range, query.sort) {
                bind_key(&mut statement, &after.key)?;
            }
        }
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()?
            && take(walk, row, query.sort.by)? == Flow::Next
        {}
        Ok(())
    }

    async fn count(&mut self, range: &Range, most: u64) -> ReadResult<u64> {
        let bounds = Bounds::of(range);
        let mut statement = self.0.prepare_cached(&sql::rows_of(range, &bounds))?;
        bounds.bind(&mut statement)?;
        let (mut rows, mut count) = (statement.raw_query(), 0);
        while count <= most && rows.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

impl Reader<'_> {
    fn ids_of(&self, sql: &str, keys: &[&dyn ToSql], most: usize) -> ReadResult<Vec<UserId>> {
        let mut statement = self.0.prepare_cached(sql)?;
        for (place, key) in (1..).zip(keys) {
            statement.raw_bind_parameter(place, key)?;
        }
        collect(&mut statement, most)
    }
}

/// The ids that a statement gives: at most so many and one more.
fn collect(statement: &mut CachedStatement<'_>, most: usize) -> ReadResult<Vec<UserId>> {
    let mut rows = statement.raw_query();
    let mut ids = Vec::new();
    while ids.len() <= most
        && let Some(row) = rows.next()?
    {
        ids.push(id_of(row, 0, "an index")?);
    }
    Ok(ids)
}

/// Shows a row to the walk: id, version, sort key, record.
fn take(walk: &mut Walk<'_>, row: &rusqlite::Row<'_>, by: SortBy) -> ReadResult<Flow> {
    let is_tested = row.get_ref(3)? != ValueRef::Null;
    let record = is_tested.then(|| text_of(row, 3, "users.record")).transpose()?;
    let (id, version) = (id_of(row, 0, "users.id")?, row.get(1)?);
    Ok(walk.take(&Row { id, version, record }, || Ok(key_of(row, 2, by)?))?)
}

/// The sort key in a column.
fn key_of(row: &rusqlite::Row<'_>, index: usize, by: SortBy) -> ReadResult<SortKey> {
    match (by, row.get_ref(index)?) {
        (SortBy::Id, _) => Ok(SortKey::Id),
        (SortBy::UpdatedAt, ValueRef::Integer(millis)) => {
            Ok(SortKey::Time(Timestamp::from_millis(millis)))
        }
        (_, ValueRef::Blob([])) => Ok(SortKey::Text(None)),
        (_, value) => match value.as_str() {
            Ok(text) => Ok(SortKey::Text(Some(text.to_owned()))),
            Err(_) => Err(corrupt("users keys").into()),
        },
    }
}

fn bind_status(
    statement: &mut CachedStatement<'_>,
    status: Option<Status>,
) -> rusqlite::Result<()> {
    status.map_or(Ok(()), |status| statement.raw_bind_parameter(STATUS, status_number(status)))
}

fn bind_key(statement: &mut CachedStatement<'_>, key: &SortKey) -> rusqlite::Result<()> {
    match key {
        SortKey::Id => Ok(()),
        SortKey::Time(moment) => statement.raw_bind_parameter(AFTER_KEY, moment.as_millis()),
        SortKey::Text(text) => statement.raw_bind_parameter(AFTER_KEY, SortText(text.as_deref())),
    }
}
