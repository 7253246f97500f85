//! Reading the change log.

use bytes::Bytes;
use roster_core::{Event, EventKind, EventsPage, EventsQuery, StoreError, Timestamp, UserId};
use rusqlite::{Connection, Row, types::ValueRef};

use crate::{
    columns::{changed_of, corrupt, id_of, text_of},
    failure::store_error,
    page::HEAD,
};

/// Stepped row by row: a bound limit would plan the statement anew.
pub(crate) const EVENTS_AFTER: &str = "SELECT position, kind, at, actor, request_id, user_id, \
     version, changed, record FROM events WHERE position > ?1 ORDER BY position";

const OLDEST: &str = "SELECT min(position) FROM events";

/// Events in the order of the log.
pub(crate) fn page(connection: &Connection, query: &EventsQuery) -> Result<EventsPage, StoreError> {
    let mut head = connection.prepare_cached(HEAD).map_err(store_error)?;
    let mut snapshot = head.query([]).map_err(store_error)?;
    let row = snapshot.next().map_err(store_error)?.ok_or_else(|| corrupt("log_head"))?;
    let head: i64 = row.get(0).map_err(store_error)?;
    let mut oldest = connection.prepare_cached(OLDEST).map_err(store_error)?;
    let oldest: Option<i64> = oldest.query_row([], |row| row.get(0)).map_err(store_error)?;
    let mut statement = connection.prepare_cached(EVENTS_AFTER).map_err(store_error)?;
    let mut rows = statement.query([query.after]).map_err(store_error)?;
    let mut events = Vec::new();
    let mut reached = query.after;
    while events.len() < query.limit
        && let Some(row) = rows.next().map_err(store_error)?
    {
        let (position, event) = event(row)?;
        reached = position;
        events.push((position, event));
    }
    Ok(EventsPage { events, reached, head, oldest: oldest.unwrap_or(head + 1) })
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
    let event = Event {
        kind: EventKind::parse(text(1)?).ok_or_else(|| corrupt("events.kind"))?,
        at: Timestamp::from_millis(number(2)?),
        actor: text(3)?.to_owned(),
        request_id: text(4)?.to_owned(),
        user_id,
        version: number(6)?,
        changed: changed_of(text(7)?).ok_or_else(|| corrupt("events.changed"))?,
        record: Bytes::copy_from_slice(text_of(column(8)?, "events.record")?),
    };
    Ok((position, event))
}
