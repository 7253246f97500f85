//! A page that is one statement: a range has its rows in its order, and no others, or has at most
//! one user.

use std::sync::Arc;

use roster_core::{
    Head,
    list::{Page, PageQuery, Total},
    page::{Flow, Walk},
    plan::{Plan, Source},
};

use super::{
    parameters::Parameters,
    row::{behind, take},
    sql::{along, with_head},
};
use crate::{
    columns::{column, corrupt},
    connect::Connection,
    query_error::QueryResult,
};

/// A page of more users is read in a snapshot of its own: other queries wait for it.
const SHORT_PAGE_MAX: usize = 500;

/// Such a page.
pub(crate) struct Direct<'q> {
    query: &'q PageQuery,
    plan: Plan,
    sql: String,
    parameters: Parameters,
}

impl<'q> Direct<'q> {
    /// The page of a query, if it is such a page.
    pub(crate) fn of(query: &'q PageQuery) -> Option<Self> {
        let plan = Plan::of(query);
        let fits = (1..=SHORT_PAGE_MAX).contains(&query.limit)
            && plan.is_bounded(query)
            && (!query.count || plan.counter(query).is_some());
        let Source::Along(range) = &plan.source else { return None };
        let mut parameters = Parameters::default();
        // One row says that there is a next page; one may be the row that the page begins after.
        let (after, limit) = (query.after.as_ref(), query.limit.saturating_add(2));
        let rows = along(range, query.sort, after, plan.status, limit, &mut parameters);
        let sql = with_head(&rows, query.sort.by);
        fits.then_some(Self { query, plan, sql, parameters })
    }

    /// Reads the page.
    pub(crate) async fn read(&self, connection: Arc<Connection>) -> QueryResult<Page> {
        let rows = connection.query(&self.sql, &self.parameters.values()).await?;
        let (head, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
        let head = Head {
            position: column(head, 1, "log_head")?,
            active: column(head, 4, "log_head")?,
            suspended: column(head, 5, "log_head")?,
            deleted: 0,
        };
        let counter = self.plan.counter(self.query).filter(|_| self.query.count);
        let mut walk = Walk::new(self.query, self.plan.residual.clone());
        for row in behind(rows, self.query.after.as_ref(), self.query.sort)? {
            if take(&mut walk, row, self.query.sort.by)? == Flow::Stop {
                break;
            }
        }
        let total = counter.map(|counter| Total::Exactly(head.count(counter)));
        Ok(walk.page(head.position, total))
    }
}
