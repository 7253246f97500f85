//! Reads tables in pages of rows in the order of ids, so that several tables can be read in
//! parallel.

use std::{collections::VecDeque, fmt};

use bytes::Bytes;
use roster_core::UserId;

use super::{CheckReader, Line, each};
use crate::database::{Cell, Values};

pub(super) const PAGE: usize = 200;

impl Values {
    /// An integer; 0 if the value is absent.
    pub(super) fn integer(&self, index: usize) -> i64 {
        self.optional_integer(index).unwrap_or_default()
    }

    /// Bytes; empty if the value is absent.
    pub(super) fn octets(&self, index: usize) -> &[u8] {
        self.optional_octets(index).unwrap_or_default()
    }

    pub(super) fn optional_octets(&self, index: usize) -> Option<&[u8]> {
        self.bytes(index, "").ok().map(|bytes| &**bytes)
    }

    pub(super) fn optional_integer(&self, index: usize) -> Option<i64> {
        self.number(index, "").ok()
    }

    fn lossy_text(&self, index: usize) -> String {
        String::from_utf8_lossy(self.octets(index)).into_owned()
    }
}

/// A row of `users`, `deleted_users` or `groups`: id, version, record and other columns.
pub(super) struct Item(pub(super) Values);

impl Item {
    pub(super) fn id(&self) -> &[u8] {
        self.0.octets(0)
    }

    pub(super) fn version(&self) -> i64 {
        self.0.integer(1)
    }

    pub(super) fn record(&self) -> &[u8] {
        self.0.octets(2)
    }

    /// The number in a further column.
    pub(super) fn integer(&self, index: usize) -> i64 {
        self.0.integer(index)
    }

    /// Compares the record with the row: its id, its version, and its canonical form. Returns
    /// `None` if the record cannot be parsed.
    pub(super) fn compare<T>(
        &self,
        line: &mut Line,
        place: &str,
        parsed: Result<T, impl fmt::Display>,
        written: impl Fn(&T) -> (UserId, i64, Bytes),
    ) -> Option<T> {
        line.count += 1;
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(corrupt) => {
                line.fault(&place, &corrupt.to_string());
                return None;
            }
        };
        let (id, version, record) = written(&parsed);
        line.require(id.as_bytes() == self.id(), &place, "the record has another id");
        line.require(version == self.version(), &place, "the record has another version");
        line.require(record == self.record(), &place, "the record is not spelt as it is written");
        Some(parsed)
    }

    /// Compares the columns after the record with the values that follow from it.
    pub(super) fn compare_columns(
        &self,
        line: &mut Line,
        place: &str,
        made: impl IntoIterator<Item = (&'static str, Cell)>,
    ) {
        for (stored, (column, made)) in self.0.0.iter().skip(3).zip(made) {
            line.require(made == *stored, &place, &format!("{column} is not the record's"));
        }
    }
}

/// A text, or no value.
pub(super) fn text(text: Option<&String>) -> Cell {
    text.map_or(Cell::Null, |text| Cell::from(text.as_str()))
}

/// A row of `events`, without the actor and the request.
pub(super) struct Entry {
    pub(super) id: Vec<u8>,
    pub(super) position: i64,
    pub(super) kind: String,
    pub(super) at: i64,
    pub(super) version: i64,
    pub(super) changed: String,
    pub(super) record: Vec<u8>,
    /// Whether the history of the purged user is still to be erased.
    pub(super) is_being_erased: bool,
}

impl Entry {
    pub(super) fn of(row: &Values) -> Self {
        Self {
            id: row.octets(0).to_vec(),
            position: row.integer(1),
            kind: row.lossy_text(2),
            at: row.integer(3),
            version: row.integer(4),
            changed: row.lossy_text(5),
            record: row.octets(6).to_vec(),
            is_being_erased: row.integer(7) != 0,
        }
    }
}

/// The rows of a table in the order of ids, read one page at a time.
pub(super) struct Pages {
    sql: String,
    rows: VecDeque<Values>,
    /// The key of the last row that was read; `None` after the last page.
    after: Option<Vec<Cell>>,
    /// Whether a page did not follow the page before it. Nothing more is read then.
    pub(super) is_out_of_order: bool,
}

impl Pages {
    /// Starts with the statement of a page, without its limit, and a key before all rows. `$1` is
    /// the tenant.
    pub(super) fn begin(sql: &str, before: Vec<Cell>) -> Self {
        let sql = format!("{sql} LIMIT {PAGE}");
        Self { sql, rows: VecDeque::new(), after: Some(before), is_out_of_order: false }
    }

    pub(super) async fn next_id<R: CheckReader>(
        &mut self,
        reader: R,
    ) -> Result<Option<&[u8]>, R::Error> {
        if self.rows.is_empty()
            && let Some(after) = self.after.take()
        {
            let rows = &mut self.rows;
            let mut parameters = vec![reader.tenant().into()];
            parameters.extend(after.iter().cloned());
            each(reader, &self.sql, &parameters, |row| rows.push_back(row)).await?;
            let key = |row: &Values| row.0.iter().take(after.len()).cloned().collect();
            if let Some(last) = self.rows.back().map(key) {
                self.is_out_of_order = last <= after;
                self.after = (self.rows.len() == PAGE && last > after).then_some(last);
            }
        }
        Ok(self.rows.front().map(|row| row.octets(0)))
    }

    /// The next row if it has this id.
    pub(super) async fn take<R: CheckReader>(
        &mut self,
        reader: R,
        id: &[u8],
    ) -> Result<Option<Values>, R::Error> {
        let is_next = self.next_id(reader).await? == Some(id);
        Ok(if is_next { self.rows.pop_front() } else { None })
    }
}

#[cfg(test)]
mod tests {
    use roster_core::{PolicyKey, StoreError, TenantId, UserId, page::Flow};

    use super::*;
    use crate::{Database, Dialect, check::SearchRow};

    /// A damaged index: every page has the same rows.
    #[derive(Clone, Copy)]
    struct Damaged;

    impl Dialect for Damaged {
        fn any(parameter: &str) -> String {
            parameter.to_owned()
        }

        const ABSENT_KEY: &str = "NULL";

        fn indexed_by(_index: &str) -> String {
            String::new()
        }
    }

    impl Database for Damaged {
        type Error = StoreError;

        fn tenant(self) -> TenantId {
            TenantId::DEFAULT
        }

        fn of(self, _tenant: TenantId) -> Self {
            self
        }

        async fn each(
            self,
            _sql: &str,
            _parameters: &[Cell],
            mut show: impl FnMut(Values) -> Result<Flow, StoreError>,
        ) -> Result<(), StoreError> {
            (0..PAGE).try_for_each(|_| show(Values(vec![Cell::from([1; 16].as_slice())])).map(drop))
        }

        async fn ids(self, _sql: &str, _parameters: &[Cell]) -> Result<Vec<UserId>, StoreError> {
            Ok(Vec::new())
        }

        async fn execute(self, _sql: &str, _parameters: &[Cell]) -> Result<u64, StoreError> {
            Ok(0)
        }
    }

    impl CheckReader for Damaged {
        async fn missing(self, _rows: &[SearchRow]) -> Result<Vec<usize>, StoreError> {
            Ok(Vec::new())
        }

        fn count_shared_sql(_key: PolicyKey) -> String {
            String::new()
        }
    }

    #[tokio::test]
    async fn pages_that_do_not_follow_one_another_end() {
        let mut pages = Pages::begin("", vec![Cell::from([].as_slice())]);
        let mut rows = 0;
        while pages.take(Damaged, &[1; 16]).await.unwrap().is_some() {
            rows += 1;
            assert!(rows <= 10 * PAGE, "it does not end");
        }
        assert_eq!((rows, pages.is_out_of_order), (2 * PAGE, true));
    }
}
