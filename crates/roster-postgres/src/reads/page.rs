//! One page of the collection, with its position and total, in one snapshot.
//!
//! A page of the rows of one range is one statement on a shared connection. Every other page has a
//! separate snapshot.

use std::sync::Arc;

use roster_core::{
    Head, TenantId,
    filter::Filter,
    list::{Page, PageQuery, SortBy, Total},
    page::{Flow, Walk},
    plan::{Plan, Source},
};
use roster_engine::{
    Cell, Parameters, corrupt, is_behind, is_the_same, read_page, rows, rows_along, show_row,
};

use crate::{
    connection::Connection,
    failure::QueryResult,
    reads::rows::{Rows, snapshot},
};

/// Reads a page of several steps.
pub(crate) async fn walked(
    connection: Arc<Connection>,
    tenant: TenantId,
    query: Arc<PageQuery>,
) -> QueryResult<Page> {
    let plan = Plan::of(&query);
    snapshot(Rows(&connection, tenant), |db, head| read_page(db, head, &query, plan)).await
}

/// The maximum number of users of a page that is read on a shared connection. A larger page would
/// delay other queries on that connection, so it is read in a separate snapshot.
const SHORT_PAGE_MAX: usize = 500;

/// A page that one statement can read: either a range contains exactly its rows in its order, or it
/// has at most one user.
pub(crate) struct Direct<'q> {
    tenant: TenantId,
    query: &'q PageQuery,
    plan: Plan,
    sql: String,
    parameters: Parameters,
    /// The index that the schema names and that the rows are along.
    kind: Option<i16>,
}

impl<'q> Direct<'q> {
    /// The page of a query, if one statement can read it.
    pub(crate) fn of(tenant: TenantId, query: &'q PageQuery) -> Option<Self> {
        let plan = Plan::of(query);
        let fits = (1..=SHORT_PAGE_MAX).contains(&query.limit)
            && plan.is_bounded(query)
            && !plan.residual.as_ref().is_some_and(Filter::reads_groups)
            && (!query.count || plan.counter(query).is_some());
        let Source::Along(range) = &plan.source else { return None };
        let mut parameters = Parameters::default();
        // One additional row shows whether there is a next page. Another one may be the row that
        // the page begins after.
        let (after, limit) = (query.after.as_ref(), query.limit.saturating_add(2));
        let rows = rows_along::<Rows<'_>>(
            tenant,
            range,
            query.sort,
            after,
            plan.status,
            limit,
            &mut parameters,
        );
        let kind = range.index.kind();
        parameters.0.push(Cell::from(tenant));
        let head = parameters.0.len();
        let mut sql = with_head(&rows, query.sort.by, head);
        if let Some(kind) = kind {
            parameters.0.push(i64::from(kind).into());
            sql = with_index(&sql, head);
        }
        fits.then_some(Self { tenant, query, plan, sql, parameters, kind })
    }

    /// Reads the page; `None` if the index that the schema names does not have exactly its rows in
    /// this snapshot.
    pub(crate) async fn read(&self, connection: Arc<Connection>) -> QueryResult<Option<Page>> {
        let query = self.query;
        let db = Rows(&connection, self.tenant);
        let rows = rows(db, &self.sql, &self.parameters.0).await?;
        let (head, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
        if let Some(kind) = self.kind {
            let Ok(stored) = head.bytes(6, "settings.value") else { return Ok(None) };
            let selects = !self.plan.selecting().is_empty();
            let is_exact = !selects || matches!(head.0.get(7), Some(Cell::Null));
            if !is_exact || !is_the_same(&query.schema, kind, stored)? {
                return Ok(None);
            }
        }
        let head = Head {
            position: head.number(1, "log_head")?,
            active: head.number(4, "log_head")?,
            suspended: head.number(5, "log_head")?,
            deleted: 0,
        };
        let counter = self.plan.counter(query).filter(|_| query.count);
        let mut walk = Walk::new(query, self.plan.residual.clone());
        for (nth, row) in rows.iter().enumerate() {
            if nth == 0 && !is_behind(row, query.after.as_ref(), query)? {
                continue;
            }
            if show_row(&mut walk, row, query, None)? == Flow::Stop {
                break;
            }
        }
        let total = counter.map(|counter| Total::Exactly(head.count(counter)));
        Ok(Some(walk.page(head.position, total)))
    }
}

/// The statement of [`with_head`] with two more columns in its first row: the stored indexes of the
/// tenant, and a user with a value of another type than the index has. The parameter after the
/// tenant is the number of the index.
pub(crate) fn with_index(sql: &str, tenant: usize) -> String {
    let kind = tenant + 1;
    let stored = format!(
        "active, suspended, (SELECT value FROM settings WHERE tenant = ${tenant} \
         AND name = 'indexes'), (SELECT id FROM further_keys WHERE tenant = ${tenant} \
         AND kind = ${kind} AND key = '0' ORDER BY kind, key, id LIMIT 1) FROM log_head"
    );
    sql.replacen("active, suspended FROM log_head", &stored, 1).replacen(
        "NULL::bigint, NULL::bigint FROM (",
        "NULL::bigint, NULL::bigint, NULL::bytea, NULL::uuid FROM (",
        1,
    )
}

/// A statement with the head of the log in its first row, and then the rows of another statement:
/// both are one snapshot. The parameter of this number is the tenant.
pub(crate) fn with_head(rows: &str, by: SortBy, tenant: usize) -> String {
    let kind = match by {
        // The key of a row is a NULL without a type.
        SortBy::Id => "text",
        SortBy::UpdatedAt => "bigint",
        SortBy::Username
        | SortBy::Email
        | SortBy::FamilyName
        | SortBy::Name
        | SortBy::ExpiresAt
        | SortBy::Indexed(_) => "bytea",
    };
    format!(
        "SELECT NULL::uuid, position, NULL::{kind}, NULL::text, active, suspended FROM log_head \
         CROSS JOIN tenants WHERE number = 1 AND tenants.id = ${tenant} UNION ALL \
         (SELECT rows.*, NULL::bigint, NULL::bigint FROM ({rows}) \
         AS rows)"
    )
}
