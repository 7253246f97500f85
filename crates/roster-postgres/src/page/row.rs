//! The rows of a page as the walk takes them.

use std::cmp::Ordering;

use roster_core::{
    StoreError, Timestamp,
    list::{PageKey, Sort, SortBy, SortKey},
    page::{Flow, Walk, order},
};
use tokio_postgres::Row;

use crate::columns::{column, id_column, sort_text_of};

/// Shows a row to the walk.
pub(super) fn take(walk: &mut Walk<'_>, row: &Row, by: SortBy) -> Result<Flow, StoreError> {
    let record: Option<&str> = column(row, 3, "users.record")?;
    let shown = roster_core::page::Row {
        id: id_column(row, 0, "users.id")?,
        version: column(row, 1, "users.version")?,
        record: record.map(str::as_bytes),
    };
    walk.take(&shown, || key_of(row, 2, by))
}

/// The rows that come after a place, of rows in order of which at most the first one does not.
pub(super) fn behind<'r>(
    rows: &'r [Row],
    after: Option<&PageKey>,
    sort: Sort,
) -> Result<&'r [Row], StoreError> {
    let (Some(after), Some((first, rest))) = (after, rows.split_first()) else { return Ok(rows) };
    let place = (key_of(first, 2, sort.by)?, id_column(first, 0, "users.id")?);
    let begin = (after.key.clone(), after.id);
    let is_behind = order::compare(&place, &begin, sort.direction) == Ordering::Greater;
    Ok(if is_behind { rows } else { rest })
}

/// The sort key in a column.
pub(super) fn key_of(row: &Row, index: usize, by: SortBy) -> Result<SortKey, StoreError> {
    match by {
        SortBy::Id => Ok(SortKey::Id),
        SortBy::UpdatedAt => {
            let moment = column(row, index, "users.updated_at")?;
            Ok(SortKey::Time(Timestamp::from_millis(moment)))
        }
        SortBy::Username | SortBy::Email | SortBy::FamilyName | SortBy::Name => {
            let key = column(row, index, "users keys")?;
            Ok(SortKey::Text(sort_text_of(key, "users keys")?))
        }
    }
}
