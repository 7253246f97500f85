//! Reading the deleted users, in the order of their leaving.

use bytes::Bytes;
use roster_core::{
    Deleted, StoreError, Stored, Timestamp, UserId,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction},
};
use rusqlite::{Connection, Row};

use crate::{
    columns::{corrupt, id_of, text_of},
    failure::store_error,
    page::head,
};

pub(crate) const GET: &str =
    "SELECT id, version, deleted_at, record FROM deleted_users WHERE id = ?1";

/// The deleted user of that id.
pub(crate) fn get(connection: &Connection, id: UserId) -> Result<Option<Deleted>, StoreError> {
    let mut statement = connection.prepare_cached(GET).map_err(store_error)?;
    let mut rows = statement.query([id.as_bytes()]).map_err(store_error)?;
    rows.next().map_err(store_error)?.map(deleted).transpose()
}

/// The statement of a page, which begins after a place or at the start.
pub(crate) fn rows(direction: Direction, after: bool, before: bool) -> String {
    let (comparison, way) = match direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    let mut conditions = Vec::new();
    if after {
        conditions.push(format!("(deleted_at, id) {comparison} (?1, ?2)"));
    }
    if before {
        conditions.push("deleted_at < ?3".to_owned());
    }
    let condition = if conditions.is_empty() {
        String::new()
    } else {
        format!("WHERE {} ", conditions.join(" AND "))
    };
    format!(
        "SELECT id, version, deleted_at, record FROM deleted_users \
         INDEXED BY deleted_users_deleted_at {condition}ORDER BY deleted_at{way}, id{way}"
    )
}

/// Reads a page.
pub(crate) fn page(
    connection: &Connection,
    query: &DeletedQuery,
) -> Result<DeletedPage, StoreError> {
    head::in_snapshot(connection, |head| {
        // Descending, both bound the same end: the nearer one alone is asked for, so that the index
        // is entered there. Keys of one moment are told apart by `after` alone.
        let descending = query.direction == Direction::Descending;
        let before = query
            .before
            .filter(|before| !descending || query.after.is_none_or(|after| after.at >= *before));
        let after = query.after.filter(|_| !descending || before.is_none());
        let sql = rows(query.direction, after.is_some(), before.is_some());
        let mut statement = connection.prepare_cached(&sql).map_err(store_error)?;
        if let Some(after) = after {
            let moment = after.at.as_millis();
            statement.raw_bind_parameter(1, moment).map_err(store_error)?;
            statement.raw_bind_parameter(2, after.id.as_bytes()).map_err(store_error)?;
        }
        if let Some(before) = before {
            statement.raw_bind_parameter(3, before.as_millis()).map_err(store_error)?;
        }
        let total = head.deleted.unsigned_abs();
        let mut page =
            DeletedPage { items: Vec::new(), next: None, position: head.position, total };
        let (mut last, mut bytes) = (None, 0);
        let mut rows = statement.raw_query();
        while query.limit > 0
            && let Some(row) = rows.next().map_err(store_error)?
        {
            if page.items.len() >= query.limit || bytes >= query.bytes_max {
                page.next = last;
                break;
            }
            let found = deleted(row)?;
            bytes += found.stored.record.len();
            last = Some(DeletedKey { at: found.at, id: found.stored.id });
            page.items.push(found);
        }
        Ok(page)
    })
}

fn deleted(row: &Row<'_>) -> Result<Deleted, StoreError> {
    let column = |index: usize| row.get_ref(index).map_err(store_error);
    let number = |index: usize| column(index)?.as_i64().map_err(|_| corrupt("deleted_users"));
    let record = Bytes::copy_from_slice(text_of(column(3)?, "deleted_users.record")?);
    let id = id_of(column(0)?, "deleted_users.id")?;
    let stored = Stored { id, version: number(1)?, record };
    Ok(Deleted { stored, at: Timestamp::from_millis(number(2)?) })
}
