//! Filling a page row by row, and knowing when to stop.
//!
//! A page is full at its limit or its bytes; then the next match is looked for, so that a page
//! says that there is a next one only if there is. Whatever is looked at counts.

use bytes::Bytes;

use super::residual::Residual;
use crate::{
    failure::StoreError,
    filter::Filter,
    id::UserId,
    list::{Page, PageKey, PageQuery, SortKey, Total},
    user::Stored,
};

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Show the next row.
    Next,
    /// The page is done.
    Stop,
}

/// A page that is being filled.
pub struct Walk<'q> {
    query: &'q PageQuery,
    items: Vec<Stored>,
    next: Option<PageKey>,
    examined: Option<usize>,
    matched: usize,
    residual: Residual<'q>,
    /// Whether the matches are counted alone.
    counts: bool,
    bytes: usize,
    looked_at: usize,
    last: Option<PageKey>,
}

/// A row: what the statement showed of it.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    /// Whose it is.
    pub id: UserId,
    /// The version of the user.
    pub version: i64,
    /// The record, if the row meets the conditions.
    pub record: Option<&'r [u8]>,
}

impl<'q> Walk<'q> {
    /// A walk that fills the page of a query. The rows are still to be tested by `residual`.
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
            looked_at: 0,
            last: None,
        }
    }

    /// A walk that keeps no user.
    pub fn counting(query: &'q PageQuery, residual: Option<Filter>) -> Self {
        Self { counts: true, items: Vec::new(), ..Self::new(query, residual) }
    }

    /// All rows are known to have the words that are searched for.
    pub const fn has_words(&mut self) {
        self.residual.has_words();
    }

    /// The page as it was filled, with the log position it reflects.
    pub fn page(self, position: i64, total: Option<Total>) -> Page {
        let Self { items, next, examined, .. } = self;
        Page { items, next, position, total, examined }
    }

    /// How many users met the conditions.
    pub const fn matched(&self) -> usize {
        self.matched
    }

    /// Whether all rows were looked at.
    pub const fn is_complete(&self) -> bool {
        self.next.is_none()
    }

    /// Takes a row. `key` is asked for only where the page may have to go on after this row.
    pub fn take(
        &mut self,
        row: &Row<'_>,
        key: impl Fn() -> Result<SortKey, StoreError>,
    ) -> Result<Flow, StoreError> {
        let examined_max = self.query.examined_max.max(1);
        if self.looked_at >= examined_max {
            self.examined = (!self.is_full()).then_some(self.looked_at);
            self.next = self.last.take();
            return Ok(Flow::Stop);
        }
        self.looked_at += 1;
        let mut ends = self.looked_at == examined_max;
        let record = match row.record {
            Some(record) if !self.residual.is_empty() => {
                self.residual.matches(row.id, record)?.then_some(record)
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
                let record = Bytes::copy_from_slice(record);
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
