//! Reading the change log.

use bytes::Bytes;
use roster_core::{Event, EventKind, StoreError, Timestamp, UserId};
use rusqlite::{Connection, Row, types::ValueRef};

use crate::{
    columns::{changed_of, corrupt, id_of, text_of},
    failure::store_error,
};

/// Stepped row by row: a bound limit would plan the statement anew.
pub(crate) const EVENTS_AFTER: &str = "SELECT position, kind, at, actor, request_id, user_id, \
     version, changed, record FROM events WHERE position > ?1 ORDER BY position";

/// The events after a position, at most `limit`.
pub(crate) fn after(
    connection: &Connection,
    position: i64,
    limit: usize,
) -> Result<Vec<(i64, Event)>, StoreError> {
    let mut statement = connection.prepare_cached(EVENTS_AFTER).map_err(store_error)?;
    let mut rows = statement.query([position]).map_err(store_error)?;
    let mut events = Vec::new();
    while events.len() < limit
        && let Some(row) = rows.next().map_err(store_error)?
    {
        events.push(event(row)?);
    }
    Ok(events)
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
