//! Batches of several stores that write the same users and keys in different orders: none waits for
//! another one that waits for it, so nothing is refused and no lock times out.

use futures_util::future::join_all;
use roster_core::{
    Command, Draft, Failure, Guard, OnConflict, Outcome, Rules, Sharing, Store, UserAct,
    store::StoreFaults,
};
use tokio::join;

use super::support::{apply, assert_sound, command, create, id, open_with, patch, schema, tree};
use crate::Postgres;

const UNIQUE: Rules = Rules {
    email: Sharing::Unique,
    external_id: Sharing::Unique,
    put: Guard::Off,
    delete: Guard::Off,
};

/// The size of a batch.
const USERS: u64 = 100;

fn upsert(n: u64, user: &str, on_conflict: OnConflict) -> Command {
    let draft = Box::new(Draft::parse_mergeable(tree(user)));
    command(n, UserAct::Create { id: id(n), draft, upsert: on_conflict.into() })
}

/// Fails if a command failed, except for a refusal of a key that is taken.
fn all_executed(results: &[Result<Outcome, Failure>]) {
    let failed = results.iter().find(|result| matches!(result, Err(Failure::Store(_))));
    assert!(failed.is_none(), "{failed:?}");
}

/// Fails if a transaction waited too long or was repeated.
fn none_repeated(stores: &[&Postgres]) {
    for store in stores {
        assert_eq!(store.faults(), StoreFaults::default());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_that_create_the_same_users_in_another_order_wait_in_one_order() {
    let schema = schema();
    let url = schema.url();
    let (one, other) = join!(open_with(&url, UNIQUE), open_with(&url, UNIQUE));
    for round in 1..=8 {
        let user = |n: u64, by_name: bool| {
            let m = USERS - n;
            let (name, email) = if by_name { (n, n) } else { (m, n) };
            format!(
                r#"{{"username":"r{round}u{name}","email":"r{round}e{email}@x.example",
                "external_id":"r{round}x{n}"}}"#
            )
        };
        // The second store sends the same users in reverse, or the same addresses with other names.
        let first = 10_000 * round;
        let skip = |n: u64, user: String| upsert(n, &user, OnConflict::Skip);
        let ours = (0..USERS).map(|n| skip(first + n, user(n, true))).collect();
        let theirs = (0..USERS).rev().map(|n| skip(first + 5_000 + n, user(n, round % 2 == 0)));
        let (ours, theirs) = join!(one.apply(ours), other.apply(theirs.collect()));
        all_executed(&ours);
        all_executed(&theirs);
    }
    none_repeated(&[&one, &other]);
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_by_id_and_by_name_lock_all_users_in_one_step() {
    let schema = schema();
    let url = schema.url();
    let stores = join_all((0..3).map(|_| open_with(&url, UNIQUE))).await;
    let hot = |n: u64| create(n, &format!(r#"{{"username":"hot{n}","external_id":"x{n}"}}"#));
    all_executed(&stores[0].apply((1..=20).map(hot).collect()).await);
    let clients = (0..24).map(async |client: u64| {
        let store = &stores[usize::try_from(client % 3).unwrap()];
        for turn in 0..20 {
            let (at, n) = (1_000 + client * 100 + turn, (client * 7 + turn * 11) % 20 + 1);
            let write = match turn % 4 {
                0 | 2 => patch(at, n, &format!(r#"{{"title":"{at}"}}"#)),
                1 => {
                    let user = format!(r#"{{"username":"hot{n}","title":"{at}"}}"#);
                    upsert(at, &user, OnConflict::Merge)
                }
                _ => {
                    let user = format!(r#"{{"username":"hot{n}","external_id":"x{n}"}}"#);
                    upsert(at, &user, OnConflict::Replace)
                }
            };
            let written = apply(store, write).await;
            assert!(written.is_ok(), "{written:?}");
        }
    });
    join_all(clients).await;
    none_repeated(&stores.iter().collect::<Vec<_>>());
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_that_rename_and_create_never_wait_in_a_circle() {
    let schema = schema();
    let url = schema.url();
    let (one, other) = join!(open_with(&url, UNIQUE), open_with(&url, UNIQUE));
    for round in 1..=20 {
        let first = 100 * round;
        for n in [first, first + 1] {
            let user = format!(r#"{{"username":"old{n}"}}"#);
            apply(&one, create(n, &user)).await.unwrap();
        }
        let rename = |at, n, to: &str| {
            patch(
                at,
                n,
                &format!(r#"{{"username":"{to}{round}","email":"{to}{round}@x.example"}}"#),
            )
        };
        let new = |n, name: &str| create(n, &format!(r#"{{"username":"{name}{round}"}}"#));
        let ours = vec![rename(first + 10, first, "a"), new(first + 11, "b")];
        let theirs = vec![rename(first + 20, first + 1, "b"), new(first + 21, "a")];
        let (ours, theirs) = join!(one.apply(ours), other.apply(theirs));
        all_executed(&ours);
        all_executed(&theirs);
    }
    for store in [&one, &other] {
        assert_eq!(store.faults().lock_timeouts, 0);
    }
    assert_sound(&url).await;
}
