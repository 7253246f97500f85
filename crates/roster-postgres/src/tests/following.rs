//! The log under many writers: positions are dense and in the order of commits, so that whoever
//! follows it misses nothing.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use roster_core::{EventsQuery, Store};
use tokio::{join, time::sleep};

use super::support::{apply, assert_sound, beside, column, create, open, patch, schema};
use crate::Postgres;

const WRITERS: u64 = 8;
const TURNS: u64 = 40;

/// Users that all writers change, and others lock.
const SHARED: u64 = 3;

/// Writes in turn new users and changes of shared ones; gives the position of each request.
async fn write(store: Arc<Postgres>, writer: u64) -> Vec<(String, i64)> {
    let mut told = Vec::new();
    for turn in 1..=TURNS {
        let n = 1000 * (writer + 1) + turn;
        let command = if turn % 3 == 0 {
            patch(n, 1 + turn % SHARED, &format!(r#"{{"title":"{n}"}}"#))
        } else {
            create(n, &format!(r#"{{"username":"u{n}"}}"#))
        };
        let request = command.caller.request_id.clone();
        told.push((request, apply(&store, command).await.unwrap().position));
    }
    told
}

/// Follows the log until everybody is done; gives the request of each position.
async fn follow(store: Arc<Postgres>, ends: Arc<AtomicBool>) -> HashMap<String, i64> {
    let (mut seen, mut after) = (HashMap::new(), 0);
    loop {
        let last_turn = ends.load(Ordering::SeqCst);
        let page = store.events(EventsQuery::after(after, 50)).await.unwrap();
        for (position, event) in page.events {
            assert_eq!(position, after + 1, "no gap, and nobody comes in before");
            assert!(seen.insert(event.request_id, position).is_none());
            after = position;
        }
        assert_eq!(page.reached, page.reached.max(after));
        if last_turn && page.reached == page.head {
            return seen;
        }
    }
}

/// Transactions of somebody else that take long: over a row of a user, and over the head.
async fn stand_in_the_way(url: &str) {
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
async fn whoever_follows_the_log_of_many_writers_misses_nothing() {
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
    stand_in_the_way(&url).await;
    let mut told = Vec::new();
    for writer in writers {
        told.extend(writer.await.unwrap());
    }
    ends.store(true, Ordering::SeqCst);
    for follower in followers {
        let seen = follower.await.unwrap();
        assert_eq!(seen.len(), told.len() + 3);
        for (request, position) in &told {
            assert_eq!(seen.get(request), Some(position), "{request}");
        }
    }
    let client = beside(&url).await;
    assert_eq!(assert_sound(&url).await, i64::try_from(told.len()).unwrap() + 3);
    // In the order of commits: a later position was written by a later transaction, or the same.
    let earlier = "SELECT count(*) FROM events AS a JOIN events AS b \
         ON b.position = a.position + 1 AND b.xmin = a.xmin";
    let together: u64 = column(&client, earlier).await[0].parse().unwrap();
    assert!(together < WRITERS * TURNS, "not all in one transaction");
}
