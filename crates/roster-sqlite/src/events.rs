//! Reading the change log.

use bytes::Bytes;
use roster_core::{
    Event, EventKind, EventsPage, EventsQuery, StoreError, Timestamp, UserId, event::changed_of,
};
use rusqlite::{Connection, Row, types::ValueRef};

use crate::{
    columns::{corrupt, id_of, text_of},
    failure::store_error,
    page::head,
};

/// Stepped row by row: a bound limit would plan the statement anew.
pub(crate) const EVENTS_AFTER: &str = "SELECT position, kind, at, actor, request_id, user_id, \
     version, changed, record FROM events WHERE position > ?1 ORDER BY position";

pub(crate) const EVENTS_OF_USER: &str = "SELECT position, kind, at, actor, request_id, user_id, \
     version, changed, record FROM events INDEXED BY events_user \
     WHERE user_id = ?2 AND position > ?1 ORDER BY position";

pub(crate) const OLDEST: &str = "SELECT min(position) FROM events";

/// Events in the order of the log.
pub(crate) fn page(connection: &Connection, query: &EventsQuery) -> Result<EventsPage, StoreError> {
    head::in_snapshot(connection, |head| {
        let mut oldest = connection.prepare_cached(OLDEST).map_err(store_error)?;
        let oldest: Option<i64> = oldest.query_row([], |row| row.get(0)).map_err(store_error)?;
        let mut page = EventsPage {
            events: Vec::new(),
            reached: query.after,
            head: head.position,
            oldest: oldest.unwrap_or(head.position + 1),
        };
        let sql = if query.user_id.is_some() { EVENTS_OF_USER } else { EVENTS_AFTER };
        let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
        statement.raw_bind_parameter(1, query.after).map_err(store_error)?;
        if let Some(id) = query.user_id {
            statement.raw_bind_parameter(2, id.as_bytes()).map_err(store_error)?;
        }
        let (mut rows, mut bytes, mut examined) = (statement.raw_query(), 0, 0);
        loop {
            let Some(row) = rows.next().map_err(store_error)? else {
                page.reached = head.position;
                return Ok(page);
            };
            let full = page.events.len() >= query.limit
                || bytes >= query.bytes_max
                || examined >= query.examined_max.max(1);
            if full {
                return Ok(page);
            }
            examined += 1;
            let (position, event) = event(row)?;
            if query.kind.is_none_or(|kind| event.kind == kind) {
                bytes += event.bytes();
                page.events.push((position, event));
            }
            page.reached = position;
        }
    })
}

fn event(row: &Row<'_>) -> Result<(i64, Event), StoreError> {
    let position: i64 = row.get(0).map_err(store_error)?;
    let column = |index: usize| row.get_ref(index).map_err(store_error);
    let text = |index: usize| {
        let bytes = text_of(column(index)?, "events")?;
        std::str::from_utf8(bytes).map_err(|_| corrupt("events"))
    };
    let number = |index: usize| match column(index)? {
        ValueRef::Integer(number) => Ok(number),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => {
            Err(corrupt("events"))
        }
    };
    let user_id: UserId = id_of(column(5)?, "events.user_id")?;
    let (changed, members) = changed_of(text(7)?).ok_or_else(|| corrupt("events.changed"))?;
    let event = Event {
        kind: EventKind::parse(text(1)?).ok_or_else(|| corrupt("events.kind"))?,
        at: Timestamp::from_millis(number(2)?),
        actor: text(3)?.to_owned(),
        request_id: text(4)?.to_owned(),
        user_id,
        version: number(6)?,
        changed,
        members,
        record: Bytes::copy_from_slice(text_of(column(8)?, "events.record")?),
    };
    Ok((position, event))
}
