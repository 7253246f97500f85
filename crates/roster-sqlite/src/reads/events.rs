//! Reading the change log.

use roster_core::{EventKind, EventsPage, EventsQuery};
use roster_engine::{corrupt, event_of};
use rusqlite::Connection;

use crate::{
    failure::ReadResult,
    reads::rows::{in_snapshot, values},
};

/// A record that is still to be erased is read as an empty one.
pub(crate) const EVENTS_AFTER: &str = "SELECT position, kind, at, actor, request_id, subject_id, \
     version, changed, CASE WHEN EXISTS (SELECT 1 FROM erasures \
     WHERE erasures.id = events.subject_id) THEN '' ELSE record END \
     FROM events WHERE position > ?1 ORDER BY position";

pub(crate) const EVENTS_OF_USER: &str = "SELECT position, kind, at, actor, request_id, subject_id, \
     version, changed, CASE WHEN EXISTS (SELECT 1 FROM erasures \
     WHERE erasures.id = events.subject_id) THEN '' ELSE record END \
     FROM events INDEXED BY events_subject \
     WHERE subject_id = ?2 AND position > ?1 ORDER BY position";

pub(crate) const OLDEST: &str = "SELECT min(position) FROM events";

/// The maximum number of events that a page of one event kind examines on the threads that handle
/// requests. Larger pages are read on the threads for long reads.
const FEW_MAX: usize = 200;

/// Events in the order of the log.
pub(crate) fn page(connection: &Connection, query: &EventsQuery) -> ReadResult<EventsPage> {
    Ok(read(connection, query)?.0)
}

/// Events in the order of the log. Returns `None` if too many events have to be examined.
pub(crate) fn read_few(
    connection: &Connection,
    query: &EventsQuery,
) -> ReadResult<Option<EventsPage>> {
    if query.kind.is_none() {
        // Such a page returns every event that it examines, so the limit of the query bounds the
        // work.
        return page(connection, query).map(Some);
    }
    let few = EventsQuery { examined_max: query.examined_max.min(FEW_MAX), ..*query };
    let (page, is_cut) = read(connection, &few)?;
    Ok((!is_cut || few.examined_max == query.examined_max).then_some(page))
}

/// A page, and whether it ends because the maximum number of events was examined.
fn read(connection: &Connection, query: &EventsQuery) -> ReadResult<(EventsPage, bool)> {
    in_snapshot(connection, |head| {
        let mut oldest = connection.prepare_cached(OLDEST)?;
        let oldest: Option<i64> = oldest.query_row([], |row| row.get(0))?;
        let mut page = EventsPage {
            events: Vec::new(),
            reached: query.after,
            head: head.position,
            oldest: oldest.unwrap_or(head.position + 1),
        };
        let sql = if query.user_id.is_some() { EVENTS_OF_USER } else { EVENTS_AFTER };
        let mut statement = connection.prepare_cached(sql)?;
        statement.raw_bind_parameter(1, query.after)?;
        if let Some(id) = query.user_id {
            statement.raw_bind_parameter(2, id.as_bytes())?;
        }
        let (mut rows, mut bytes, mut examined) = (statement.raw_query(), 0, 0);
        loop {
            let Some(row) = rows.next()? else {
                page.reached = head.position;
                return Ok((page, false));
            };
            if page.events.len() >= query.limit || bytes >= query.bytes_max {
                return Ok((page, false));
            }
            if examined >= query.examined_max.max(1) {
                return Ok((page, true));
            }
            examined += 1;
            // The record of an event of another kind is not read.
            let kind = row.get_ref(1)?.as_str().ok().and_then(EventKind::parse);
            let kind = kind.ok_or_else(|| corrupt("events.kind"))?;
            page.reached = row.get(0)?;
            if query.kind.is_none_or(|wanted| wanted == kind) {
                let (position, event) = event_of(&values(row)?)?;
                bytes += event.bytes();
                page.events.push((position, event));
            }
        }
    })
}
