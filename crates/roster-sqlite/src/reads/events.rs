//! Reading the change log.

use roster_core::{EventKind, EventsPage, EventsQuery, LogId, list::Direction};
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

/// The statements for events between two positions, by the number of the direction. Those of the
/// default tenant are read from the events of all tenants, because they have no index of their own.
pub(crate) const EVENTS: [&str; 2] = [
    select_events!("WHERE position > ?1 AND position < ?2 ORDER BY position"),
    select_events!("WHERE position > ?1 AND position < ?2 ORDER BY position DESC"),
];

pub(crate) const EVENTS_OF_TENANT: [&str; 2] = [
    select_events!(
        "INDEXED BY events_tenant WHERE position > ?1 AND position < ?2 AND tenant = ?3 \
         AND tenant <> 0 ORDER BY position"
    ),
    select_events!(
        "INDEXED BY events_tenant WHERE position > ?1 AND position < ?2 AND tenant = ?3 \
         AND tenant <> 0 ORDER BY position DESC"
    ),
];

pub(crate) const EVENTS_OF_USER: [&str; 2] = [
    select_events!(
        "INDEXED BY events_subject WHERE position > ?1 AND position < ?2 AND tenant = ?3 \
         AND subject_id = ?4 ORDER BY position"
    ),
    select_events!(
        "INDEXED BY events_subject WHERE position > ?1 AND position < ?2 AND tenant = ?3 \
         AND subject_id = ?4 ORDER BY position DESC"
    ),
];

/// The columns of the events of all tenants, each with the name of its tenant. While everything in
/// a tenant is erased, no event of it has a record.
macro_rules! select_events_of_all {
    ($order:literal) => {
        concat!(
            "SELECT position, kind, at, actor, request_id, subject_id, version, changed, \
             CASE WHEN EXISTS (SELECT 1 FROM erasures WHERE erasures.tenant = events.tenant \
             AND erasures.id IN (events.subject_id, zeroblob(16))) THEN '' ELSE record END, \
             tenant, (SELECT name FROM tenants WHERE tenants.id = events.tenant) \
             FROM events WHERE position > ?1 AND position < ?2 ORDER BY ",
            $order
        )
    };
}

pub(crate) const EVENTS_OF_ALL: [&str; 2] =
    [select_events_of_all!("position"), select_events_of_all!("position DESC")];

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
    let most = query.limit.saturating_add(FEW_MAX);
    let few = EventsQuery { examined_max: query.examined_max.min(most), ..query.clone() };
    let (page, is_cut) = read(rows, log, &few)?;
    Ok((!is_cut || few.examined_max == query.examined_max).then_some(page))
}

/// A page, and whether it ends because the maximum number of events was examined.
fn read(rows: Rows<'_>, log: LogId, query: &EventsQuery) -> ReadResult<(EventsPage, bool)> {
    let (connection, tenant) = (rows.0, rows.tenant());
    in_snapshot(rows, |head| {
        let mut oldest = connection.prepare_cached(OLDEST)?;
        let oldest: Option<i64> = oldest.query_row([], |row| row.get(0))?;
        let oldest = oldest.unwrap_or(head.position + 1);
        let (events, tenants) = Default::default();
        let (end, head) = (query.end(head.position, oldest), head.position);
        let mut page = EventsPage { log, events, tenants, reached: end, head, oldest };
        let statements = match query.user_id {
            _ if query.all_tenants => EVENTS_OF_ALL,
            Some(_) => EVENTS_OF_USER,
            None if tenant.is_default() => EVENTS,
            None => EVENTS_OF_TENANT,
        };
        let [ascending, descending] = statements;
        let (sql, reached) = match query.direction {
            Direction::Ascending => (ascending, query.after),
            Direction::Descending => (descending, query.before.min(head + 1)),
        };
        let mut statement = connection.prepare_cached(sql)?;
        statement.raw_bind_parameter(1, query.after)?;
        statement.raw_bind_parameter(2, query.before)?;
        if statements == EVENTS_OF_TENANT || statements == EVENTS_OF_USER {
            statement.raw_bind_parameter(3, tenant.number())?;
        }
        if let (EVENTS_OF_USER, Some(id)) = (statements, query.user_id) {
            statement.raw_bind_parameter(4, id.as_bytes())?;
        }
        page.reached = reached;
        let (mut rows, mut bytes, mut examined) = (statement.raw_query(), 0, 0);
        loop {
            let Some(row) = rows.next()? else {
                page.reached = end;
                return Ok((page, false));
            };
            if page.events.len() >= query.limit || bytes >= query.bytes_max {
                return Ok((page, false));
            }
            if examined >= query.examined_max.max(1) {
                return Ok((page, true));
            }
            examined += 1;
            page.reached = row.get(0)?;
            if !query.all_tenants && row.get::<_, i32>(9)? != tenant.number() {
                continue;
            }
            // The record of an event that is not wanted is not read.
            let kind = row.get_ref(1)?.as_str().ok().and_then(EventKind::parse);
            let kind = kind.ok_or_else(|| corrupt("events.kind"))?;
            let actor = row.get_ref(3)?.as_str().map_err(|_| corrupt("events.actor"))?;
            if query.wants(kind, actor) {
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
