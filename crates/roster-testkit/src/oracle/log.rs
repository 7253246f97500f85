//! A page of events: filters the whole log, then takes the first events.
//!
//! A page ends early by bytes, as in every engine. It never ends early by examined events, because
//! these differ between engines.

use roster_core::{Event, EventsPage, EventsQuery, LogId};

/// The identity of the log of every oracle.
pub(super) const LOG_ID: LogId = LogId([7; 8]);

pub(super) fn page(log: &[(i64, Event)], head: i64, query: &EventsQuery) -> EventsPage {
    let oldest = log.first().map_or(head + 1, |(position, _)| *position);
    let wanted = |(position, event): &&(i64, Event)| {
        *position > query.after
            && query.kind.is_none_or(|kind| event.kind == kind)
            && query.user_id.is_none_or(|id| event.user_id == id)
    };
    let (events, tenants) = Default::default();
    let mut page = EventsPage { log: LOG_ID, events, tenants, reached: head, head, oldest };
    let mut bytes = 0;
    for (position, event) in log.iter().filter(wanted) {
        if page.events.len() == query.limit || bytes >= query.bytes_max {
            page.reached = page.events.last().map_or(query.after, |(last, _)| *last);
            break;
        }
        bytes += event.bytes();
        page.events.push((*position, event.clone()));
    }
    page
}
