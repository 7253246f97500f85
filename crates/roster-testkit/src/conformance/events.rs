//! Reading the change log (promise "The change log has no gaps"): in both directions, by kind, by
//! actor and by user, in pages without gaps or repetitions.

use std::sync::Arc;

use roster_core::{
    Actor, Caller, Command, Event, EventKind, EventKinds, EventsQuery, Rules, Stored, UserId,
    group::GroupAct, limits::PAGE_BYTES_MAX, list::Direction,
};
use serde_json::json;

use super::{
    harness::{Harness, deleting},
    order::crowd,
    schema::declare,
};

pub const RULES: Rules = super::DEFAULT;

type Entry = (i64, Event);

/// A log with every kind of event but that of a fork, the events of several users and actors
/// interleaved.
async fn log(harness: &Harness) -> (Vec<Stored>, Vec<Entry>) {
    let users = crowd(harness).await;
    for (number, user) in users.iter().enumerate().take(12) {
        harness.delete(user.id).await.expect("there");
        if number % 2 == 0 {
            harness.restore(user.id).await.expect("free");
        } else if number % 3 == 0 {
            harness.purge(user.id).await.expect("deleted");
        }
        let Command { caller, .. } = harness.command(deleting(user.id));
        let caller = Caller { actor: Actor::System, ..caller };
        let body = json!({"username": format!("of the service {number}")});
        let create = harness.command(harness.creating(&body));
        let created = harness.execute(vec![Command { caller, ..create }]).await;
        assert!(created[0].is_ok());
    }
    let id = harness.group("team", &[users[13].id]).await;
    harness.delete(users[13].id).await.expect("there");
    harness.act(GroupAct::Delete { id }).await.expect("there");
    declare(harness, json!([{"name": "badge", "type": "string"}])).await;
    let log = harness.events().await;
    let is_of_command = |kind: &&EventKind| !kind.is_audit() && **kind != EventKind::LogForked;
    for kind in EventKind::ALL.iter().filter(is_of_command) {
        assert!(log.iter().any(|(_, event)| event.kind == *kind), "{kind:?}");
    }
    (users, log)
}

/// All events of a query, page by page. Each page must state how far it reaches.
async fn pulled(harness: &Harness, query: &EventsQuery, log: &[Entry]) -> Vec<Entry> {
    let (mut events, mut query): (Vec<Entry>, _) = (Vec::new(), query.clone());
    loop {
        let page = harness.events_page(query.clone()).await;
        assert!(page.events.len() <= query.limit, "a page keeps within its limit");
        let passed = match query.direction {
            Direction::Ascending => query.after + 1..=page.reached,
            Direction::Descending => page.reached..=query.before - 1,
        };
        let passed = expected(&query, log).into_iter().filter(|(at, _)| passed.contains(at));
        assert!(passed.eq(page.events.iter().cloned()), "nothing is left out: {query:?}");
        events.extend(page.events);
        if page.reached == query.end(page.head, page.oldest) {
            return events;
        }
        let next = match query.direction {
            Direction::Ascending => &mut query.after,
            Direction::Descending => &mut query.before,
        };
        assert_ne!(page.reached, *next, "a pull goes on");
        *next = page.reached;
    }
}

/// The events of the log that a query wants, in its order.
fn expected(query: &EventsQuery, log: &[Entry]) -> Vec<Entry> {
    let wanted = |(position, event): &&Entry| {
        *position > query.after
            && *position < query.before
            && query.wants(event.kind, &event.actor)
            && query.user_id.is_none_or(|id| event.user_id == id)
    };
    let mut events: Vec<Entry> = log.iter().filter(wanted).cloned().collect();
    if query.direction == Direction::Descending {
        events.reverse();
    }
    events
}

/// Queries in both directions by kinds, by actors, by user, by several of these and by none.
fn queries(users: &[Stored], stranger: UserId) -> Vec<EventsQuery> {
    let only = EventKinds::only;
    let several = only(EventKind::Deleted).or(only(EventKind::GroupUpdated));
    let kinds = [EventKinds::ALL, EventKinds::NONE, only(EventKind::LogForked), several];
    let each = EventKind::ALL.iter().map(|kind| only(*kind));
    let kinds: Vec<_> = kinds.into_iter().chain(each).collect();
    let actors = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let of_actors: [Arc<[String]>; 4] = [
        actors(&[]),
        actors(&["system"]),
        actors(&["nobody", "system", "anonymous"]),
        actors(&["system,anonymous"]),
    ];
    let whose: Vec<_> =
        users.iter().map(|user| Some(user.id)).take(14).chain([None, Some(stranger)]).collect();
    let mut queries = Vec::new();
    for begin in [EventsQuery::after(0, 100), EventsQuery::before(i64::MAX, 100)] {
        for (number, user_id) in whose.iter().enumerate() {
            for (other, kinds) in kinds.iter().enumerate() {
                // Each list of actors with some kinds of each user, and all with all users.
                let is_chosen = |nth: &usize| user_id.is_none() || (number + other) % 4 == *nth;
                for nth in (0..of_actors.len()).filter(is_chosen) {
                    let actors = Arc::clone(&of_actors[nth]);
                    let (kinds, user_id) = (*kinds, *user_id);
                    queries.push(EventsQuery { kinds, actors, user_id, ..begin.clone() });
                }
            }
        }
    }
    queries
}

pub async fn events_can_be_read_by_type_by_actor_and_by_user(harness: Harness) {
    let (users, log) = log(&harness).await;
    let (mut met, last) = (0, log[log.len() - 1].0);
    for query in queries(&users, harness.new_id()) {
        let expected = expected(&query, &log);
        let whole = EventsQuery { limit: log.len(), ..query.clone() };
        let page = harness.events_page(whole).await;
        assert_eq!(page.events, expected, "{query:?}");
        assert_eq!((page.reached, page.head), (query.end(last, 1), last), "{query:?}");
        met += usize::from(!expected.is_empty());
    }
    assert!(met > 80, "most are met by something: {met}");
}

pub async fn every_page_size_returns_each_event_once(harness: Harness) {
    let (users, log) = log(&harness).await;
    let last = log[log.len() - 1].0;
    for (number, query) in queries(&users, harness.new_id()).into_iter().enumerate() {
        let ends = [(0, i64::MAX), (1, last + 1), (37, last), (last - 1, 39), (last, 1)];
        let (after, before) = ends[number % ends.len()];
        let query = match query.direction {
            Direction::Ascending => EventsQuery { after, ..query },
            Direction::Descending => EventsQuery { after: 40 - after.min(40), before, ..query },
        };
        for limit in [1, 5, 100] {
            let query = EventsQuery { limit, ..query.clone() };
            let pulled = pulled(&harness, &query, &log).await;
            assert_eq!(pulled, expected(&query, &log), "{query:?}");
        }
    }
}

pub async fn pages_with_few_examined_events_return_the_same_events(harness: Harness) {
    let (users, log) = log(&harness).await;
    for (number, query) in queries(&users, harness.new_id()).into_iter().enumerate() {
        let limits = [(1, PAGE_BYTES_MAX), (4, PAGE_BYTES_MAX), (4, 900)];
        let (examined_max, bytes_max) = limits[number % limits.len()];
        let query = EventsQuery { examined_max, bytes_max, ..query };
        let pulled = pulled(&harness, &query, &log).await;
        assert_eq!(pulled, expected(&query, &log), "{query:?}");
    }
}

pub async fn a_position_far_beyond_the_end_of_the_log_is_accepted(harness: Harness) {
    let (users, log) = log(&harness).await;
    let last = log[log.len() - 1].0;
    for (number, query) in queries(&users, harness.new_id()).into_iter().enumerate() {
        let far = [last + 1, i64::MAX - 20_000, i64::MAX - 1, i64::MAX][number % 4];
        let (query, expected) = match query.direction {
            Direction::Ascending => (EventsQuery { after: far, ..query }, Vec::new()),
            Direction::Descending => {
                let query = EventsQuery { before: far, ..query };
                let expected = expected(&query, &log).into_iter().take(100).collect();
                (query, expected)
            }
        };
        let page = harness.events_page(query.clone()).await;
        assert_eq!((page.events, page.head), (expected, last), "{query:?}");
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
        let page = harness.events_page(query.clone()).await;
        let mut bytes = 0;
        let fits = |(_, event): &&Entry| {
            let fits = bytes < bytes_max;
            bytes += event.record.len();
            fits
        };
        let expected = log.iter().take_while(fits).count();
        assert_eq!(page.events, log[..expected], "the one that reaches {bytes_max} is last");
        assert_eq!(page.reached, if expected == 10 { 10 } else { page.events[expected - 1].0 });
        assert_eq!(pulled(&harness, &query, &log).await, log);
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
    let kinds = EventKinds::only(EventKind::Deleted);
    let deletions = |after| EventsQuery { kinds, ..EventsQuery::after(after, 10) };
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
