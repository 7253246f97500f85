//! A page of events: filters the whole log, then takes the first events.
//!
//! A page ends early by bytes, as in every engine. It never ends early by examined events, because
//! these differ between engines.

use roster_core::{Event, EventsPage, EventsQuery, LogId, list::Direction};

/// The identity of the log of every oracle.
pub(super) const LOG_ID: LogId = LogId([7; 8]);

pub(super) fn page(log: &[(i64, Event)], head: i64, query: &EventsQuery) -> EventsPage {
    let oldest = log.first().map_or(head + 1, |(position, _)| *position);
    let wanted = |(position, event): &&(i64, Event)| {
        *position > query.after
            && *position < query.before
            && query.wants(event.kind, &event.actor)
            && query.user_id.is_none_or(|id| event.user_id == id)
    };
    let (events, tenants) = Default::default();
    let reached = query.end(head, oldest);
    let mut page = EventsPage { log: LOG_ID, events, tenants, reached, head, oldest };
    let mut wanted: Vec<_> = log.iter().filter(wanted).collect();
    if query.direction == Direction::Descending {
        wanted.reverse();
    }
    let mut bytes = 0;
    for (position, event) in wanted {
        if page.events.len() == query.limit || bytes >= query.bytes_max {
            page.reached = page.events.last().map_or(query.after, |(last, _)| *last);
            break;
        }
        bytes += event.bytes();
        page.events.push((*position, event.clone()));
    }
    page
}
