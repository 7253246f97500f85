//! Filling a page row by row, and knowing when to stop.
//!
//! A page is full at its limit or its bytes; then the next match is looked for, so that a page
//! says that there is a next one only if there is. Whatever is looked at counts.

use super::residual::Residual;
use bytes::Bytes;
use roster_core::{
    Head, StoreError, Stored, UserId,
    list::{Page, PageKey, PageQuery, SortKey, Total},
};

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Show the next row.
    Next,
    /// The page is done.
    Stop,
}

/// A page that is being filled.
pub(super) struct Walk<'q> {
    query: &'q PageQuery,
    pub(super) items: Vec<Stored>,
    pub(super) next: Option<PageKey>,
    pub(super) examined: Option<usize>,
    /// How many users met the conditions.
    pub(super) matched: usize,
    residual: Residual<'q>,
    /// Whether the matches are counted alone.
    counts: bool,
    bytes: usize,
    looked_at: usize,
    last: Option<PageKey>,
}

/// A row: what the statement showed of it.
pub(super) struct Row<'r> {
    pub(super) id: UserId,
    pub(super) version: i64,
    /// The record, if the row meets the conditions.
    pub(super) record: Option<&'r [u8]>,
}

impl<'q> Walk<'q> {
    pub(super) fn new(query: &'q PageQuery) -> Self {
        Self {
            query,
            items: Vec::with_capacity(query.limit.min(1000)),
            next: None,
            examined: None,
            matched: 0,
            residual: Residual::of(query),
            counts: false,
            bytes: 0,
            looked_at: 0,
            last: None,
        }
    }

    /// A walk that keeps no user.
    pub(super) fn counting(query: &'q PageQuery) -> Self {
        Self { counts: true, items: Vec::new(), ..Self::new(query) }
    }

    /// All rows are known to have the words that are searched for.
    pub(super) const fn has_words(&mut self) {
        self.residual.has_words();
    }

    /// All rows are known to meet the filter.
    pub(super) const fn meets_filter(&mut self) {
        self.residual.meets_filter();
    }

    /// The page as it was filled, with the head it reflects.
    pub(super) fn page(self, head: Head, total: Option<Total>) -> Page {
        let Self { items, next, examined, .. } = self;
        Page { items, next, position: head.position, total, examined }
    }

    /// Whether all rows were looked at.
    pub(super) const fn is_complete(&self) -> bool {
        self.next.is_none()
    }

    /// Takes a row. `key` is asked for only where the page may have to go on after this row.
    pub(super) fn take(
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
