//! Pages of the change log that are read on the thread of the caller.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use roster_core::{EventKind, EventKinds, EventsPage, EventsQuery, Store, StoreError};

use super::support::{apply, create, id, open, replace};
use crate::Sqlite;

/// The page, if it was read before the call returned.
fn at_once(store: &Sqlite, query: EventsQuery) -> Option<Result<EventsPage, StoreError>> {
    match pin!(store.events(query)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(page) => Some(page),
        Poll::Pending => None,
    }
}

#[tokio::test]
async fn a_page_of_one_type_that_examines_many_events_runs_on_a_scan_thread() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"first"}"#)).await.unwrap();
    let replaces = (2..600).map(|at| replace(at, 1, &format!(r#"{{"username":"u{at}"}}"#)));
    store.apply(replaces.collect()).await.into_iter().for_each(|result| drop(result.unwrap()));
    apply(&store, create(700, r#"{"username":"last"}"#)).await.unwrap();

    let kinds = EventKinds::only(EventKind::Created);
    let created = EventsQuery { kinds, ..EventsQuery::after(0, 2) };
    let of_first = EventsQuery { user_id: Some(id(1)), limit: 5, ..created.clone() };
    let newest = EventsQuery { kinds, ..EventsQuery::before(i64::MAX, 2) };
    let pause = store.shared.long_reads.pause();
    for scanning in [created.clone(), of_first.clone(), newest.clone()] {
        assert!(at_once(&store, scanning.clone()).is_none(), "{scanning:?}");
    }
    // Few events have to be examined: one is enough, the log ends, or no kind is given.
    for bounded in [
        EventsQuery { limit: 1, ..created.clone() },
        EventsQuery { limit: 1, ..newest.clone() },
        EventsQuery { after: 500, ..created.clone() },
        EventsQuery { after: 500, ..newest },
        EventsQuery { kinds: EventKinds::ALL, limit: 500, ..created.clone() },
        EventsQuery { kinds: EventKinds::ALL, limit: 500, ..of_first.clone() },
        EventsQuery { examined_max: 10, ..created.clone() },
    ] {
        assert!(at_once(&store, bounded.clone()).is_some(), "{bounded:?}");
    }
    drop(pause);

    let page = store.events(created).await.unwrap();
    let positions: Vec<i64> = page.events.iter().map(|(position, _)| *position).collect();
    assert_eq!(positions, [1, 600]);
    assert_eq!(store.events(of_first).await.unwrap().reached, 600);
}
