//! A page of the deleted users in the order of their deletion, and the head of the log, in one
//! statement and so in one snapshot.

use std::sync::Arc;

use roster_core::{
    Timestamp,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction},
};
use tokio_postgres::types::ToSql;

use crate::{
    columns::{column, corrupt, uuid},
    connect::Connection,
    query_error::QueryResult,
    reads::deleted_of,
};

/// The statement of a page: a first row with position and count in the columns of version and
/// moment, then the users.
pub(crate) fn rows(direction: Direction, after: bool, before: bool) -> String {
    let (comparison, way) = match direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    let after_key = format!("(deleted_at, id) {comparison} ($2, $3)");
    let condition = match (after, before) {
        (false, false) => String::new(),
        (true, false) => format!("WHERE {after_key} "),
        (false, true) => "WHERE deleted_at < $2 ".to_owned(),
        (true, true) => format!("WHERE {after_key} AND deleted_at < $4 "),
    };
    format!(
        "SELECT NULL::uuid, position, deleted, NULL::text FROM log_head WHERE number = 1 \
         UNION ALL (SELECT id, version, deleted_at, record FROM deleted_users {condition}\
         ORDER BY deleted_at{way}, id{way} LIMIT $1)"
    )
}

/// A page of deleted users.
pub(crate) async fn page(
    connection: Arc<Connection>,
    query: &DeletedQuery,
) -> QueryResult<DeletedPage> {
    let (after, before) = query.bounds();
    let limit = if query.limit == 0 { 0 } else { query.limit.saturating_add(1) };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let before = before.map(Timestamp::as_millis);
    let after = after.map(|after| (after.at.as_millis(), uuid(after.id)));
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&limit];
    if let Some((moment, id)) = &after {
        parameters.push(moment);
        parameters.push(id);
    }
    if let Some(before) = &before {
        parameters.push(before);
    }
    let sql = rows(query.direction, after.is_some(), before.is_some());
    let rows = connection.query(&sql, &parameters).await?;
    let (head, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
    let total: i64 = column(head, 2, "log_head.deleted")?;
    let mut page = DeletedPage {
        items: Vec::with_capacity(rows.len()),
        next: None,
        position: column(head, 1, "log_head.position")?,
        total: total.unsigned_abs(),
    };
    let (mut last, mut bytes) = (None, 0);
    for row in rows {
        if page.items.len() >= query.limit || bytes >= query.bytes_max {
            page.next = last;
            break;
        }
        let found = deleted_of(row)?;
        bytes += found.stored.record.len();
        last = Some(DeletedKey { at: found.at, id: found.stored.id });
        page.items.push(found);
    }
    Ok(page)
}
