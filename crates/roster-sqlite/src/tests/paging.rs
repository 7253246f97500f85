//! Pages: tests of errors that only an engine with indexes can have.

use roster_core::{
    Attribute, Status, Store,
    filter::Expression,
    list::{Direction, Page, PageQuery, Sort, SortBy, Total},
    plan::SORTED_ROWS_MAX,
};

use super::support::{apply, create, id, open};
use crate::Sqlite;

fn sorted(by: SortBy, direction: Direction, limit: usize) -> PageQuery {
    PageQuery { sort: Sort { by, direction }, ..PageQuery::first(limit) }
}

/// The numbers of a page's users: the arguments of `support::id`.
fn numbers(page: &Page) -> Vec<u64> {
    let number =
        |bytes: &[u8; 16]| u64::from_be_bytes(bytes[8..].try_into().unwrap()) & (u64::MAX >> 2);
    page.items.iter().map(|stored| number(stored.id.as_bytes())).collect()
}

/// All numbers, page after page.
async fn walk(store: &Sqlite, mut query: PageQuery) -> Vec<u64> {
    let mut all = Vec::new();
    loop {
        let page = store.page(query.clone()).await.unwrap();
        all.extend(numbers(&page));
        query.after = page.next;
        if query.after.is_none() {
            return all;
        }
    }
}

/// Creates users in one batch.
async fn fill(store: &Sqlite, users: impl Iterator<Item = (u64, String)>) {
    let commands: Vec<_> = users.map(|(n, user)| create(n, &user)).collect();
    for result in store.apply(commands).await {
        result.unwrap();
    }
}

#[tokio::test]
async fn absent_keys_sort_last_ascending_and_first_descending() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let names = [(1, Some("b")), (2, None), (3, Some("a")), (4, None), (5, Some("\u{10FFFD}"))];
    for (n, name) in names {
        let name = name.map(|name| format!(r#","name":"{name}""#)).unwrap_or_default();
        apply(&store, create(n, &format!(r#"{{"username":"u{n}"{name}}}"#))).await.unwrap();
    }
    for limit in [1, 2, 3, 10] {
        let ascending = walk(&store, sorted(SortBy::Name, Direction::Ascending, limit)).await;
        assert_eq!(ascending, [3, 1, 5, 2, 4], "{limit} a page");
        let descending = walk(&store, sorted(SortBy::Name, Direction::Descending, limit)).await;
        assert_eq!(descending, [4, 2, 5, 1, 3], "{limit} a page");
    }
}

#[tokio::test]
async fn few_matching_rows_are_sorted_and_many_are_read_in_index_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let many = u64::try_from(SORTED_ROWS_MAX).unwrap() + 100;
    let user = |n: u64| {
        let phone = if n.is_multiple_of(11) { "+49 30 22" } else { "+49 30 11" };
        (
            n,
            format!(
                r#"{{"username":"u{n}","name":"{:05}","phone_number":"{phone}"}}"#,
                n * 7919 % 99_991
            ),
        )
    };
    fill(&store, (1..=many).map(user)).await;
    for phone in ["+493011", "+493022"] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let number = Expression::equal(Attribute::PhoneNumber, phone.to_owned());
            let query = sorted(SortBy::Name, direction, 50).with(number);
            let mut expected: Vec<u64> =
                (1..=many).filter(|n| n.is_multiple_of(11) == (phone == "+493022")).collect();
            expected.sort_by_key(|n| n * 7919 % 99_991);
            if direction == Direction::Descending {
                expected.reverse();
            }
            assert_eq!(walk(&store, query).await, expected, "{phone} {direction:?}");
        }
    }
}

#[tokio::test]
async fn a_page_ends_at_the_examined_limit_and_the_next_continues() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let user = |n: u64| {
        let status = if n == 30 { "suspended" } else { "active" };
        let rest = format!(r#""email":"e{n}@example.com","status":"{status}","external_id":"e""#);
        (n, format!(r#"{{"username":"u{n}",{rest}}}"#))
    };
    fill(&store, (1..=40).map(user)).await;
    let mut query = PageQuery { examined_max: 12, ..PageQuery::first(5) }
        .with(Expression::status(Status::Suspended))
        .with(Expression::equal(Attribute::ExternalId, "e".to_owned()));
    let first = store.page(query.clone()).await.unwrap();
    assert_eq!((first.items.len(), first.examined), (0, Some(12)));
    assert_eq!(first.next.as_ref().map(|next| next.id), Some(id(12)));
    assert_eq!(walk(&store, query.clone()).await, [30]);
    query.examined_max = 40;
    let all = store.page(query).await.unwrap();
    assert_eq!((numbers(&all), all.next, all.examined), (vec![30], None, None));
}

#[tokio::test]
async fn a_page_ends_at_its_byte_limit_and_has_a_next_key_if_more_follow() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(&store, (1..=5).map(|n| (n, format!(r#"{{"username":"u{n}"}}"#)))).await;
    let query = PageQuery { bytes_max: 1, ..PageQuery::first(50) };
    let page = store.page(query.clone()).await.unwrap();
    assert_eq!((numbers(&page), page.examined), (vec![1], None));
    assert_eq!(walk(&store, query).await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn totals_come_from_the_counters_or_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let user = |n: u64| {
        let status = if n.is_multiple_of(3) { "suspended" } else { "active" };
        (n, format!(r#"{{"username":"u{n}","status":"{status}","external_id":"e"}}"#))
    };
    fill(&store, (1..=30).map(user)).await;
    let mut query = PageQuery { count: true, ..PageQuery::first(0) };
    let page = store.page(query.clone()).await.unwrap();
    assert_eq!((page.total, page.items.len(), page.next), (Some(Total::Exactly(30)), 0, None));
    query = query.with(Expression::status(Status::Suspended));
    assert_eq!(store.page(query.clone()).await.unwrap().total, Some(Total::Exactly(10)));
    query = query.with(Expression::equal(Attribute::ExternalId, "e".to_owned()));
    assert_eq!(store.page(query.clone()).await.unwrap().total, Some(Total::Exactly(10)));
    query = query.with(Expression::ids(vec![id(3), id(3), id(4), id(99)]));
    assert_eq!(store.page(query.clone()).await.unwrap().total, Some(Total::Exactly(1)));
}
