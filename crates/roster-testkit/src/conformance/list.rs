//! Pages (promise "Stable pages"): paging during writes, conditions, totals, limits.

use roster_core::{
    Rules, Status, Stored,
    keys::username_lookup,
    limits::{PAGE_BYTES_MAX, TOTAL_EXACT_MAX},
    list::{Direction, PageKey, PageQuery, SortBy, SortKey, Total},
    text::{email_key, phone_key},
};
use serde_json::json;

use crate::Conditions;

use super::{
    harness::{Harness, view},
    order::{DIRECTIONS, crowd, keys, order, sorted},
    reads::{filter, words as search},
};

pub const RULES: Rules = super::DEFAULT;

fn equal(equals: &Conditions) -> PageQuery {
    equals.of(PageQuery { count: true, ..PageQuery::first(50) })
}

pub async fn paging_returns_every_user_that_exists_throughout_exactly_once(harness: Harness) {
    let mut users = Vec::new();
    for number in 0..30 {
        users.push(harness.user(json!({"username": format!("u{number}")})).await);
    }
    let (mut seen, mut query) = (Vec::new(), PageQuery::first(4));
    let mut round = 0;
    loop {
        let page = harness.page(query.clone()).await;
        seen.extend(page.items.iter().map(|user| user.id));
        // A user of an earlier page, one of a later page and the last of this page are deleted;
        // others change or are created.
        for gone in [round, 29 - round] {
            harness.delete(users[gone].id).await.expect("there");
        }
        let changed = users[15].id;
        harness.patch(changed, json!({"name": round.to_string()})).await.expect("valid");
        harness.user(json!({"username": format!("new{round}")})).await;
        round += 1;
        let Some(next) = page.next.filter(|_| round < 12) else { break };
        query.after = Some(next);
    }
    assert!(round < 12, "the walk ends");
    let mut once = seen.clone();
    once.sort();
    once.dedup();
    assert_eq!(once, seen, "in order of id, nobody twice");
    for user in &users[round..30 - round] {
        assert!(seen.contains(&user.id), "a survivor is shown");
    }
}

pub async fn paging_continues_after_a_deleted_row(harness: Harness) {
    let users = crowd(&harness).await;
    for by in SortBy::ALL {
        for direction in DIRECTIONS {
            let first = harness.page(sorted(*by, direction, 5)).await;
            let last = first.items.last().expect("a full page");
            let (id, body) = (last.id, view(last));
            harness.delete(id).await.expect("there");
            let mut rest = sorted(*by, direction, 5);
            rest.after = first.next;
            let walked = harness.walk(rest).await;
            assert_eq!(first.items.len() + walked.len(), users.len(), "{by:?} {direction:?}");
            assert!(walked.iter().all(|user| !first.items.contains(user)));
            // The same values are created with a new id, for the next round.
            let mut again = body;
            again.as_object_mut().expect("an object").retain(|name, _| name != "version");
            harness.user(again).await;
        }
    }
}

pub async fn a_position_before_or_after_all_users_is_accepted(harness: Harness) {
    let users = crowd(&harness).await;
    let low = roster_core::UserId::from_bytes([0; 16]);
    let high = roster_core::UserId::from_bytes([0xff; 16]);
    for (id, expected) in [(low, users.len()), (high, 0)] {
        let after = Some(PageKey { key: SortKey::Id, id });
        let page = harness.page(PageQuery { after, ..PageQuery::first(100) }).await;
        assert_eq!((page.items.len(), page.next), (expected, None));
    }
}

pub async fn conditions_are_compared_by_key(harness: Harness) {
    let body = json!({
        "username": "Zoe\u{308}", "email": "ZOE@b\u{fc}cher.example", "external_id": "X-1",
        "phone_number": "+49 (30) 12-34", "status": "suspended",
    });
    let user = harness.user(body).await;
    harness
        .user(json!({"username": "other", "external_id": "x-1", "phone_number": "49301234"}))
        .await;
    let text = |text: &str| Some(text.to_owned());
    for equals in [
        Conditions { username: Some(username_lookup("ZO\u{cb}")), ..Conditions::default() },
        Conditions { email: Some(email_key("zoe@xn--bcher-kva.example")), ..Conditions::default() },
        Conditions { external_id: text("X-1"), ..Conditions::default() },
        Conditions { phone_number: Some(phone_key("+49301234")), ..Conditions::default() },
        Conditions { status: Some(Status::Suspended), ..Conditions::default() },
        Conditions { ids: Some(vec![user.id]), ..Conditions::default() },
    ] {
        let page = harness.page(equal(&equals)).await;
        assert_eq!(page.items, std::slice::from_ref(&user), "{equals:?}");
        assert_eq!((page.total, page.next), (Some(Total::Exactly(1)), None));
    }
    for equals in [
        Conditions { username: Some(username_lookup(" ")), ..Conditions::default() },
        Conditions { email: text("zoe"), ..Conditions::default() },
        Conditions { external_id: text("X-_"), ..Conditions::default() },
        Conditions { external_id: text(""), ..Conditions::default() },
        Conditions { phone_number: text("%"), ..Conditions::default() },
        Conditions { ids: Some(vec![]), ..Conditions::default() },
        Conditions { ids: Some(vec![harness.new_id()]), ..Conditions::default() },
    ] {
        let page = harness.page(equal(&equals)).await;
        assert_eq!((page.items, page.total), (vec![], Some(Total::Exactly(0))), "{equals:?}");
    }
}

pub async fn a_condition_tests_only_the_primary_address(harness: Harness) {
    let emails = json!([{"value": "a@example.com"}, {"value": "b@example.com", "primary": true}]);
    let user = harness.user(json!({"username": "ada", "emails": emails})).await;
    let by =
        |email: &str| equal(&Conditions { email: Some(email.to_owned()), ..Conditions::default() });
    assert_eq!(harness.page(by("a@example.com")).await.items, []);
    assert_eq!(harness.page(by("b@example.com")).await.items, std::slice::from_ref(&user));
    harness.patch(user.id, json!({"email": "a@example.com"})).await.expect("the flag moves");
    assert_eq!(harness.page(by("a@example.com")).await.items.len(), 1);
    assert_eq!(harness.page(by("b@example.com")).await.items, []);
}

/// Single and combined conditions that match many users, few or none.
fn conditions(users: &[Stored]) -> Vec<Conditions> {
    let some = keys(&users[4]);
    let text = |text: &str| Some(text.to_owned());
    let ids = users.iter().step_by(2).map(|user| user.id);
    let twice: Vec<_> = ids.clone().chain(ids).rev().collect();
    let alone = vec![
        Conditions { ids: Some(twice), ..Conditions::default() },
        Conditions { username: Some(some.username), ..Conditions::default() },
        Conditions {
            email: users.iter().find_map(|user| keys(user).email),
            ..Conditions::default()
        },
        Conditions { external_id: text("x"), ..Conditions::default() },
        Conditions { phone_number: text("+44201"), ..Conditions::default() },
        Conditions { status: Some(Status::Active), ..Conditions::default() },
        Conditions { status: Some(Status::Suspended), ..Conditions::default() },
    ];
    let mut all = alone.clone();
    for one in &alone {
        for other in &alone {
            all.push(Conditions {
                ids: one.ids.clone().or_else(|| other.ids.clone()),
                username: one.username.clone().or_else(|| other.username.clone()),
                email: one.email.clone().or_else(|| other.email.clone()),
                external_id: one.external_id.clone().or_else(|| other.external_id.clone()),
                phone_number: one.phone_number.clone().or_else(|| other.phone_number.clone()),
                status: one.status.or(other.status),
            });
        }
    }
    all
}

fn meets(equals: &Conditions, user: &Stored) -> bool {
    let keys = keys(user);
    let same = |wanted: &Option<String>, key: &Option<String>| wanted.is_none() || wanted == key;
    equals.ids.as_ref().is_none_or(|ids| ids.contains(&user.id))
        && same(&equals.username, &Some(keys.username))
        && same(&equals.email, &keys.email)
        && same(&equals.external_id, &keys.external_id)
        && same(&equals.phone_number, &keys.phone_number)
        && equals.status.is_none_or(|status| status == keys.status)
}

pub async fn every_condition_holds_alone_and_together_in_every_order(harness: Harness) {
    let users = crowd(&harness).await;
    for equals in conditions(&users) {
        let mut expected: Vec<Stored> =
            users.iter().filter(|user| meets(&equals, user)).cloned().collect();
        for by in SortBy::ALL {
            for direction in DIRECTIONS {
                order(&mut expected, *by, direction);
                let query = equals.of(sorted(*by, direction, 3));
                let seen = harness.walk(query.clone()).await;
                assert_eq!(seen, expected, "{query:?}");
            }
        }
        let total = harness.page(equal(&equals)).await.total;
        let met = u64::try_from(expected.len()).expect("few");
        assert_eq!(total, Some(Total::Exactly(met)), "{equals:?}");
    }
}

pub async fn a_total_is_given_when_it_is_asked_for(harness: Harness) {
    let users = crowd(&harness).await;
    let page = harness.page(PageQuery::first(3)).await;
    assert_eq!((page.items.len(), page.total), (3, None));
    let all = u64::try_from(users.len()).expect("few");
    for limit in [0, 3] {
        let counted = PageQuery { count: true, ..PageQuery::first(limit) };
        let page = harness.page(counted).await;
        assert_eq!(page.total, Some(Total::Exactly(all)), "limit {limit}");
    }
    // A total counts the whole list, whatever the page.
    let later = PageQuery { after: page.next, count: true, ..PageQuery::first(3) };
    assert_eq!(harness.page(later).await.total, Some(Total::Exactly(all)));
}

pub async fn a_limit_of_zero_returns_only_position_and_total(harness: Harness) {
    crowd(&harness).await;
    let page = harness.page(PageQuery::first(0)).await;
    assert_eq!((page.items, page.total), (vec![], None));
    assert_eq!(page.position, harness.head().await.position);
}

pub async fn the_last_page_has_no_next_even_when_it_is_full(harness: Harness) {
    let users = crowd(&harness).await;
    for by in SortBy::ALL {
        for direction in DIRECTIONS {
            let full = harness.page(sorted(*by, direction, users.len())).await;
            assert_eq!((full.items.len(), full.next), (users.len(), None), "{by:?}");
            let short = harness.page(sorted(*by, direction, users.len() - 1)).await;
            assert!(short.next.is_some(), "{by:?}");
        }
    }
}

pub async fn a_page_ends_early_at_its_byte_limit(harness: Harness) {
    let mut users = Vec::new();
    for number in 0..12 {
        let note = "x".repeat(500 + 37 * number);
        let body = json!({"username": format!("u{number}"), "attributes": {"note": note}});
        users.push(harness.user(body).await);
    }
    for direction in DIRECTIONS {
        order(&mut users, SortBy::Id, direction);
        for bytes_max in [1, 700, 1500, 4000, PAGE_BYTES_MAX] {
            let query = PageQuery { bytes_max, ..sorted(SortBy::Id, direction, 100) };
            let page = harness.page(query.clone()).await;
            let mut bytes = 0;
            let fits = |user: &&Stored| {
                let fits = bytes < bytes_max;
                bytes += user.record.len();
                fits
            };
            let expected = users.iter().take_while(fits).count();
            assert_eq!(page.items, users[..expected], "the one that reaches {bytes_max} is last");
            assert_eq!(page.next.is_some(), expected < users.len());
            assert_eq!(harness.walk(query).await, users);
        }
    }
}

pub async fn paging_with_few_examined_rows_returns_the_same_users(harness: Harness) {
    let users = crowd(&harness).await;
    for equals in conditions(&users) {
        for by in SortBy::ALL {
            let whole = equals.of(sorted(*by, Direction::Descending, 4));
            let short = PageQuery { examined_max: 5, ..whole.clone() };
            let page = harness.page(short.clone()).await;
            assert!(page.examined.is_none() || page.next.is_some(), "an early end goes on");
            assert_eq!(harness.walk(short).await, harness.walk(whole).await, "{by:?} {equals:?}");
        }
    }
}

pub async fn paging_with_few_comparisons_returns_the_same_users(harness: Harness) {
    let mut ids = Vec::new();
    for number in 0..24 {
        let roles: Vec<_> =
            (0..=number * 8).map(|role| json!({"value": format!("r{role}")})).collect();
        let body = json!({"username": format!("u{number}"), "name": format!("n {}", number % 5),
            "roles": roles});
        ids.push(harness.user(body).await.id);
    }
    for number in 0..6 {
        harness.group(&format!("g{number}"), &ids[..number * 4]).await;
    }
    let roles: Vec<String> = (100..160).map(|role| format!("roles.value ew \"{role}\"")).collect();
    let named: Vec<String> =
        (0..60).map(|name| format!("groups.display eq \"g{}\"", name % 4)).collect();
    for (text, words) in [
        (roles.join(" or "), ""),
        (format!("not ({})", roles.join(" or ")), ""),
        (format!("not ({})", named.join(" or ")), ""),
        ("roles.value ew \"9\" and not (groups pr)".to_owned(), "n"),
        ("username sw \"u1\" and roles.value ew \"9\"".to_owned(), "n"),
    ] {
        for by in [SortBy::Id, SortBy::Name, SortBy::UpdatedAt] {
            let query = PageQuery {
                filter: Some(filter(&text)),
                words: if words.is_empty() { Vec::new() } else { search(words) },
                count: true,
                ..sorted(by, Direction::Descending, 5)
            };
            let whole = harness.walk(query.clone()).await;
            let counted = u64::try_from(whole.len()).expect("few");
            assert_eq!(harness.page(query.clone()).await.total, Some(Total::Exactly(counted)));
            for comparisons_max in [0, 1, 400, 5_000] {
                let short = PageQuery { comparisons_max, ..query.clone() };
                let page = harness.page(short.clone()).await;
                assert!(page.examined.is_none() || page.next.is_some(), "an early end goes on");
                let (Total::Exactly(least) | Total::AtLeast(least)) = page.total.expect("a total");
                assert!(least <= counted, "{text}");
                assert_eq!(harness.walk(short).await, whole, "{by:?} {comparisons_max} {text}");
            }
        }
    }
}

pub async fn a_page_whose_comparisons_end_between_two_portions_of_rows_goes_on(harness: Harness) {
    let mut ids = Vec::new();
    for number in 10..40 {
        ids.push(harness.user(json!({"username": format!("u{number}")})).await.id);
    }
    // Only some users are in groups, so the groups of the next portion may be too many.
    for group in 0..6 {
        let members: Vec<_> = ids.iter().copied().skip(group % 3).step_by(7).collect();
        harness.group(&format!("g{group}"), &members).await;
    }
    let tests: Vec<String> = (3..13).map(|name| format!("groups.display eq \"g{name}\"")).collect();
    for text in [tests.join(" or "), format!("not ({})", tests.join(" or "))] {
        for by in [SortBy::Id, SortBy::Username] {
            let query =
                PageQuery { filter: Some(filter(&text)), ..sorted(by, Direction::Ascending, 50) };
            let whole = harness.walk(query.clone()).await;
            for examined_max in [3, 5, 7] {
                for comparisons_max in (10..100).step_by(10) {
                    let short = PageQuery { comparisons_max, examined_max, ..query.clone() };
                    let found = harness.walk(short).await;
                    assert_eq!(found, whole, "{by:?} {examined_max} {comparisons_max} {text}");
                }
            }
        }
    }
}

pub async fn with_many_users_totals_are_bounded_and_paging_is_complete(harness: Harness) {
    let many = TOTAL_EXACT_MAX + 1;
    let mut left = many;
    while left > 0 {
        let some = left.min(250);
        let act = |number: u64| {
            let body = json!({"username": format!("u{number}"), "name": "n", "external_id": "x"});
            harness.creating(&body)
        };
        let acts = (left - some..left).map(act).collect();
        assert!(harness.apply(acts).await.iter().all(Result::is_ok));
        left -= some;
    }
    let all = PageQuery { count: true, ..PageQuery::first(1) };
    let active = Conditions { status: Some(Status::Active), ..Conditions::default() };
    let of_status = active.of(all.clone());
    // The numbers of all users and of those with a status are stored counters.
    for counted in [all.clone(), of_status] {
        assert_eq!(harness.page(counted).await.total, Some(Total::Exactly(many)));
    }
    let shared = Conditions { external_id: Some("x".to_owned()), ..Conditions::default() };
    let mut shared = shared.of(all);
    let total = harness.page(shared.clone()).await.total;
    assert_eq!(total, Some(Total::AtLeast(TOTAL_EXACT_MAX)));
    let gone = harness.page(shared.clone()).await.items[0].id;
    harness.delete(gone).await.expect("there");
    let total = harness.page(shared.clone()).await.total;
    assert_eq!(total, Some(Total::Exactly(TOTAL_EXACT_MAX)));
    // More rows match the condition than are sorted after an index found them.
    (shared.limit, shared.count, shared.sort.by) = (1000, false, SortBy::Name);
    let mut ids: Vec<_> = harness.walk(shared).await.iter().map(|user| user.id).collect();
    assert!(ids.is_sorted(), "all names tie");
    ids.dedup();
    assert_eq!(u64::try_from(ids.len()).expect("few"), TOTAL_EXACT_MAX);
}
