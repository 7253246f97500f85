//! One page of the collection, with its position and total, in one snapshot.
//!
//! `roster-engine` chooses the steps of a page. Here each is one statement. A page of the rows of
//! one range is one statement on a shared connection. Every other page has a snapshot of its own,
//! in which rows are fetched in growing portions, so that what is examined is bounded.

mod direct;
pub(crate) mod parameters;
mod row;
pub(crate) mod sql;

use std::{collections::HashMap, sync::Arc};

use roster_core::{
    Status, UserId,
    list::{Page, PageKey, PageQuery, SortBy},
    page::{Flow, Walk, order::Place},
    plan::{Lookup, Plan, Range},
};
use roster_engine::{IdStep, PageReader, read_page};
use tokio_postgres::{Row, types::ToSql};

use crate::{
    columns::{column, corrupt, id_column, uuid},
    connect::Connection,
    query_error::{QueryError, QueryResult},
    reads,
    writer::SNAPSHOT,
};
pub(crate) use direct::Direct;
use parameters::Parameters;
use row::{behind, key_of, take};

/// Rows of the first portion; each further one is four times as large.
const PORTION_MIN: usize = 64;
const PORTION_MAX: usize = 1024;

/// The maximum number of records that are fetched by their ids at once.
const ROWS_MAX: usize = 256;

/// Reads a page of several steps.
pub(crate) async fn walked(connection: Arc<Connection>, query: &PageQuery) -> QueryResult<Page> {
    let work = async {
        let head = reads::head(&connection).await?;
        read_page(&mut Reader(&connection), head, query, Plan::of(query)).await
    };
    connection.transaction(SNAPSHOT, work).await
}

/// Reads the steps of a page.
struct Reader<'c>(&'c Connection);

impl Reader<'_> {
    async fn query(&self, sql: &str, parameters: &Parameters) -> QueryResult<Vec<Row>> {
        self.0.query(sql, &parameters.values()).await
    }

    /// The ids of a statement whose last parameter is its limit.
    async fn ids_of(
        &self,
        sql: &str,
        keys: &[&(dyn ToSql + Sync)],
        most: usize,
    ) -> QueryResult<Vec<UserId>> {
        let limit = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
        ids_of_rows(&self.0.query(sql, &[keys, &[&limit]].concat()).await?)
    }
}

fn ids_of_rows(rows: &[Row]) -> QueryResult<Vec<UserId>> {
    Ok(rows.iter().map(|row| id_column(row, 0, "users.id")).collect::<Result<_, _>>()?)
}

impl PageReader for Reader<'_> {
    type Error = QueryError;

    async fn ids(&mut self, step: IdStep<'_>, most: usize) -> QueryResult<Vec<UserId>> {
        match step {
            IdStep::Range(range) => {
                let mut parameters = Parameters::default();
                let sql = sql::ids(range, most.saturating_add(1), &mut parameters);
                ids_of_rows(&self.query(&sql, &parameters).await?)
            }
            IdStep::Words(first, last) => {
                self.ids_of(sql::WORDS, &[&first.as_bytes(), &last.as_bytes()], most).await
            }
            IdStep::FurtherEmail(key) => {
                self.ids_of(sql::FURTHER, &[&0_i16, &key.as_bytes()], most).await
            }
            IdStep::FurtherPhoneNumber(key) => {
                self.ids_of(sql::FURTHER, &[&1_i16, &key.as_bytes()], most).await
            }
            IdStep::Key(lookup) => match lookup {
                Lookup::Id(id) => self.ids_of(sql::key(lookup), &[&uuid(*id)], most).await,
                Lookup::Username(key)
                | Lookup::Email(key)
                | Lookup::AnyEmail(key)
                | Lookup::ExternalId(key)
                | Lookup::PhoneNumber(key)
                | Lookup::AnyPhoneNumber(key) => {
                    self.ids_of(sql::key(lookup), &[&key.as_bytes()], most).await
                }
            },
        }
    }

    async fn places(&mut self, ids: &[UserId], by: SortBy) -> QueryResult<Vec<Place>> {
        let mut parameters = Parameters::default();
        let sql = sql::places(ids, by, &mut parameters);
        let rows = self.query(&sql, &parameters).await?;
        let place = |row| Ok((key_of(row, 0, by)?, id_column(row, 1, "users.id")?));
        rows.iter().map(place).collect()
    }

    async fn rows(
        &mut self,
        ids: &[UserId],
        query: &PageQuery,
        status: Option<Status>,
        walk: &mut Walk<'_>,
    ) -> QueryResult<()> {
        let by = query.sort.by;
        for ids in ids.chunks(query.limit.saturating_add(1).clamp(1, ROWS_MAX)) {
            let mut parameters = Parameters::default();
            let sql = sql::rows(ids, by, status, &mut parameters);
            let rows = self.query(&sql, &parameters).await?;
            let mut by_id = HashMap::with_capacity(rows.len());
            for row in &rows {
                by_id.insert(id_column(row, 0, "users.id")?, row);
            }
            for row in ids.iter().filter_map(|id| by_id.get(id)) {
                if take(walk, row, by)? == Flow::Stop {
                    return Ok(());
                }
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
    ) -> QueryResult<()> {
        let sort = query.sort;
        let mut after = query.after.clone();
        let most = query.examined_max.max(1).saturating_add(1);
        let mut portion = query.limit.saturating_add(2).clamp(PORTION_MIN, PORTION_MAX).min(most);
        loop {
            let mut parameters = Parameters::default();
            let sql = sql::along(range, sort, after.as_ref(), status, portion, &mut parameters);
            let rows = self.query(&sql, &parameters).await?;
            for row in behind(&rows, after.as_ref(), sort)? {
                if take(walk, row, sort.by)? == Flow::Stop {
                    return Ok(());
                }
            }
            let last = match rows.last() {
                Some(last) if rows.len() >= portion => last,
                _ => return Ok(()),
            };
            let id = id_column(last, 0, "users.id")?;
            after = Some(PageKey { key: key_of(last, 2, sort.by)?, id });
            portion = portion.saturating_mul(4).min(PORTION_MAX);
        }
    }

    async fn count(&mut self, range: &Range, most: u64) -> QueryResult<u64> {
        let mut parameters = Parameters::default();
        let limit = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
        let sql = sql::count(range, limit, &mut parameters);
        let rows = self.query(&sql, &parameters).await?;
        let row = rows.first().ok_or_else(|| corrupt("a count"))?;
        Ok(column::<i64>(row, 0, "a count")?.unsigned_abs())
    }
}
