//! Builds a page row by row.
//!
//! A page is full at its limit of users or bytes. The walk then continues to the next match, so a
//! page has a `next` only if another page exists. Every row counts as examined.

use bytes::Bytes;

use super::residual::Residual;
use crate::{
    failure::StoreError,
    filter::{Filter, Memberships},
    id::UserId,
    list::{Page, PageKey, PageQuery, SortKey, Total},
    user::Stored,
};

/// Whether the walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Pass the next row.
    Next,
    /// The page is complete.
    Stop,
}

/// A page under construction.
pub struct Walk<'q> {
    query: &'q PageQuery,
    items: Vec<Stored>,
    next: Option<PageKey>,
    examined: Option<usize>,
    matched: usize,
    residual: Residual<'q>,
    /// Whether matches are only counted.
    counts: bool,
    bytes: usize,
    rows_examined: usize,
    last: Option<PageKey>,
}

/// A row, as far as the statement returned it.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    /// The user's id.
    pub id: UserId,
    /// The user's version.
    pub version: i64,
    /// The record, if the row matches the conditions that the statement tested.
    pub record: Option<&'r Bytes>,
    /// The groups of the user, if [`Walk::group_filter`] reads them.
    pub groups: Option<&'r Memberships>,
}

impl<'q> Walk<'q> {
    /// A walk for the page of a query, which tests the rows with `residual`.
    pub fn new(query: &'q PageQuery, residual: Option<Filter>) -> Self {
        Self {
            query,
            items: Vec::with_capacity(query.limit.min(1000)),
            next: None,
            examined: None,
            matched: 0,
            residual: Residual::new(residual, &query.words),
            counts: false,
            bytes: 0,
            rows_examined: 0,
            last: None,
        }
    }

    /// A walk that only counts matches.
    pub fn counting(query: &'q PageQuery, residual: Option<Filter>) -> Self {
        Self { counts: true, items: Vec::new(), ..Self::new(query, residual) }
    }

    /// Declares that all rows have the words of the search.
    pub const fn has_words(&mut self) {
        self.residual.has_words();
    }

    /// The filter that rows are tested with, if it reads the groups of users.
    pub fn group_filter(&self) -> Option<&Filter> {
        self.residual.group_filter()
    }

    /// The page, with the log position of its snapshot.
    pub fn page(self, position: i64, total: Option<Total>) -> Page {
        let Self { items, next, examined, .. } = self;
        Page { items, next, position, total, examined }
    }

    /// The number of users that matched.
    pub const fn matched(&self) -> usize {
        self.matched
    }

    /// Whether all rows were examined.
    pub const fn is_complete(&self) -> bool {
        self.next.is_none()
    }

    /// Adds a row. `key` is called only if a further page may start after this row.
    pub fn take(
        &mut self,
        row: &Row<'_>,
        key: impl Fn() -> Result<SortKey, StoreError>,
    ) -> Result<Flow, StoreError> {
        let examined_max = self.query.examined_max.max(1);
        if self.rows_examined >= examined_max {
            self.examined = (!self.is_full()).then_some(self.rows_examined);
            self.next = self.last.take();
            return Ok(Flow::Stop);
        }
        self.rows_examined += 1;
        let mut ends = self.rows_examined == examined_max;
        let record = match row.record {
            Some(record) if !self.residual.is_empty() => {
                let none = Memberships::default();
                let groups = row.groups.unwrap_or(&none);
                self.residual.matches(row.id, record, groups)?.then_some(record)
            }
            record => record,
        };
        if let Some(record) = record {
            if self.is_full() {
                self.next = self.last.take();
                return Ok(Flow::Stop);
            }
            self.matched += 1;
            if !self.counts {
                self.bytes += record.len();
                let record = record.clone();
                self.items.push(Stored { id: row.id, version: row.version, record });
            }
            ends |= self.is_full();
        }
        if ends {
            self.last = Some(PageKey { key: key()?, id: row.id });
        }
        Ok(Flow::Next)
    }

    fn is_full(&self) -> bool {
        self.matched >= self.query.limit || self.bytes >= self.query.bytes_max
    }
}
