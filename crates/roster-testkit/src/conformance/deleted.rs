//! The stored deleted users (promise "Deleted users can be restored"): each is listed once, in the
//! order of deletion, until it is restored or purged.

use std::collections::BTreeSet;

use roster_core::{
    Clock as _, Deleted, Rules, Stored, Timestamp, User, UserId,
    filter::Memberships,
    limits::PAGE_BYTES_MAX,
    list::{DeletedKey, DeletedQuery, Direction},
};
use serde_json::json;

use super::{
    harness::{Harness, deleting, view},
    order::DIRECTIONS,
    reads::{filter, names, oldest_first, words},
};

pub const RULES: Rules = super::DEFAULT;

fn way(direction: Direction, limit: usize) -> DeletedQuery {
    DeletedQuery { direction, ..DeletedQuery::first(limit) }
}

/// Deletes users, some at the same time, some later than others who were created after them.
/// Returns them in the order of deletion.
async fn gone(harness: &Harness) -> Vec<Deleted> {
    let mut ids = Vec::new();
    for number in 0..24 {
        let note = "x".repeat(100 + 37 * number);
        let body = json!({"username": format!("u{number}"), "attributes": {"note": note}});
        ids.push(harness.user(body).await.id);
    }
    let mut gone = Vec::new();
    for (number, index) in (0..20).map(|n| (n * 7) % 24).enumerate() {
        harness.clock.step(i64::from(number.is_multiple_of(4)));
        let stored = harness.delete(ids[index]).await.expect("there").stored;
        gone.push(Deleted { stored, at: harness.clock.now() });
    }
    gone.sort_by_key(|deleted| (deleted.at, deleted.stored.id));
    gone
}

pub async fn a_deleted_user_is_kept_with_its_deletion_time(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "name": "Ada"})).await;
    harness.clock.step(1000);
    let stored = harness.delete(user.id).await.expect("there").stored;
    let expected = Deleted { stored, at: harness.clock.now() };
    harness.clock.step(1000);
    assert_eq!(harness.get_deleted(user.id).await.as_ref(), Some(&expected));
    let seen = view(&expected.stored);
    assert_eq!((&seen["version"], &seen["name"]), (&json!(2), &json!("Ada")));
    assert_eq!(seen["updated_at"], expected.at.to_string());
    assert_eq!(harness.deleted_page(DeletedQuery::first(1)).await.items, [expected]);
}

pub async fn live_and_unknown_users_are_not_among_the_deleted(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    assert_eq!(harness.get_deleted(user.id).await, None);
    assert_eq!(harness.get_deleted(harness.new_id()).await, None);
    let page = harness.deleted_page(DeletedQuery::first(10)).await;
    assert_eq!((page.items, page.next, page.position, page.total), (vec![], None, 1, 0));
}

pub async fn deleted_users_are_listed_by_deletion_time(harness: Harness) {
    let mut expected = gone(&harness).await;
    for direction in DIRECTIONS {
        for limit in [1, 2, 7, 20, 1000] {
            assert_eq!(harness.walk_deleted(way(direction, limit)).await, expected, "{limit}");
        }
        expected.reverse();
    }
}

pub async fn deleted_users_can_be_filtered(harness: Harness) {
    let gone = gone(&harness).await;
    for (text, least) in [
        ("username eq \"U7\"", 1),
        ("username eq \"u99\"", 0),
        ("username sw \"u1\"", 5),
        ("not (username sw \"u1\")", 5),
        ("groups.value pr", 0),
    ] {
        let filter = filter(text);
        let is_met = |deleted: &Deleted| {
            let user = User::from_record(&deleted.stored.record).expect("a record");
            filter.matches(&user, &Memberships::default())
        };
        let mut expected: Vec<Deleted> = gone.iter().filter(|one| is_met(one)).cloned().collect();
        assert!(expected.len() >= least && expected.len() < gone.len(), "{text}");
        for direction in DIRECTIONS {
            for limit in [1, 3, 100] {
                let query = DeletedQuery { filter: Some(filter.clone()), ..way(direction, limit) };
                assert_eq!(harness.walk_deleted(query.clone()).await, expected, "{text}");
                let first = harness.deleted_page(query.clone()).await;
                assert_eq!((first.total, first.examined), (20, None), "{text}");
                let bounded = DeletedQuery { examined_max: 2, ..query };
                assert_eq!(harness.walk_deleted(bounded).await, expected, "{text}, 2 examined");
                let bounded = DeletedQuery { comparisons_max: 8, ..way(direction, limit) };
                let bounded = DeletedQuery { filter: Some(filter.clone()), ..bounded };
                assert_eq!(harness.walk_deleted(bounded).await, expected, "{text}, compared");
            }
            expected.reverse();
        }
    }
}

pub async fn deleted_users_can_be_searched(harness: Harness) {
    for (username, name) in [("ada", "Ada Love"), ("bob", "Bob Love"), ("zoe", "Zo\u{eb}")] {
        let id = harness.user(json!({"username": username, "name": name})).await.id;
        harness.clock.step(1);
        harness.delete(id).await.expect("there");
    }
    for (typed, wanted) in [
        ("LOVE", &["ada", "bob"][..]),
        ("lo ada", &["ada"]),
        ("zo\u{eb}", &["zoe"]),
        ("love zoe", &[]),
        ("@", &[]),
    ] {
        let mut wanted = wanted.to_vec();
        for direction in DIRECTIONS {
            for bounds in [(usize::MAX, u64::MAX), (1, u64::MAX), (usize::MAX, 1)] {
                let (examined_max, comparisons_max) = bounds;
                let bounded = DeletedQuery { examined_max, comparisons_max, ..way(direction, 1) };
                let query = DeletedQuery { words: words(typed), ..bounded };
                let found = harness.walk_deleted(query).await;
                let found: Vec<Stored> = found.into_iter().map(|gone| gone.stored).collect();
                assert_eq!(names(&found), wanted, "{typed} {direction:?} {bounds:?}");
            }
            wanted.reverse();
        }
    }
}

pub async fn by_default_the_latest_deletion_is_first(harness: Harness) {
    let mut expected = gone(&harness).await;
    expected.reverse();
    assert_eq!(harness.walk_deleted(DeletedQuery::first(6)).await, expected);
}

pub async fn a_page_of_deleted_users_has_a_total_and_a_position(harness: Harness) {
    let gone = gone(&harness).await;
    let head = harness.head().await;
    for query in [way(Direction::Ascending, 3), way(Direction::Descending, 100)] {
        let page = harness.deleted_page(query).await;
        assert_eq!((page.total, page.position), (20, head.position));
        assert_eq!(page.next.is_some(), page.items.len() < gone.len());
    }
    harness.restore(gone[0].stored.id).await.expect("free");
    harness.purge(gone[1].stored.id).await.expect("deleted");
    let page = harness.deleted_page(way(Direction::Ascending, 1)).await;
    assert_eq!((page.total, page.position), (18, head.position + 2));
    assert_eq!(page.items, gone[2..3]);
}

pub async fn deleted_users_can_be_limited_by_deletion_time(harness: Harness) {
    let all = gone(&harness).await;
    for before in [all[0].at, all[9].at, Timestamp::from_millis(all[19].at.as_millis() + 1)] {
        let mut expected: Vec<Deleted> = all.clone();
        expected.retain(|deleted| deleted.at < before);
        for direction in DIRECTIONS {
            let query = DeletedQuery { before: Some(before), ..way(direction, 3) };
            assert_eq!(harness.walk_deleted(query).await, expected, "{before} {direction:?}");
            expected.reverse();
        }
    }
}

pub async fn the_last_page_of_deleted_users_has_no_next_even_when_it_is_full(harness: Harness) {
    gone(&harness).await;
    for direction in DIRECTIONS {
        let full = harness.deleted_page(way(direction, 20)).await;
        assert_eq!((full.items.len(), full.next), (20, None));
        assert!(harness.deleted_page(way(direction, 19)).await.next.is_some());
    }
}

pub async fn a_page_of_deleted_users_ends_early_at_its_byte_limit(harness: Harness) {
    let mut gone = gone(&harness).await;
    for direction in DIRECTIONS {
        for bytes_max in [1, 700, 1500, 4000, PAGE_BYTES_MAX] {
            let query = DeletedQuery { bytes_max, ..way(direction, 100) };
            let page = harness.deleted_page(query.clone()).await;
            let mut bytes = 0;
            let fits = |deleted: &&Deleted| {
                let fits = bytes < bytes_max;
                bytes += deleted.stored.record.len();
                fits
            };
            let expected = gone.iter().take_while(fits).count();
            assert_eq!(page.items, gone[..expected], "the one that reaches {bytes_max} is last");
            assert_eq!(harness.walk_deleted(query).await, gone);
        }
        gone.reverse();
    }
}

pub async fn a_position_before_or_after_all_deleted_users_is_accepted(harness: Harness) {
    let gone = gone(&harness).await;
    let (first, last) = (gone[0].at, gone[19].at);
    let low = UserId::from_bytes([0; 16]);
    let high = UserId::from_bytes([0xff; 16]);
    for (at, id, direction, expected) in [
        (first, low, Direction::Ascending, 20),
        (first, low, Direction::Descending, 0),
        (last, high, Direction::Ascending, 0),
        (last, high, Direction::Descending, 20),
        // Between two times, and among users of the same time.
        (gone[4].at, low, Direction::Ascending, 16),
        (gone[3].at, high, Direction::Ascending, 16),
        (gone[3].at, high, Direction::Descending, 4),
        (gone[5].at, gone[5].stored.id, Direction::Ascending, 14),
        (gone[5].at, gone[5].stored.id, Direction::Descending, 5),
    ] {
        let query = DeletedQuery { after: Some(DeletedKey { at, id }), ..way(direction, 100) };
        let page = harness.deleted_page(query).await;
        assert_eq!((page.items.len(), page.next), (expected, None), "{at} {id} {direction:?}");
    }
}

pub async fn paging_deleted_users_returns_each_that_stays_exactly_once(harness: Harness) {
    let gone = gone(&harness).await;
    let (mut seen, mut query) = (Vec::new(), oldest_first(3));
    let mut left = BTreeSet::new();
    for round in 0.. {
        assert!(round < 12, "the walk ends");
        let page = harness.deleted_page(query.clone()).await;
        seen.extend(page.items.iter().map(|deleted| deleted.stored.id));
        // One is restored, one is purged, and a new one is deleted and comes last.
        let (back, purged) = (gone[round].stored.id, gone[19 - round].stored.id);
        if left.insert(back) {
            harness.restore(back).await.expect("free");
        }
        if left.insert(purged) {
            harness.purge(purged).await.expect("deleted");
        }
        if round < 3 {
            harness.clock.step(5);
            let user = harness.user(json!({"username": format!("new{round}")})).await;
            harness.act(deleting(user.id)).await.expect("there");
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    let once: BTreeSet<UserId> = seen.iter().copied().collect();
    assert_eq!(once.len(), seen.len(), "nobody twice");
    for deleted in gone.iter().filter(|deleted| !left.contains(&deleted.stored.id)) {
        assert!(once.contains(&deleted.stored.id), "who stays is shown");
    }
}
