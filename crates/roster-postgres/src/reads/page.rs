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
use roster_engine::{Cell, Parameters, corrupt, is_behind, read_page, rows, rows_along, show_row};

use crate::{
    connect::Connection,
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
        parameters.0.push(Cell::from(tenant));
        let sql = with_head(&rows, query.sort.by, parameters.0.len());
        fits.then_some(Self { tenant, query, plan, sql, parameters })
    }

    pub(crate) async fn read(&self, connection: Arc<Connection>) -> QueryResult<Page> {
        let (query, sort) = (self.query, self.query.sort);
        let db = Rows(&connection, self.tenant);
        let rows = rows(db, &self.sql, &self.parameters.0).await?;
        let (head, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
        let head = Head {
            position: head.number(1, "log_head")?,
            active: head.number(4, "log_head")?,
            suspended: head.number(5, "log_head")?,
            deleted: 0,
        };
        let counter = self.plan.counter(query).filter(|_| query.count);
        let mut walk = Walk::new(query, self.plan.residual.clone());
        for (nth, row) in rows.iter().enumerate() {
            if nth == 0 && !is_behind(row, query.after.as_ref(), sort)? {
                continue;
            }
            if show_row(&mut walk, row, sort.by, None)? == Flow::Stop {
                break;
            }
        }
        let total = counter.map(|counter| Total::Exactly(head.count(counter)));
        Ok(walk.page(head.position, total))
    }
}

/// A statement with the head of the log in its first row, and then the rows of another statement:
/// both are one snapshot. The parameter of this number is the tenant.
pub(crate) fn with_head(rows: &str, by: SortBy, tenant: usize) -> String {
    let kind = match by {
        SortBy::Id => "uuid",
        SortBy::UpdatedAt => "bigint",
        SortBy::Username | SortBy::Email | SortBy::FamilyName | SortBy::Name => "bytea",
    };
    format!(
        "SELECT NULL::uuid, position, NULL::{kind}, NULL::text, active, suspended FROM log_head \
         CROSS JOIN tenants WHERE number = 1 AND tenants.id = ${tenant} UNION ALL \
         (SELECT rows.*, NULL::bigint, NULL::bigint FROM ({rows}) \
         AS rows)"
    )
}
