//! Reading the change log (promise "The change log has no gaps"): in order, by kind and by user, in
//! pages without gaps or repetitions.

use roster_core::{
    Event, EventKind, EventsQuery, Rules, Stored, UserId, group::GroupAct, limits::PAGE_BYTES_MAX,
};
use serde_json::json;

use super::{harness::Harness, order::crowd, schema::declare};

pub const RULES: Rules = super::DEFAULT;

type Entry = (i64, Event);

/// A log with every kind of event, the events of several users interleaved.
async fn log(harness: &Harness) -> (Vec<Stored>, Vec<Entry>) {
    let users = crowd(harness).await;
    for (number, user) in users.iter().enumerate().take(12) {
        harness.delete(user.id).await.expect("there");
        if number % 2 == 0 {
            harness.restore(user.id).await.expect("free");
        } else if number % 3 == 0 {
            harness.purge(user.id).await.expect("deleted");
        }
    }
    let id = harness.group("team", &[users[13].id]).await;
    harness.delete(users[13].id).await.expect("there");
    harness.act(GroupAct::Delete { id }).await.expect("there");
    declare(harness, json!([{"name": "badge", "type": "string"}])).await;
    let log = harness.events().await;
    for kind in EventKind::ALL {
        assert!(log.iter().any(|(_, event)| event.kind == *kind), "{kind:?}");
    }
    (users, log)
}

/// All events from the query's position on, page by page. Each page must state how far it reaches.
async fn pulled(harness: &Harness, mut query: EventsQuery, log: &[Entry]) -> Vec<Entry> {
    let mut events: Vec<Entry> = Vec::new();
    loop {
        let page = harness.events_page(query).await;
        assert!(page.events.len() <= query.limit, "a page keeps within its limit");
        assert!(page.reached >= query.after.min(page.head), "a pull goes forward");
        let shown: Vec<i64> = page.events.iter().map(|(position, _)| *position).collect();
        let passed = log.iter().filter(|entry| {
            (query.after + 1..=page.reached).contains(&entry.0) && wanted(&query, entry)
        });
        assert!(passed.map(|(position, _)| *position).eq(shown), "nothing is left out");
        events.extend(page.events);
        if page.reached == page.head {
            return events;
        }
        assert!(page.reached > query.after, "a pull goes forward");
        query.after = page.reached;
    }
}

fn wanted(query: &EventsQuery, (_, event): &Entry) -> bool {
    query.kind.is_none_or(|kind| event.kind == kind)
        && query.user_id.is_none_or(|id| event.user_id == id)
}

/// Queries by kind, by user, by both and by neither.
fn queries(users: &[Stored], stranger: UserId) -> Vec<EventsQuery> {
    let whose = users.iter().map(|user| Some(user.id)).take(14).chain([None, Some(stranger)]);
    let mut queries = Vec::new();
    for user_id in whose {
        for kind in EventKind::ALL.iter().map(|kind| Some(*kind)).chain([None]) {
            queries.push(EventsQuery { kind, user_id, ..EventsQuery::after(0, 100) });
        }
    }
    queries
}

pub async fn events_can_be_read_by_type_and_by_user(harness: Harness) {
    let (users, log) = log(&harness).await;
    let mut met = 0;
    for query in queries(&users, harness.new_id()) {
        let expected: Vec<Entry> =
            log.iter().filter(|entry| wanted(&query, entry)).cloned().collect();
        let page = harness.events_page(EventsQuery { limit: log.len(), ..query }).await;
        assert_eq!(page.events, expected, "{query:?}");
        assert_eq!((page.reached, page.head), (log[log.len() - 1].0, log[log.len() - 1].0));
        met += usize::from(!expected.is_empty());
    }
    assert!(met > 20, "most are met by something");
}

pub async fn every_page_size_returns_each_event_once(harness: Harness) {
    let (users, log) = log(&harness).await;
    let last = log[log.len() - 1].0;
    for query in queries(&users, harness.new_id()) {
        for after in [0, 1, 37, last - 1, last] {
            for limit in [1, 2, 5, 100] {
                let query = EventsQuery { after, limit, ..query };
                let mut expected = log.clone();
                expected.retain(|entry| entry.0 > after && wanted(&query, entry));
                assert_eq!(pulled(&harness, query, &log).await, expected, "{query:?}");
            }
        }
    }
}

pub async fn pages_with_few_examined_events_return_the_same_events(harness: Harness) {
    let (users, log) = log(&harness).await;
    for query in queries(&users, harness.new_id()) {
        let mut expected = log.clone();
        expected.retain(|entry| wanted(&query, entry));
        for (examined_max, bytes_max) in [(1, PAGE_BYTES_MAX), (4, PAGE_BYTES_MAX), (4, 900)] {
            let query = EventsQuery { examined_max, bytes_max, ..query };
            assert_eq!(pulled(&harness, query, &log).await, expected, "{query:?}");
        }
    }
}

pub async fn a_position_far_beyond_the_end_of_the_log_is_accepted(harness: Harness) {
    let (users, log) = log(&harness).await;
    let last = log[log.len() - 1].0;
    for query in queries(&users, harness.new_id()) {
        for after in [last + 1, i64::MAX - 20_000, i64::MAX - 1, i64::MAX] {
            let page = harness.events_page(EventsQuery { after, ..query }).await;
            assert_eq!((page.events, page.head), (Vec::new(), last), "{after} {query:?}");
        }
    }
}

pub async fn a_page_of_events_ends_early_at_its_byte_limit(harness: Harness) {
    let mut log = Vec::new();
    for number in 0..10 {
        let note = "x".repeat(500 + 37 * number);
        harness.user(json!({"username": format!("u{number}"), "attributes": {"n": note}})).await;
        log = harness.events().await;
    }
    for bytes_max in [1, 700, 1500, 4000, PAGE_BYTES_MAX] {
        let query = EventsQuery { bytes_max, ..EventsQuery::after(0, 100) };
        let page = harness.events_page(query).await;
        let mut bytes = 0;
        let fits = |(_, event): &&Entry| {
            let fits = bytes < bytes_max;
            bytes += event.record.len();
            fits
        };
        let expected = log.iter().take_while(fits).count();
        assert_eq!(page.events, log[..expected], "the one that reaches {bytes_max} is last");
        assert_eq!(page.reached, if expected == 10 { 10 } else { page.events[expected - 1].0 });
        assert_eq!(pulled(&harness, query, &log).await, log);
    }
}

pub async fn every_page_of_events_has_the_head_of_the_log(harness: Harness) {
    let empty = harness.events_page(EventsQuery::after(0, 10)).await;
    assert_eq!((empty.events, empty.reached, empty.head, empty.oldest), (vec![], 0, 0, 1));
    let (_, log) = log(&harness).await;
    let last = log[log.len() - 1].0;
    for after in [last, last + 1, last + 1000] {
        for limit in [1, 100] {
            let page = harness.events_page(EventsQuery::after(after, limit)).await;
            assert_eq!((page.events, page.reached, page.head), (vec![], last, last), "{after}");
            assert_eq!(page.oldest, 1);
        }
    }
}

pub async fn a_page_without_matching_events_reaches_the_head(harness: Harness) {
    let id = harness.user(json!({"username": "ada"})).await.id;
    let deletions =
        |after| EventsQuery { kind: Some(EventKind::Deleted), ..EventsQuery::after(after, 10) };
    let page = harness.events_page(deletions(0)).await;
    assert_eq!((page.events, page.reached), (vec![], 1), "all that there is was looked at");
    harness.patch(id, json!({"name": "A"})).await.expect("valid");
    harness.delete(id).await.expect("there");
    harness.restore(id).await.expect("free");
    let page = harness.events_page(deletions(page.reached)).await;
    let found: Vec<_> =
        page.events.iter().map(|(position, event)| (*position, event.kind)).collect();
    assert_eq!((found, page.reached), (vec![(3, EventKind::Deleted)], 4));
}

pub async fn replaying_events_read_during_writes_gives_exactly_the_users(harness: Harness) {
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let harness = harness.clone();
            tokio::spawn(async move {
                for round in 0..25 {
                    let body = json!({"username": format!("w{writer}.{round}")});
                    let id = harness.user(body).await.id;
                    harness.patch(id, json!({"name": "A"})).await.expect("valid");
                    if round % 2 == 0 {
                        harness.delete(id).await.expect("there");
                    }
                    if round % 4 == 0 {
                        harness.restore(id).await.expect("free");
                    } else if round % 8 == 2 {
                        harness.purge(id).await.expect("deleted");
                    }
                }
            })
        })
        .collect();
    let (mut pulled, mut after) = (Vec::new(), 0);
    loop {
        let ended = writers.iter().all(tokio::task::JoinHandle::is_finished);
        let page = harness.events_page(EventsQuery::after(after, 7)).await;
        pulled.extend(page.events);
        if ended && page.reached == page.head {
            break;
        }
        after = page.reached;
    }
    for writer in writers {
        writer.await.expect("no writer fails");
    }
    let positions: Vec<i64> = pulled.iter().map(|(position, _)| *position).collect();
    assert!(positions.into_iter().eq(1..=harness.head().await.position), "no gap, nothing twice");
    // Events read before a purge had the record. The events that a purge leaves replay to the same
    // users.
    let replayed = crate::replay::replay(pulled.into_iter().map(|(_, event)| event));
    let users = harness.walk(roster_core::list::PageQuery::first(50)).await;
    assert_eq!(replayed.into_values().collect::<Vec<_>>(), users);
}
