//! A page that is one statement: one index has its rows, all of them and no others, in its order.

use std::sync::Arc;

use roster_core::{
    Head,
    list::{Page, PageQuery},
    page::{Flow, Walk},
    plan::{Beginning, Driver, Plan},
};

use super::{
    parameters::Parameters,
    range::Bounds,
    row::{behind, take},
    sql::{Shape, Start, with_head},
    total,
};
use crate::{
    columns::{column, corrupt},
    connect::Connection,
    pool::QueryResult,
};

/// A page of more users is read in a snapshot of its own: others wait behind it.
const SHORT_PAGE_MAX: usize = 500;

/// Such a page.
#[derive(Debug)]
pub(crate) struct Direct<'q> {
    query: &'q PageQuery,
    sql: String,
    parameters: Parameters,
}

impl<'q> Direct<'q> {
    /// The page of a query, if it is such a one.
    pub(crate) fn of(query: &'q PageQuery) -> Option<Self> {
        let plan = Plan::of(query);
        let fits = (1..=SHORT_PAGE_MAX).contains(&query.limit)
            && plan.is_bounded(query)
            && (!query.count || total::is_kept(query));
        if !fits {
            return None;
        }
        let shape = Shape { driver: &plan.driver, sort: query.sort, equals: &query.equals };
        // One tells that there is a next page; one may be the row at the place.
        let limit = query.limit.saturating_add(2);
        let mut parameters = Parameters::new(limit, query.after.as_ref());
        let rows = match &plan.driver {
            Driver::Ids | Driver::Lookups(_) | Driver::Words => return None,
            Driver::Range(range) => {
                let (bounds, start) = Bounds::after(range, query.sort, query.after.as_ref());
                shape.rows_in(&bounds, start, &mut parameters)
            }
            Driver::Username => shape.rows(Start::First, &mut parameters),
            Driver::Email
            | Driver::ExternalId
            | Driver::PhoneNumber
            | Driver::Status
            | Driver::Sort => match plan.driver.beginning(query) {
                Beginning::Start => shape.rows(Start::First, &mut parameters),
                Beginning::After(_) => shape.rows(Start::After, &mut parameters),
                Beginning::Nowhere => return None,
            },
        };
        Some(Self { query, sql: with_head(&rows, query.sort.by), parameters })
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
        let total = self.query.count.then(|| total::kept(self.query, head)).flatten();
        let mut walk = Walk::new(self.query);
        for row in behind(rows, self.query.after.as_ref(), self.query.sort)? {
            if take(&mut walk, row, self.query.sort.by)? == Flow::Stop {
                break;
            }
        }
        Ok(walk.page(head.position, total))
    }
}
