//! Builds a page row by row.
//!
//! A page is full at its limit of users or bytes. The walk then continues to the next match, so a
//! page has a `next` only if another page exists. Every row counts as examined. A page also ends
//! once its rows needed a number of comparisons, but never before its first row.

use bytes::Bytes;

use super::residual::Residual;
use crate::{
    failure::StoreError,
    group::GroupRef,
    id::UserId,
    read::{
        filter::{Filter, Memberships},
        list::{Page, PageKey, PageQuery, SortKey, Total},
    },
    user::Stored,
    work::Work,
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
    work: Work,
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
            work: Work::at_low_priority(query.comparisons_max),
        }
    }

    /// A walk that only counts matches.
    pub fn counting(query: &'q PageQuery, residual: Option<Filter>) -> Self {
        Self { counts: true, items: Vec::new(), ..Self::new(query, residual) }
    }

    /// Lowers the number of comparisons after which the page ends, so that it needs no pauses.
    pub fn compare_at_most(&mut self, comparisons: u64) {
        self.work = Work::new(comparisons.min(self.query.comparisons_max));
    }

    /// Whether the rows needed as many comparisons as a page may.
    pub fn is_out_of_work(&self) -> bool {
        self.work.left() == 0
    }

    /// Whether any row was examined.
    pub const fn has_examined(&self) -> bool {
        self.rows_examined > 0
    }

    /// Evaluates the filter's tests of groups for another group of a user.
    pub fn add_group(&self, memberships: &mut Memberships, group: &GroupRef) {
        if let Some(filter) = self.group_filter() {
            filter.add_group(memberships, group, &self.work);
        }
    }

    /// Ends the page after the last examined row.
    pub fn end_after(&mut self, last: PageKey) {
        self.examined = (!self.is_full()).then_some(self.rows_examined);
        self.next = Some(last);
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
        let is_out_of_work = self.has_examined() && self.is_out_of_work();
        if self.rows_examined >= examined_max || is_out_of_work {
            self.examined = (!self.is_full()).then_some(self.rows_examined);
            self.next = self.last.take();
            return Ok(Flow::Stop);
        }
        self.rows_examined += 1;
        let record = match row.record {
            Some(record) if !self.residual.is_empty() => {
                let none = Memberships::default();
                let groups = row.groups.unwrap_or(&none);
                let matched = self.residual.matches(record, groups, &self.work);
                matched.map_err(|fault| corrupt(row.id, &fault.member))?.then_some(record)
            }
            record => record,
        };
        let mut ends = self.rows_examined == examined_max || self.is_out_of_work();
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

fn corrupt(id: UserId, member: &str) -> StoreError {
    StoreError::Corrupt { place: format!("users.record of {id}, {member}") }
}
