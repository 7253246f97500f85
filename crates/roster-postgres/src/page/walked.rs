//! A page that is walked in a snapshot of its own.

use std::sync::Arc;

use roster_core::{
    Head, UserId,
    list::{Page, PageKey, PageQuery},
    page::{Flow, Walk},
    plan::{Beginning, Driver, Plan, Range, SORTED_ROWS_MAX},
};
use tokio_postgres::Row;

use super::{
    candidates,
    found::{self, Found},
    parameters::Parameters,
    range::Bounds,
    row::{behind, key_of, take},
    sql::{Shape, Start},
    total,
};
use crate::{columns::id_column, connect::Connection, pool::QueryResult, reads, writer::SNAPSHOT};

/// Rows of the first portion; each further one is four times as large.
const PORTION_MIN: usize = 64;
const PORTION_MAX: usize = 1024;

/// A snapshot of the database.
pub(super) struct Snapshot<'c> {
    connection: &'c Connection,
    pub(super) head: Head,
}

/// Reads such a page.
pub(crate) async fn walked(connection: Arc<Connection>, query: &PageQuery) -> QueryResult<Page> {
    let work = async {
        let head = reads::head(&connection).await?;
        let snapshot = Snapshot { connection: &connection, head };
        let total = if query.count { Some(total::count(&snapshot, query).await?) } else { None };
        let mut walk = Walk::new(query);
        if query.limit > 0 {
            fill(&snapshot, query, &mut walk).await?;
        }
        Ok(walk.page(head.position, total))
    };
    connection.transaction(SNAPSHOT, work).await
}

impl Snapshot<'_> {
    /// The rows of a statement.
    pub(super) async fn rows(&self, sql: &str, parameters: &Parameters) -> QueryResult<Vec<Row>> {
        self.connection.query(sql, &parameters.values()).await
    }

    /// The ids of a statement whose last parameter is its limit.
    pub(super) async fn ids(
        &self,
        sql: &str,
        keys: &[&(dyn tokio_postgres::types::ToSql + Sync)],
        limit: usize,
    ) -> QueryResult<Vec<UserId>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = [keys, &[&limit]].concat();
        let rows = self.connection.query(sql, &parameters).await?;
        Ok(rows.iter().map(|row| id_column(row, 0, "users.id")).collect::<Result<_, _>>()?)
    }
}

/// Fills a page, or counts.
pub(super) async fn fill(
    snapshot: &Snapshot<'_>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
) -> QueryResult<()> {
    let plan = Plan::of(query);
    let (driver, sorts) = (&plan.driver, plan.sorts);
    let shape = Shape { driver, sort: query.sort, equals: &query.equals };
    if let (Driver::Range(range), false) = (driver, sorts) {
        return along(snapshot, &shape, Some(range), query, walk).await;
    }
    let by_order = Shape { driver: &Driver::Sort, ..shape };
    if matches!(driver, Driver::Lookups(_) | Driver::Words | Driver::Range(_)) {
        return match found::ids(snapshot, driver, query).await? {
            Some(found) => among(snapshot, query, &plan, walk, found).await,
            None => along(snapshot, &by_order, None, query, walk).await,
        };
    }
    if *driver == Driver::Ids {
        let ids = query.equals.ids.clone().unwrap_or_default();
        return candidates::fill_ids(snapshot, &shape, query, walk, ids).await;
    }
    if sorts || *driver == Driver::Username {
        let places = candidates::driven(snapshot, &shape).await?;
        return if places.len() > SORTED_ROWS_MAX {
            along(snapshot, &by_order, None, query, walk).await
        } else {
            candidates::walk_places(snapshot, &shape, query, walk, places).await
        };
    }
    along(snapshot, &shape, None, query, walk).await
}

/// Walks the rows of users that were found.
async fn among(
    snapshot: &Snapshot<'_>,
    query: &PageQuery,
    plan: &Plan,
    walk: &mut Walk<'_>,
    found: Found,
) -> QueryResult<()> {
    if plan.meets_filter(query) {
        walk.meets_filter();
    }
    if found.by_all_words {
        walk.has_words();
    }
    let shape = Shape { driver: &Driver::Ids, sort: query.sort, equals: &query.equals };
    candidates::fill_ids(snapshot, &shape, query, walk, found.ids).await
}

/// Walks along an index that has the order of the page, or along a range of it.
async fn along(
    snapshot: &Snapshot<'_>,
    shape: &Shape<'_>,
    range: Option<&Range>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
) -> QueryResult<()> {
    let by = shape.sort.by;
    let mut after: Option<PageKey> = match (range, shape.driver.beginning(query)) {
        (None, Beginning::Nowhere) => return Ok(()),
        (None, Beginning::Start) => None,
        (None, Beginning::After(after)) => Some(after.clone()),
        (Some(_), _) => query.after.clone(),
    };
    let most = query.examined_max.max(1).saturating_add(1);
    let mut portion = query.limit.saturating_add(2).clamp(PORTION_MIN, PORTION_MAX).min(most);
    loop {
        let mut parameters = Parameters::new(portion, after.as_ref());
        let sql = if let Some(range) = range {
            let (bounds, start) = Bounds::after(range, shape.sort, after.as_ref());
            shape.rows_in(&bounds, start, &mut parameters)
        } else {
            let start = if after.is_some() { Start::After } else { Start::First };
            shape.rows(start, &mut parameters)
        };
        let rows = snapshot.rows(&sql, &parameters).await?;
        for row in behind(&rows, after.as_ref(), shape.sort)? {
            if take(walk, row, by)? == Flow::Stop {
                return Ok(());
            }
        }
        let last = match rows.last() {
            Some(last) if rows.len() >= portion => last,
            _ => return Ok(()),
        };
        after = Some(PageKey { key: key_of(last, 2, by)?, id: id_column(last, 0, "users.id")? });
        portion = portion.saturating_mul(4).min(PORTION_MAX);
    }
}
