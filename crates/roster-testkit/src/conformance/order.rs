//! Order (promise "Stable pages"): by code point of the folded NFC key, ties by id, absent values
//! last ascending and first descending, alike on every engine.

use std::collections::BTreeMap;

use roster_core::{
    Keys, Rules, Stored, User,
    list::{Direction, PageQuery, Sort, SortBy},
};
use serde_json::{Value, json};

use super::{
    harness::{Harness, view},
    reads::{filter, matches_record},
};

pub const RULES: Rules = super::DEFAULT;

pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Ascending, Direction::Descending];

pub(super) fn sorted(by: SortBy, direction: Direction, limit: usize) -> PageQuery {
    PageQuery { sort: Sort { by, direction }, ..PageQuery::first(limit) }
}

pub(super) async fn listed(
    harness: &Harness,
    by: SortBy,
    direction: Direction,
    member: &str,
) -> Vec<Value> {
    let users = harness.walk(sorted(by, direction, 2)).await;
    users.iter().map(|user| view(user).get(member).cloned().unwrap_or_default()).collect()
}

/// Creates a user for each text in a scattered order. They must then be listed in the given order.
async fn in_this_order(harness: &Harness, by: SortBy, member: &str, texts: &[&str]) {
    let half = texts.len() / 2;
    let scattered = texts[half..].iter().rev().chain(&texts[..half]);
    for (number, text) in scattered.enumerate() {
        let mut body = json!({"username": format!("user{number}")});
        body[member] = json!(text);
        harness.user(body).await;
    }
    let mut expected: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
    assert_eq!(listed(harness, by, Direction::Ascending, member).await, expected);
    expected.reverse();
    assert_eq!(listed(harness, by, Direction::Descending, member).await, expected);
}

/// Texts in the order of their folded keys. Engines could disagree about each pair of neighbours:
/// case, length, marks, accents, the code points that UTF-16 sorts after U+10000.
const TEXTS: [&str; 20] = [
    "!",
    "\"",
    "%",
    "'",
    "(",
    "0",
    "10",
    "2",
    "A",
    "a b",
    "AA",
    "Ab",
    "b",
    "\\",
    "_",
    "z",
    "\u{c9}mile",
    "\u{ff5a}",
    "\u{10428}",
    "\u{1f600}",
];

pub async fn names_are_ordered_by_code_point_of_their_folded_key(harness: Harness) {
    let mut texts = TEXTS;
    texts.sort_by_key(|text| roster_core::text::fold_key(text));
    in_this_order(&harness, SortBy::Name, "name", &texts).await;
}

pub async fn family_names_are_ordered_like_names(harness: Harness) {
    let texts = [
        "0",
        "Abbe",
        "adams",
        "Ad\u{e0}",
        "\u{c5}strand",
        "\u{e5}strand2",
        "\u{ff5a}",
        "\u{10428}",
    ];
    in_this_order(&harness, SortBy::FamilyName, "family_name", &texts).await;
}

pub async fn usernames_and_emails_are_ordered_by_key(harness: Harness) {
    for name in ["b", "A", "a.b", "\u{e0}", "\u{ff43}", "B2", "a"] {
        let name = if name == "a" { "aa" } else { name };
        harness.user(json!({"username": name, "email": format!("{name}@Example.com")})).await;
    }
    let names = ["A", "a.b", "aa", "b", "B2", "\u{ff43}", "\u{e0}"].map(|name| json!(name));
    assert_eq!(listed(&harness, SortBy::Username, Direction::Ascending, "username").await, names);
    let emails = ["a.b", "A", "aa", "B2", "b", "\u{e0}", "\u{ff43}"];
    let emails = emails.map(|name| json!(format!("{name}@Example.com")));
    assert_eq!(listed(&harness, SortBy::Email, Direction::Ascending, "email").await, emails);
}

pub async fn absent_values_sort_last_ascending_and_first_descending(harness: Harness) {
    for (username, name) in [("u1", None), ("u2", Some("zz")), ("u3", Some("!")), ("u4", Some(""))]
    {
        harness.user(json!({"username": username, "name": name})).await;
    }
    let ascending = listed(&harness, SortBy::Name, Direction::Ascending, "username").await;
    assert_eq!(ascending, ["u3", "u2", "u1", "u4"]);
    let descending = listed(&harness, SortBy::Name, Direction::Descending, "username").await;
    assert_eq!(descending, ["u4", "u1", "u2", "u3"]);
}

pub async fn by_default_users_are_in_order_of_creation(harness: Harness) {
    let mut made = Vec::new();
    for (number, step) in [0, 0, 5, -1000, 1, 0].into_iter().enumerate() {
        harness.clock.step(step);
        made.push(harness.user(json!({"username": format!("u{}", 9 - number)})).await.id);
    }
    let seen: Vec<_> = harness.walk(PageQuery::first(4)).await.iter().map(|user| user.id).collect();
    assert_eq!(seen, made);
}

pub async fn the_latest_change_moves_a_user_to_the_end(harness: Harness) {
    let mut users = Vec::new();
    for number in 0..5 {
        harness.clock.step(1);
        users.push(harness.user(json!({"username": format!("u{number}")})).await);
    }
    harness.clock.step(1);
    harness.patch(users[1].id, json!({"name": "x"})).await.expect("valid");
    let seen = listed(&harness, SortBy::UpdatedAt, Direction::Ascending, "username").await;
    assert_eq!(seen, ["u0", "u2", "u3", "u4", "u1"]);
    let seen = listed(&harness, SortBy::UpdatedAt, Direction::Descending, "username").await;
    assert_eq!(seen, ["u1", "u4", "u3", "u2", "u0"]);
}

/// Users with ties, absent values and changes in every member that a list is ordered by.
pub(super) async fn crowd(harness: &Harness) -> Vec<Stored> {
    let mut users = BTreeMap::new();
    for number in 0_usize..36 {
        let pick = |pool: &[Option<&str>]| pool[number % pool.len()].map(str::to_owned);
        harness.clock.step(i64::from(number.is_multiple_of(3)));
        let body = json!({
            "username": format!("user {}", (number * 7) % 36),
            "name": pick(&[Some("Ada"), None, Some("ADA"), Some("zoe"), Some("\u{e9}")]),
            "family_name": pick(&[None, Some("Love"), Some("love"), None]),
            "email": pick(&[Some("e"), None, None]).map(|e| format!("{e}{number}@example.com")),
            "phone_number": pick(&[Some("+44 20 1"), Some("4420 1"), None]),
            "external_id": pick(&[Some("x"), Some("X"), None, None, Some("%")]),
            "status": pick(&[Some("active"), Some("active"), Some("suspended")]),
            "expires_at": pick(&[
                None,
                Some("2026-01-01T00:00:00Z"),
                Some("2026-01-01T01:00:00+01:00"),
                Some("2025-12-31T23:59:59.999Z"),
            ]),
        });
        let user = harness.user(body).await;
        users.insert(user.id, user);
    }
    let ids: Vec<_> = users.keys().copied().collect();
    for (number, id) in ids.into_iter().enumerate() {
        if number % 5 == 1 {
            let patch =
                json!({"title": "x", "family_name": "M", "expires_at": "2027-01-01T00:00:00Z"});
            let after = harness.patch(id, patch).await.expect("valid").stored;
            users.insert(id, after);
        } else if number % 7 == 3 {
            harness.delete(id).await.expect("there");
            users.remove(&id);
        }
    }
    users.into_values().collect()
}

pub(super) fn keys(user: &Stored) -> Keys {
    Keys::of(&User::from_record(&user.record).expect("a record is readable"))
}

pub async fn a_range_excludes_users_without_a_value_on_every_page(harness: Harness) {
    let mut users = Vec::new();
    for number in 0..4 {
        let name = ["Ada", "Grace", "Zo\u{eb}", "!"][number];
        users.push(
            harness
                .user(json!({
                    "username": format!("u{number}"), "email": format!("u{number}@x.example"),
                    "name": name, "family_name": name,
                }))
                .await,
        );
        harness.user(json!({"username": format!("nobody{number}")})).await;
    }
    for (by, member) in
        [(SortBy::Email, "email"), (SortBy::Name, "name"), (SortBy::FamilyName, "family_name")]
    {
        for condition in ["ge \"\"", "gt \"\"", "ge \"g\"", "lt \"z\"", "pr"] {
            let meaning = filter(&format!("{member} {condition}"));
            let mut expected = users.clone();
            expected.retain(|user| matches_record(&meaning, &user.record));
            for direction in DIRECTIONS {
                order(&mut expected, by, direction);
                for limit in [1, 2, 100] {
                    let sort = Sort { by, direction };
                    let filter = Some(meaning.clone());
                    let query = PageQuery { sort, filter, ..PageQuery::first(limit) };
                    assert_eq!(harness.walk(query.clone()).await, expected, "{query:?}");
                }
            }
        }
    }
}

/// The naive way to order users.
pub(super) fn order(users: &mut [Stored], by: SortBy, direction: Direction) {
    users.sort_by_cached_key(|user| {
        let keys = keys(user);
        let text = match by {
            // The keys of an index of the schema follow from the schema.
            SortBy::Id | SortBy::Indexed(_) => None,
            SortBy::UpdatedAt => Some(format!("{:020}", keys.updated_at.as_millis())),
            SortBy::Username => Some(keys.username),
            SortBy::Email => keys.email,
            SortBy::FamilyName => keys.family_name,
            SortBy::Name => keys.name,
            SortBy::ExpiresAt => keys.expires_at,
        };
        (text.is_none(), text, user.id)
    });
    if direction == Direction::Descending {
        users.reverse();
    }
}

pub async fn every_order_holds_with_ties_and_absent_values_at_every_page_size(harness: Harness) {
    let mut expected = crowd(&harness).await;
    for by in SortBy::ALL {
        for direction in DIRECTIONS {
            order(&mut expected, *by, direction);
            for limit in [1, 2, 7, 1000] {
                let seen = harness.walk(sorted(*by, direction, limit)).await;
                assert_eq!(seen, expected, "{by:?} {direction:?} {limit}");
            }
        }
    }
}
