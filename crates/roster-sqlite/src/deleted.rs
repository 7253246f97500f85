//! Reading the deleted users, in the order of their leaving.

use roster_core::{
    Deleted, Stored, Timestamp, UserId,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction},
};
use rusqlite::{Connection, Row};

use crate::{
    columns::{id_of, number_of, record_of},
    failure::ReadResult,
    page::head,
};

pub(crate) const GET: &str =
    "SELECT id, version, deleted_at, record FROM deleted_users WHERE id = ?1";

/// The deleted user of that id.
pub(crate) fn get(connection: &Connection, id: UserId) -> ReadResult<Option<Deleted>> {
    let mut statement = connection.prepare_cached(GET)?;
    statement.query_and_then([id.as_bytes()], deleted)?.next().transpose()
}

/// The statement of a page, which begins after a place or at the start.
pub(crate) fn rows(direction: Direction, after: bool, before: bool) -> String {
    let (comparison, way) = match direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    let after = after.then(|| format!("(deleted_at, id) {comparison} (?1, ?2)"));
    let before = before.then(|| "deleted_at < ?3".to_owned());
    let conditions: Vec<String> = after.into_iter().chain(before).collect();
    let condition = match &*conditions.join(" AND ") {
        "" => String::new(),
        conditions => format!("WHERE {conditions} "),
    };
    format!(
        "SELECT id, version, deleted_at, record FROM deleted_users \
         INDEXED BY deleted_users_deleted_at {condition}ORDER BY deleted_at{way}, id{way}"
    )
}

/// Reads a page.
pub(crate) fn page(connection: &Connection, query: &DeletedQuery) -> ReadResult<DeletedPage> {
    head::in_snapshot(connection, |head| {
        let (after, before) = query.bounds();
        let sql = rows(query.direction, after.is_some(), before.is_some());
        let mut statement = connection.prepare_cached(&sql)?;
        if let Some(after) = after {
            let moment = after.at.as_millis();
            statement.raw_bind_parameter(1, moment)?;
            statement.raw_bind_parameter(2, after.id.as_bytes())?;
        }
        if let Some(before) = before {
            statement.raw_bind_parameter(3, before.as_millis())?;
        }
        let total = head.deleted.unsigned_abs();
        let mut page =
            DeletedPage { items: Vec::new(), next: None, position: head.position, total };
        let (mut last, mut bytes) = (None, 0);
        let mut rows = statement.raw_query();
        while query.limit > 0
            && let Some(row) = rows.next()?
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

fn deleted(row: &Row<'_>) -> ReadResult<Deleted> {
    let stored = Stored {
        id: id_of(row, 0, "deleted_users.id")?,
        version: number_of(row, 1, "deleted_users")?,
        record: record_of(row, 3, "deleted_users.record")?,
    };
    Ok(Deleted { stored, at: Timestamp::from_millis(number_of(row, 2, "deleted_users")?) })
}
