//! Reading the change log.

use roster_core::{EventKind, EventsPage, EventsQuery, LogId};
use roster_engine::{Database as _, corrupt, event_of, tenant_of_event};

use crate::{
    failure::ReadResult,
    reads::rows::{Rows, in_snapshot, values},
};

/// The columns of an event, and its tenant. A record that is still to be erased is read as an empty
/// one.
macro_rules! select_events {
    ($rest:literal) => {
        concat!(
            "SELECT position, kind, at, actor, request_id, subject_id, version, changed, \
             CASE WHEN EXISTS (SELECT 1 FROM erasures WHERE erasures.tenant = events.tenant \
             AND erasures.id = events.subject_id) THEN '' ELSE record END, tenant FROM events ",
            $rest
        )
    };
}

/// The events of all tenants. Those of the default tenant are read so, because they have no index
/// of their own.
pub(crate) const EVENTS_AFTER: &str = select_events!("WHERE position > ?1 ORDER BY position");

pub(crate) const EVENTS_OF_TENANT: &str = select_events!(
    "INDEXED BY events_tenant WHERE position > ?1 AND tenant = ?2 AND tenant <> 0 \
     ORDER BY position"
);

pub(crate) const EVENTS_OF_USER: &str = select_events!(
    "INDEXED BY events_subject WHERE position > ?1 AND tenant = ?2 AND subject_id = ?3 \
     ORDER BY position"
);

/// The events of all tenants, each with the name of its tenant. While everything in a tenant is
/// erased, no event of it has a record.
pub(crate) const EVENTS_OF_ALL: &str = "SELECT position, kind, at, actor, request_id, subject_id, \
     version, changed, CASE WHEN EXISTS (SELECT 1 FROM erasures \
     WHERE erasures.tenant = events.tenant AND erasures.id IN (events.subject_id, zeroblob(16))) \
     THEN '' ELSE record END, tenant, \
     (SELECT name FROM tenants WHERE tenants.id = events.tenant) \
     FROM events WHERE position > ?1 ORDER BY position";

pub(crate) const OLDEST: &str = "SELECT min(position) FROM events";

/// The maximum number of events that a page examines and does not return on the threads that handle
/// requests. Other pages are read on the threads for long reads.
const FEW_MAX: usize = 200;

/// Events in the order of the log.
pub(crate) fn page(rows: Rows<'_>, log: LogId, query: &EventsQuery) -> ReadResult<EventsPage> {
    Ok(read(rows, log, query)?.0)
}

/// Events in the order of the log. Returns `None` if too many events have to be examined.
pub(crate) fn read_few(
    rows: Rows<'_>,
    log: LogId,
    query: &EventsQuery,
) -> ReadResult<Option<EventsPage>> {
    // A page of all kinds returns each event of its tenant that it examines.
    let returned = if query.kind.is_none() { query.limit } else { 0 };
    let most = returned.saturating_add(FEW_MAX);
    let few = EventsQuery { examined_max: query.examined_max.min(most), ..*query };
    let (page, is_cut) = read(rows, log, &few)?;
    Ok((!is_cut || few.examined_max == query.examined_max).then_some(page))
}

/// A page, and whether it ends because the maximum number of events was examined.
fn read(rows: Rows<'_>, log: LogId, query: &EventsQuery) -> ReadResult<(EventsPage, bool)> {
    let (connection, tenant) = (rows.0, rows.tenant());
    in_snapshot(rows, |head| {
        let mut oldest = connection.prepare_cached(OLDEST)?;
        let oldest: Option<i64> = oldest.query_row([], |row| row.get(0))?;
        let mut page = EventsPage {
            log,
            events: Vec::new(),
            tenants: Vec::new(),
            reached: query.after,
            head: head.position,
            oldest: oldest.unwrap_or(head.position + 1),
        };
        let sql = match query.user_id {
            _ if query.all_tenants => EVENTS_OF_ALL,
            Some(_) => EVENTS_OF_USER,
            None if tenant.is_default() => EVENTS_AFTER,
            None => EVENTS_OF_TENANT,
        };
        let mut statement = connection.prepare_cached(sql)?;
        statement.raw_bind_parameter(1, query.after)?;
        if sql == EVENTS_OF_TENANT || sql == EVENTS_OF_USER {
            statement.raw_bind_parameter(2, tenant.number())?;
        }
        if let (EVENTS_OF_USER, Some(id)) = (sql, query.user_id) {
            statement.raw_bind_parameter(3, id.as_bytes())?;
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
            if !query.all_tenants && row.get::<_, i32>(9)? != tenant.number() {
                continue;
            }
            if query.kind.is_none_or(|wanted| wanted == kind) {
                let row = values(row)?;
                if query.all_tenants {
                    page.tenants.push(tenant_of_event(&row)?);
                }
                let (position, event) = event_of(&row)?;
                bytes += event.bytes();
                page.events.push((position, event));
            }
        }
    })
}
