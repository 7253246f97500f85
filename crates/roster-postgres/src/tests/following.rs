//! The log under many writers: positions have no gaps and follow the order of commits, so a reader
//! of the log misses no event.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use roster_core::{EventsQuery, SchemaDraft, Store, json};
use tokio::{join, time::sleep};

use super::support::{
    apply, assert_sound, beside, column, command, create, open, patch, schema, settings,
};
use crate::{Postgres, Settings};

const WRITERS: u64 = 8;
const TURNS: u64 = 40;

/// Users that all writers change and that other transactions lock.
const SHARED: u64 = 3;

/// Creates users and changes shared ones. Returns the position of each request.
async fn write(store: Arc<Postgres>, writer: u64) -> Vec<(String, i64)> {
    let mut written = Vec::new();
    for turn in 1..=TURNS {
        let n = 1000 * (writer + 1) + turn;
        let command = if turn % 3 == 0 {
            patch(n, 1 + turn % SHARED, &format!(r#"{{"title":"{n}"}}"#))
        } else {
            create(n, &format!(r#"{{"username":"u{n}"}}"#))
        };
        let request = command.caller.request_id.clone();
        written.push((request, apply(&store, command).await.unwrap().position));
    }
    written
}

/// Reads the log until all writers are done. Returns the position of each request.
async fn follow(store: Arc<Postgres>, ends: Arc<AtomicBool>) -> HashMap<String, i64> {
    let (mut seen, mut after) = (HashMap::new(), 0);
    loop {
        let last_turn = ends.load(Ordering::SeqCst);
        let page = store.events(EventsQuery::after(after, 50)).await.unwrap();
        for (position, event) in page.events {
            assert_eq!(position, after + 1, "no gap, and no event at an earlier position");
            assert!(seen.insert(event.request_id, position).is_none());
            after = position;
        }
        assert_eq!(page.reached, page.reached.max(after));
        if last_turn && page.reached == page.head {
            return seen;
        }
    }
}

/// Long transactions of another client, which lock users or the head.
async fn hold_locks(url: &str) {
    let client = beside(url).await;
    let rows = "SELECT FROM users ORDER BY id LIMIT 2 FOR UPDATE";
    let head = "SELECT FROM log_head FOR UPDATE";
    for (held, millis) in [(rows, 300), (head, 200), (rows, 1300), (head, 300)] {
        client.batch_execute(&format!("BEGIN; {held}")).await.unwrap();
        sleep(Duration::from_millis(millis)).await;
        client.batch_execute("COMMIT").await.unwrap();
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_the_log_misses_no_event_of_many_writers() {
    let schema = schema();
    let url = schema.url();
    let (one, other) = join!(open(&url), open(&url));
    let stores = [Arc::new(one), Arc::new(other)];
    for n in 1..=SHARED {
        apply(&stores[0], create(n, &format!(r#"{{"username":"u{n}"}}"#))).await.unwrap();
    }
    let ends = Arc::new(AtomicBool::new(false));
    let followers =
        stores.each_ref().map(|store| tokio::spawn(follow(Arc::clone(store), Arc::clone(&ends))));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = if writer % 2 == 0 { &stores[0] } else { &stores[1] };
            tokio::spawn(write(Arc::clone(store), writer))
        })
        .collect();
    hold_locks(&url).await;
    let mut written = Vec::new();
    for writer in writers {
        written.extend(writer.await.unwrap());
    }
    ends.store(true, Ordering::SeqCst);
    for follower in followers {
        let seen = follower.await.unwrap();
        assert_eq!(seen.len(), written.len() + 3);
        for (request, position) in &written {
            assert_eq!(seen.get(request), Some(position), "{request}");
        }
    }
    let client = beside(&url).await;
    assert_eq!(assert_sound(&url).await, i64::try_from(written.len()).unwrap() + 3);
    // Events in the order of commits: an event was written by the same transaction as the one
    // before, or by a later one.
    let earlier = "SELECT count(*) FROM events AS a JOIN events AS b \
         ON b.position = a.position + 1 AND b.xmin = a.xmin";
    let together: u64 = column(&client, earlier).await[0].parse().unwrap();
    assert!(together < WRITERS * TURNS, "not all in one transaction");
}

/// How often, of three times, a store knows at once the schema that another one has replaced.
async fn known_at_once(lease: Duration) -> usize {
    let schema = schema();
    let leased = || Settings { schema_lease: lease, ..settings(&schema.url()) };
    let (one, other) = join!(Postgres::open(leased()), Postgres::open(leased()));
    let (one, other) = (one.unwrap(), other.unwrap());
    let mut known = 0;
    for round in 1..=3 {
        other.renew_schema().await.unwrap();
        let text = format!(r#"{{"attributes":[{{"name":"a{round}","type":"string"}}]}}"#);
        let draft = SchemaDraft::parse(json::read(text.as_bytes()).unwrap());
        apply(&one, command(round, draft)).await.unwrap();
        other.renew_schema().await.unwrap();
        known += usize::from(other.schema().version == one.schema().version);
    }
    known
}

#[tokio::test]
async fn a_schema_that_was_replaced_is_used_by_no_other_process() {
    assert_eq!(known_at_once(Duration::from_millis(300)).await, 3);
    assert_eq!(known_at_once(Duration::ZERO).await, 3);
}
