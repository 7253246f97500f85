//! Concurrent writes through two stores on one database: of two commands that claim the same key,
//! one succeeds.

use futures_util::future::join_all;
use roster_core::{
    Command, Failure, Outcome, Refusal, Rules, Sharing, Store, Taken, UsernameOrigin,
    list::PageQuery,
};
use tokio::join;

use super::support::{apply, assert_sound, create, delete, id, open_with, patch, restore, schema};

const ROUNDS: u64 = 40;

/// How many races run at once.
const AT_ONCE: usize = 8;

const UNIQUE: Rules = Rules {
    email: Sharing::Unique,
    external_id: Sharing::Unique,
    put: roster_core::Guard::Off,
    delete: roster_core::Guard::Off,
};

/// Whether one command succeeded and the other was rejected with these taken keys.
fn is_won(one: &Result<Outcome, Failure>, other: &Result<Outcome, Failure>, taken: &Taken) -> bool {
    match (one, other) {
        (Ok(_), Err(Failure::Refused(refusal))) | (Err(Failure::Refused(refusal)), Ok(_)) => {
            matches!(refusal, Refusal::Taken(found) if found == taken)
        }
        _ => false,
    }
}

/// In each round, two commands that claim the same key are sent to two stores at once, after the
/// commands of `before` were executed.
async fn race(
    before: impl Fn(u64) -> Vec<Command>,
    pair: impl Fn(u64) -> (Command, Command),
    taken: Taken,
) {
    let schema = schema();
    let url = schema.url();
    let (one, other) = join!(open_with(&url, UNIQUE), open_with(&url, UNIQUE));
    let rounds: Vec<u64> = (1..=ROUNDS).collect();
    for round in &rounds {
        assert!(one.apply(before(*round)).await.iter().all(Result::is_ok));
    }
    for rounds in rounds.chunks(AT_ONCE) {
        let races = rounds.iter().map(async |round| {
            let (first, second) = pair(*round);
            let (first, second) = join!(apply(&one, first), apply(&other, second));
            assert!(is_won(&first, &second, &taken), "{round}: {first:?} {second:?}");
        });
        join_all(races).await;
    }
    assert_sound(&url).await;
}

/// Ids of one round.
fn ids(round: u64) -> (u64, u64) {
    (2 * round, 2 * round + 1)
}

fn username() -> Taken {
    Taken { username: Some(UsernameOrigin::Given), ..Taken::default() }
}

fn email() -> Taken {
    Taken { email: true, ..Taken::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_creates_of_a_username_succeeds() {
    let pair = |round| {
        let (one, other) = ids(round);
        let user = |name: &str| format!(r#"{{"username":"{name}{round}","title":"t"}}"#);
        (create(one, &user("Ada")), create(other, &user("ADA")))
    };
    race(|_| Vec::new(), pair, username()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_creates_of_an_address_succeeds() {
    let pair = |round| {
        let (one, other) = ids(round);
        let user = |n| format!(r#"{{"username":"u{n}","email":"Ada{round}@example.com"}}"#);
        (create(one, &user(one)), create(other, &user(other)))
    };
    race(|_| Vec::new(), pair, email()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_creates_of_an_external_id_succeeds() {
    let pair = |round| {
        let (one, other) = ids(round);
        let user = |n| format!(r#"{{"username":"u{n}","external_id":"e{round}"}}"#);
        (create(one, &user(one)), create(other, &user(other)))
    };
    race(|_| Vec::new(), pair, Taken { external_id: true, ..Taken::default() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_a_concurrent_restore_and_create_of_an_address_succeeds() {
    let user = |n: u64, round| format!(r#"{{"username":"u{n}","email":"ada{round}@example.com"}}"#);
    let before = |round| {
        let (one, _) = ids(round);
        vec![create(one, &user(one, round)), delete(one, one)]
    };
    let pair = |round| {
        let (one, other) = ids(round);
        (restore(one, one), create(other, &user(other, round)))
    };
    race(before, pair, email()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_renames_to_one_name_succeeds() {
    let before = |round| {
        let (one, other) = ids(round);
        [one, other].map(|n| create(n, &format!(r#"{{"username":"u{n}"}}"#))).to_vec()
    };
    let pair = |round| {
        let (one, other) = ids(round);
        let name = format!(r#"{{"username":"ada{round}"}}"#);
        (patch(one, one, &name), patch(other, other, &name))
    };
    race(before, pair, username()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_that_write_rows_in_opposite_order_both_succeed() {
    let schema = schema();
    let url = schema.url();
    let (one, other) = join!(open_with(&url, UNIQUE), open_with(&url, UNIQUE));
    let users = (1..=20).map(|n| create(n, &format!(r#"{{"username":"u{n}"}}"#))).collect();
    assert!(one.apply(users).await.iter().all(Result::is_ok));
    for turn in 0..15 {
        let change = |n| patch(100 + turn, n, &format!(r#"{{"title":"{turn}"}}"#));
        let back = |n| patch(100 + turn, n, &format!(r#"{{"nickname":"{turn}"}}"#));
        let (up, down) = join!(
            one.apply((1..=20).map(change).collect()),
            other.apply((1..=20).rev().map(back).collect())
        );
        assert!(up.iter().chain(&down).all(Result::is_ok), "{up:?} {down:?}");
    }
    assert_eq!(assert_sound(&url).await, 20 + 15 * 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_through_one_store_is_read_through_the_other() {
    let schema = schema();
    let url = schema.url();
    let (one, other) = join!(open_with(&url, UNIQUE), open_with(&url, UNIQUE));
    apply(&one, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    for turn in 2..=150 {
        let (writes, reads) = if turn % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let change = format!(r#"{{"title":"{turn}"}}"#);
        let written = apply(writes, patch(turn, 1, &change)).await.unwrap();
        assert_eq!(reads.get(id(1)).await.unwrap().as_ref(), Some(&written.stored));
        let page = reads.page(PageQuery::first(9)).await.unwrap();
        assert_eq!((page.position, &page.items[0]), (written.position, &written.stored));
        assert_eq!(reads.head().await.unwrap().position, written.position);
    }
}
