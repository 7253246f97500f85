//! The stored ends of pages, which all processes on the database share.

use roster_core::{
    Store, Timestamp,
    walk::{Places, WALK_ENDS_MAX, WalkEnd, WalkStore},
};

use super::support::{beside, column, open, schema};
use crate::Postgres;

const NOW: i64 = 1_800_000_000_000;

fn end(walk: u8, index: u64, place: &str, at: i64) -> WalkEnd {
    let at = Timestamp::from_millis(NOW + at);
    WalkEnd { walk: [walk; 32], index, place: place.to_owned(), at }
}

async fn note(store: &Postgres, end: WalkEnd) {
    store.note_walk_end(end).await.unwrap();
}

async fn ends(store: &Postgres, walk: u8, index: u64, since: i64) -> Option<Places> {
    let walks = store.walks().unwrap();
    let found = walks.walk_ends([walk; 32], index, Timestamp::from_millis(NOW + since)).await;
    found.unwrap().map(|(index, mut places)| {
        places.sort();
        (index, places)
    })
}

fn found(index: u64, places: &[&str]) -> Places {
    (index, places.iter().map(|&place| place.to_owned()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_page_position_is_found_by_another_process() {
    let schema = schema();
    let (one, other) = (open(&schema.url()).await, open(&schema.url()).await);
    assert_eq!(ends(&other, 1, 101, 0).await, None);
    note(&one, end(1, 101, "a", 0)).await;
    note(&one, end(1, 201, "c", 0)).await;
    note(&other, end(1, 201, "b", 5)).await;
    note(&other, end(2, 151, "z", 0)).await;
    for store in [&one, &other] {
        assert_eq!(ends(store, 1, 201, 0).await, Some(found(201, &["b", "c"])));
        assert_eq!(ends(store, 1, u64::MAX, 0).await, Some(found(201, &["b", "c"])));
        assert_eq!(ends(store, 1, 200, 0).await, Some(found(101, &["a"])));
        assert_eq!(ends(store, 1, 100, 0).await, None);
        // Ends that are older than this time are ignored. Then an end of an earlier index may be
        // found.
        assert_eq!(ends(store, 1, 201, 1).await, Some(found(201, &["b"])));
        assert_eq!(ends(store, 1, 201, 6).await, None);
        assert_eq!(ends(store, 2, 201, 0).await, Some(found(151, &["z"])));
    }
    note(&other, end(1, 101, "a", 9)).await;
    assert_eq!(ends(&one, 1, 201, 6).await, Some(found(101, &["a"])));
    let client = beside(&schema.url()).await;
    assert_eq!(column(&client, "SELECT count(*) FROM walk_ends").await, ["4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_positions_of_a_walk_that_ended_are_forgotten_when_another_begins() {
    let schema = schema();
    let (one, other) = (open(&schema.url()).await, open(&schema.url()).await);
    note(&one, end(1, 101, "a", 0)).await;
    note(&one, end(1, 201, "b", 9)).await;
    note(&one, end(2, 101, "z", 0)).await;
    let at = |ms| Timestamp::from_millis(NOW + ms);
    other.forget_walk_ends([1; 32], at(0)).await.unwrap();
    assert_eq!(ends(&one, 1, 101, 0).await, None);
    assert_eq!(ends(&one, 1, 201, 9).await, Some(found(201, &["b"])));
    other.end_walk([1; 32], at(5)).await.unwrap();
    assert_eq!(ends(&one, 1, 201, 5).await, Some(found(201, &["b"])));
    other.forget_walk_ends([1; 32], at(5)).await.unwrap();
    assert_eq!(ends(&one, 1, 201, 0).await, None);
    assert_eq!(ends(&one, 2, 101, 0).await, Some(found(101, &["z"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_page_position_replaces_the_oldest() {
    let schema = schema();
    let store = open(&schema.url()).await;
    let client = beside(&schema.url()).await;
    let most = "SELECT seqmax FROM pg_sequence WHERE seqrelid = 'walk_end_slots'::regclass";
    let most = column(&client, most).await;
    assert!(most.iter().all(|most| *most == WALK_ENDS_MAX.to_string()), "{most:?}");
    note(&store, end(1, 11, "first", 0)).await;
    note(&store, end(1, 21, "second", 0)).await;
    let last = format!("SELECT setval('walk_end_slots', {})", WALK_ENDS_MAX - 1);
    client.simple_query(&last).await.unwrap();
    for (index, place) in [(31, "last of the ring"), (41, "over the first")] {
        note(&store, end(1, index, place, 0)).await;
    }
    assert_eq!(column(&client, "SELECT count(*) FROM walk_ends").await, ["3"]);
    assert_eq!(ends(&store, 1, 20, 0).await, None);
    assert_eq!(ends(&store, 1, 30, 0).await, Some(found(21, &["second"])));
    assert_eq!(ends(&store, 1, 50, 0).await, Some(found(41, &["over the first"])));
}
