//! Filters (promise "Exact filters"): the SCIM grammar with Roster's member names, on stored users,
//! with any index, condition, order and page size.

use roster_core::{
    Rules, Status, Stored, UserId,
    list::{PageQuery, Sort, SortBy, Total},
};
use serde_json::json;

use crate::Conditions;

use super::{
    harness::Harness,
    order::{DIRECTIONS, crowd, keys, order},
    reads::{filter, matches_record, names, words},
};

pub const RULES: Rules = super::DEFAULT;

/// Four people who differ in most members.
async fn people(harness: &Harness) -> Vec<UserId> {
    let mut ids = Vec::new();
    for body in [
        json!({
            "username": "ada", "name": "Ada Lovelace", "family_name": "Lovelace",
            "title": "Countess",
            "emails": [
                {"value": "Ada@Example.com", "type": "work", "primary": true},
                {"value": "ada@home.example", "type": "home"},
            ],
            "email_verified": true, "phone_number": "+44 (20) 1", "external_id": "E7",
            "picture": "https://example.com/Ada.png",
            "attributes": {"team": "core", "level": 3, "remote": true, "tags": ["a", "b"]},
        }),
        json!({
            "username": "Grace", "name": "Grace Hopper", "family_name": "Hopper",
            "status": "suspended", "email": "grace@navy.example", "external_id": "e7",
            "phone_numbers": [{"value": "0301"}, {"value": "+49 30 2", "type": "mobile"}],
            "manager": {"id": "7"}, "locale": "en-US",
            "attributes": {"team": "Core", "level": 2.5, "remote": false, "place": {"room": "x"}},
        }),
        json!({
            "username": "zo\u{eb}", "name": "Zo\u{eb} Stra\u{df}e", "family_name": "Stra\u{df}e",
            "emails": [{"value": "zo\u{eb}@b\u{fc}cher.example", "type": "home"}],
            "attributes": {"level": "3"},
        }),
        json!({"username": "50%_off\\", "name": "O'Brien \"Bob\"", "attributes": {"level": -1}}),
    ] {
        harness.clock.step(60_000);
        ids.push(harness.user(body).await.id);
    }
    ids
}

const ADA: &str = "ada";
const GRACE: &str = "Grace";
const ZOE: &str = "zo\u{eb}";
const BOB: &str = "50%_off\\";

type Row = (&'static str, &'static [&'static str]);

async fn hold(harness: &Harness, rows: &[Row]) {
    for (text, expected) in rows {
        assert_eq!(harness.filtered(text).await, *expected, "{text}");
    }
}

pub async fn each_operator_compares_texts_without_regard_to_case(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("family_name eq \"LOVELACE\"", &[ADA]),
            ("family_name eq \"love\"", &[]),
            ("family_name ne \"lovelace\"", &[GRACE, ZOE, BOB]),
            ("family_name co \"VEL\"", &[ADA]),
            ("family_name sw \"hop\"", &[GRACE]),
            ("family_name ew \"PER\"", &[GRACE]),
            ("family_name gt \"hopper\"", &[ADA, ZOE]),
            ("family_name ge \"Hopper\"", &[ADA, GRACE, ZOE]),
            ("family_name lt \"LOVELACE\"", &[GRACE]),
            ("family_name le \"lovelace\"", &[ADA, GRACE]),
            ("family_name pr", &[ADA, GRACE, ZOE]),
            ("family_name eq \"STRASSE\"", &[ZOE]),
            ("name co \"zoe\u{308}\"", &[ZOE]),
            ("title pr", &[ADA]),
            ("not (title pr)", &[GRACE, ZOE, BOB]),
        ],
    )
    .await;
}

pub async fn names_and_operators_ignore_case(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("FAMILY_NAME EQ \"lovelace\"", &[ADA]),
            ("Family_Name Sw \"l\" AND NOT (Title Eq \"x\")", &[ADA]),
            ("emails.TYPE eq \"WORK\"", &[ADA]),
            ("attributes.Team eq \"core\"", &[]),
        ],
    )
    .await;
}

pub async fn usernames_and_addresses_are_compared_by_key(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("username eq \"ADA\"", &[ADA]),
            ("username eq \"\u{ff41}da\"", &[ADA]),
            ("username eq \"zoe\u{308}\"", &[ZOE]),
            ("username sw \"GR\"", &[GRACE]),
            ("email eq \"ada@EXAMPLE.com\"", &[ADA]),
            ("email eq \"ada@home.example\"", &[]),
            ("emails.value eq \"ADA@home.example\"", &[ADA]),
            ("emails eq \"ada@home.example\"", &[ADA]),
            ("email eq \"ZO\u{cb}@xn--bcher-kva.example\"", &[ZOE]),
            ("emails.value ew \".EXAMPLE\"", &[ADA, GRACE, ZOE]),
            ("email ew \"@example.com\"", &[ADA]),
            ("phone_number eq \"+44201\"", &[ADA]),
            ("phone_number eq \"0301\"", &[GRACE]),
            ("phone_number eq \"+49302\"", &[]),
            ("phone_numbers.value eq \"+49 (30) 2\"", &[GRACE]),
        ],
    )
    .await;
}

pub async fn case_exact_members_are_compared_exactly(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("external_id eq \"E7\"", &[ADA]),
            ("external_id eq \"e7\"", &[GRACE]),
            ("external_id sw \"E\"", &[ADA]),
            ("picture ew \"Ada.png\"", &[ADA]),
            ("picture ew \"ada.png\"", &[]),
            ("attributes.team eq \"core\"", &[ADA]),
            ("attributes.team eq \"Core\"", &[GRACE]),
        ],
    )
    .await;
}

pub async fn custom_attributes_are_compared_by_type(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("attributes.level eq 3", &[ADA]),
            ("attributes.level eq 3.0", &[ADA]),
            ("attributes.level eq \"3\"", &[ZOE]),
            ("attributes.level gt 2", &[ADA, GRACE]),
            ("attributes.level le 2.5", &[GRACE, BOB]),
            ("attributes.level lt 0", &[BOB]),
            ("attributes.level gt \"2\"", &[ZOE]),
            ("attributes.remote eq true", &[ADA]),
            ("attributes.remote eq false", &[GRACE]),
            ("attributes.remote pr", &[ADA, GRACE]),
            ("attributes.tags eq \"b\"", &[ADA]),
            ("attributes.place.room eq \"x\"", &[GRACE]),
            ("attributes.place.room.x pr", &[]),
            ("attributes pr", &[ADA, GRACE, ZOE, BOB]),
            ("attributes.nothing eq null and username sw \"a\"", &[ADA]),
        ],
    )
    .await;
}

pub async fn one_entry_must_match_all_tests_in_brackets(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("emails[type eq \"work\" and value ew \"@example.com\"]", &[ADA]),
            ("emails[type eq \"home\" and value ew \"@example.com\"]", &[]),
            ("emails.type eq \"home\" and emails.value ew \"@example.com\"", &[ADA]),
            ("emails[type eq \"home\" or primary eq true]", &[ADA, GRACE, ZOE]),
            ("emails[primary eq false]", &[ADA, ZOE]),
            ("emails.primary eq false", &[ADA, ZOE]),
            ("emails[primary ne false]", &[ADA, GRACE]),
            ("emails[primary eq null]", &[ADA, ZOE]),
            ("emails[not (primary pr)]", &[ADA, ZOE]),
            ("emails[not (type eq \"home\")]", &[ADA, GRACE]),
            ("not (emails[type eq \"home\"])", &[GRACE, BOB]),
            ("emails[type eq \"home\"] and status eq \"active\"", &[ADA, ZOE]),
            ("phone_numbers[type eq \"mobile\" and value eq \"+49302\"]", &[GRACE]),
            ("manager.id eq \"7\"", &[GRACE]),
            ("emails pr and not (phone_numbers pr)", &[ZOE]),
        ],
    )
    .await;
}

pub async fn flags_status_and_times_are_compared_by_type(harness: Harness) {
    let ids = people(&harness).await;
    let created = ids[1].created_at();
    let rows: [(String, &[&str]); 10] = [
        ("status eq \"suspended\"".to_owned(), &[GRACE]),
        ("status ne \"suspended\"".to_owned(), &[ADA, ZOE, BOB]),
        ("email_verified eq true".to_owned(), &[ADA]),
        ("not (email_verified eq true)".to_owned(), &[GRACE, ZOE, BOB]),
        (format!("created_at gt \"{created}\""), &[ZOE, BOB]),
        (format!("created_at ge \"{created}\""), &[GRACE, ZOE, BOB]),
        (format!("created_at lt \"{created}\""), &[ADA]),
        (format!("updated_at le \"{created}\""), &[ADA, GRACE]),
        (format!("id eq \"{}\"", ids[2]), &[ZOE]),
        (format!("id eq \"{}\" or id eq \"{}\"", ids[3], ids[0]), &[ADA, BOB]),
    ];
    for (text, expected) in rows {
        assert_eq!(harness.filtered(&text).await, expected, "{text}");
    }
}

pub async fn a_time_between_two_milliseconds_is_compared_exactly(harness: Harness) {
    let ids = people(&harness).await;
    let created = ids[1].created_at().to_string();
    // Half a millisecond after that one.
    let after = created.replace('Z', "5Z");
    for member in ["created_at", "updated_at"] {
        for (operator, expected) in [
            ("lt", &[ADA, GRACE][..]),
            ("le", &[ADA, GRACE]),
            ("gt", &[ZOE, BOB]),
            ("ge", &[ZOE, BOB]),
            ("eq", &[]),
            ("ne", &[ADA, GRACE, ZOE, BOB]),
        ] {
            let text = format!("{member} {operator} \"{after}\"");
            assert_eq!(harness.filtered(&text).await, expected, "{text}");
        }
    }
}

/// The key of an address has no needless quotation marks, but the stored address may.
pub async fn sw_compares_the_start_of_an_address_as_sent(harness: Harness) {
    let mut users = Vec::new();
    for (number, local) in
        ["\"ada\"", "ada", "\"ada lovelace\"", "\"adam\"", "adam", "\"eve\"", "eve", "ada.b"]
            .into_iter()
            .enumerate()
    {
        let body = json!({
            "username": format!("u{number}"), "email": format!("{local}@x{number}.example"),
        });
        users.push(harness.user(body).await);
    }
    for text in ["email sw \"ada\"", "email sw \"\\\"ada\"", "email sw \"ada@\"", "email sw \"e\""]
    {
        let meaning = filter(text);
        let mut expected = users.clone();
        expected.retain(|user| matches_record(&meaning, &user.record));
        assert!(!expected.is_empty(), "{text}");
        for by in [SortBy::Email, SortBy::Id] {
            for direction in DIRECTIONS {
                order(&mut expected, by, direction);
                for limit in [1, 2, 100] {
                    let sort = Sort { by, direction };
                    let query = PageQuery {
                        sort,
                        filter: Some(meaning.clone()),
                        ..PageQuery::first(limit)
                    };
                    assert_eq!(harness.walk(query.clone()).await, expected, "{query:?}");
                    assert!(!harness.page(query).await.items.is_empty(), "{text}");
                }
            }
        }
    }
}

pub async fn sql_and_json_metacharacters_are_plain_text_in_filters(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("username co \"%\"", &[BOB]),
            ("username co \"_\"", &[BOB]),
            ("username ew \"\\\\\"", &[BOB]),
            ("username sw \"5_%\"", &[]),
            ("name co \"'\"", &[BOB]),
            ("name eq \"o'brien \\\"bob\\\"\"", &[BOB]),
            ("name co \"\\u0022Bob\"", &[BOB]),
            ("name eq \"' or 1=1 --\"", &[]),
            ("username co \"*\"", &[]),
        ],
    )
    .await;
}

pub async fn and_binds_closer_than_or_and_brackets_bind_closest(harness: Harness) {
    people(&harness).await;
    hold(
        &harness,
        &[
            ("username eq \"ada\" or username eq \"grace\" and status eq \"active\"", &[ADA]),
            (
                "(username eq \"ada\" or username eq \"grace\") and status eq \"suspended\"",
                &[GRACE],
            ),
            ("username eq \"ada\" or (title pr or manager pr) and not (title pr)", &[ADA, GRACE]),
            ("username eq \"ada\" and username eq \"grace\"", &[]),
            ("title pr or not (title pr)", &[ADA, GRACE, ZOE, BOB]),
        ],
    )
    .await;
}

pub async fn a_filter_sees_each_write_at_once(harness: Harness) {
    let ids = people(&harness).await;
    let further = "emails.value eq \"second@example.com\"";
    let number = "phone_numbers.value eq \"+1 2 3\"";
    hold(&harness, &[(further, &[]), (number, &[])]).await;
    let emails = json!([{"value": "first@example.com"}, {"value": "SECOND@example.com"}]);
    let numbers = json!([{"value": "0301"}, {"value": "+123"}]);
    let patch =
        json!({"emails": emails, "phone_numbers": numbers, "email": null, "phone_number": null});
    harness.patch(ids[1], patch).await.expect("valid");
    hold(&harness, &[(further, &[GRACE]), (number, &[GRACE])]).await;
    // A further address becomes the primary one, and the other way round.
    harness.patch(ids[1], json!({"email": "SECOND@example.com"})).await.expect("valid");
    hold(&harness, &[(further, &[GRACE]), ("emails.value eq \"first@example.com\"", &[GRACE])])
        .await;
    harness.patch(ids[1], json!({"emails": [], "email": null})).await.expect("valid");
    hold(&harness, &[(further, &[]), (number, &[GRACE])]).await;
    harness.delete(ids[1]).await.expect("there");
    hold(&harness, &[(number, &[])]).await;
    harness.restore(ids[1]).await.expect("free");
    hold(&harness, &[(number, &[GRACE])]).await;
    harness.delete(ids[1]).await.expect("there");
    harness.purge(ids[1]).await.expect("deleted");
    hold(&harness, &[(number, &[]), ("family_name sw \"h\"", &[])]).await;
}

pub async fn an_address_shared_by_several_users_finds_each_once(harness: Harness) {
    for number in 0..7 {
        let mine = format!("u{number}@example.com");
        let shared = json!([
            {"value": mine},
            {"value": "team@example.com"},
            {"value": "Team@example.com", "type": "x"},
        ]);
        let emails = if number == 3 { json!([{"value": "team@example.com"}]) } else { shared };
        let numbers =
            json!([{"value": format!("+1{number}0")}, {"value": "+99"}, {"value": "+9 9"}]);
        let body =
            json!({"username": format!("u{number}"), "emails": emails, "phone_numbers": numbers});
        harness.user(body).await;
    }
    let all = ["u0", "u1", "u2", "u3", "u4", "u5", "u6"];
    for text in [
        "emails.value eq \"TEAM@example.com\"",
        "emails[value eq \"team@example.com\"]",
        "phone_numbers.value eq \"+99\"",
        "emails.value eq \"team@example.com\" or phone_numbers.value eq \"+99\"",
        "emails.value eq \"team@example.com\" or username sw \"u\"",
    ] {
        for limit in [1, 2, 100] {
            let query =
                PageQuery { filter: Some(filter(text)), count: true, ..PageQuery::first(limit) };
            assert_eq!(names(&harness.walk(query.clone()).await), all, "{text}");
            assert_eq!(harness.page(query).await.total, Some(Total::Exactly(7)), "{text}");
        }
    }
}

/// Filters on the members that the users of a crowd have, some along an index, some not.
const ON_A_CROWD: [&str; 16] = [
    "username sw \"user 1\"",
    "username ge \"user 2\" and username lt \"user 30\"",
    "username eq \"user 3\" or username eq \"USER 14\" or username eq \"user 99\"",
    "family_name eq \"love\"",
    "family_name gt \"Love\" or external_id eq \"%\"",
    "name sw \"AD\" and status eq \"active\"",
    "not (name pr)",
    "email pr and external_id ne \"x\"",
    "emails.value ew \"@example.com\" and phone_numbers.value eq \"+44201\"",
    "external_id eq \"x\" or external_id eq \"X\"",
    "phone_number eq \"+44201\" or title eq \"x\"",
    "phone_number co \"44\" and family_name pr",
    "status eq \"suspended\"",
    "updated_at gt \"2026-01-01T00:00:00.003Z\"",
    "created_at le \"2026-01-01T00:00:00.004Z\" and version gt 1",
    "username eq \"nobody\" and name pr",
];

pub async fn a_filter_holds_with_every_condition_order_and_page_size(harness: Harness) {
    let users = crowd(&harness).await;
    let conditions = [
        Conditions::default(),
        Conditions { status: Some(Status::Active), ..Conditions::default() },
        Conditions { external_id: Some("x".to_owned()), ..Conditions::default() },
        Conditions {
            ids: Some(users.iter().map(|u| u.id).step_by(2).collect()),
            ..Conditions::default()
        },
        Conditions {
            email: users.iter().find_map(|user| keys(user).email),
            ..Conditions::default()
        },
    ];
    let mut met = 0;
    for text in ON_A_CROWD {
        let meaning = filter(text);
        let matches = |user: &Stored| matches_record(&meaning, &user.record);
        for equals in &conditions {
            let only = equals.of(PageQuery::first(100));
            let mut expected = harness.walk(only.clone()).await;
            expected.retain(matches);
            met += expected.len();
            for by in SortBy::ALL {
                for direction in DIRECTIONS {
                    order(&mut expected, *by, direction);
                    for limit in [2, 100] {
                        let query = equals.of(PageQuery {
                            sort: Sort { by: *by, direction },
                            filter: Some(meaning.clone()),
                            count: true,
                            limit,
                            ..PageQuery::first(100)
                        });
                        assert_eq!(harness.walk(query.clone()).await, expected, "{query:?}");
                        let many = u64::try_from(expected.len()).expect("few");
                        let total = harness.page(query.clone()).await.total;
                        assert_eq!(total, Some(Total::Exactly(many)), "{query:?}");
                        let few = PageQuery { examined_max: 3, ..query };
                        assert_eq!(harness.walk(few).await, expected, "in short looks");
                    }
                }
            }
        }
    }
    assert!(met > 200, "most filters meet somebody, not {met}");
}

pub async fn filtered_paging_returns_every_matching_user_exactly_once(harness: Harness) {
    for number in 0..30 {
        let title = if number % 2 == 0 { "T" } else { "x" };
        let body = json!({"username": format!("u{number}"), "title": title});
        harness.user(body).await;
    }
    let text = "title eq \"t\" or username ew \"7\"";
    let staying = harness.filtered("title eq \"t\" and username sw \"u1\"").await;
    let mut query = PageQuery { filter: Some(filter(text)), ..PageQuery::first(3) };
    let mut seen = Vec::new();
    for round in 0.. {
        assert!(round < 20, "the walk ends");
        let page = harness.page(query.clone()).await;
        seen.extend(names(&page.items));
        let of_name = |name: String| Conditions { username: Some(name), ..Conditions::default() };
        let changed = of_name(format!("u{}", 2 * (round % 5)));
        let changed = changed.of(PageQuery::first(1));
        for user in harness.walk(changed).await {
            harness.patch(user.id, json!({"title": round.to_string()})).await.expect("valid");
        }
        let body = json!({"username": format!("new{round}"), "title": "x"});
        harness.user(body).await;
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    let mut once = seen.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), seen.len(), "nobody twice");
    assert!(staying.iter().all(|name| seen.contains(name)), "{staying:?} {seen:?}");
}

pub async fn a_filter_and_a_search_can_be_combined(harness: Harness) {
    people(&harness).await;
    for (typed, text, expected) in [
        ("ada", "title pr", &[ADA][..]),
        ("ada", "not (title pr)", &[]),
        ("example", "status eq \"active\"", &[ADA, ZOE]),
        ("example", "emails.type eq \"home\" and not (title pr)", &[ZOE]),
        ("ex home", "emails.value sw \"ada\"", &[ADA]),
    ] {
        let (filter, words) = (Some(filter(text)), words(typed));
        let query = PageQuery { filter, words, count: true, ..PageQuery::first(1) };
        assert_eq!(names(&harness.walk(query.clone()).await), expected, "{typed}, {text}");
        let many = u64::try_from(expected.len()).expect("few");
        assert_eq!(harness.page(query).await.total, Some(Total::Exactly(many)));
    }
}

pub async fn a_limit_of_zero_counts_matching_users(harness: Harness) {
    people(&harness).await;
    let counted =
        PageQuery { filter: Some(filter("email pr")), count: true, ..PageQuery::first(0) };
    let page = harness.page(counted).await;
    assert_eq!((page.items, page.next, page.total), (vec![], None, Some(Total::Exactly(3))));
}
