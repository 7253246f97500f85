//! Search: every word is matched by prefix, a write is found as soon as it is acknowledged, and no
//! longer than it is stored.

use roster_core::{
    OnConflict, Rules, Status,
    list::{PageQuery, Sort, SortBy, Total},
    plan::SORTED_ROWS_MAX,
};
use serde_json::json;

use crate::Conditions;

use super::{
    harness::{Harness, deleting, patching, purging, restoring},
    order::{DIRECTIONS, order},
    reads::{filter, names, words},
};

pub const RULES: Rules = super::DEFAULT;

const NOBODY: [&str; 0] = [];

async fn named(harness: &Harness, username: &str, name: &str) -> roster_core::Stored {
    harness.user(json!({"username": username, "name": name})).await
}

pub async fn a_user_is_found_as_soon_as_it_is_written(harness: Harness) {
    let body = json!({
        "username": "countess", "name": "Augusta Ada King", "given_name": "Ada",
        "family_name": "Lovelace", "emails": [
            {"value": "first@mail.example"}, {"value": "second@post.example"},
        ],
    });
    harness.user(body).await;
    harness.user(json!({"username": "other"})).await;
    for word in
        ["countess", "augusta", "king", "ada", "lovelace", "first", "mail", "second", "post"]
    {
        assert_eq!(harness.found(word).await, ["countess"], "{word}");
    }
    assert_eq!(harness.found("other").await, ["other"]);
}

pub async fn a_word_is_found_only_by_its_start(harness: Harness) {
    named(&harness, "u1", "Lovelace").await;
    named(&harness, "u2", "Love").await;
    named(&harness, "u3", "Glove").await;
    assert_eq!(harness.found("lov").await, ["u1", "u2"]);
    assert_eq!(harness.found("love").await, ["u1", "u2"]);
    assert_eq!(harness.found("lovel").await, ["u1"]);
    assert_eq!(harness.found("lovelace").await, ["u1"]);
    assert_eq!(harness.found("lovelaces").await, NOBODY);
    assert_eq!(harness.found("ove").await, NOBODY);
}

pub async fn all_words_must_match_in_any_member(harness: Harness) {
    let ada = json!({"username": "u1", "name": "Ada Lovelace", "email": "king@example.com"});
    harness.user(ada).await;
    named(&harness, "u2", "Ada Byron").await;
    for (typed, expected) in [
        ("ada", &["u1", "u2"][..]),
        ("lovelace ada", &["u1"]),
        ("ada love", &["u1"]),
        ("u1 ada king", &["u1"]),
        ("ada king lovelace example", &["u1"]),
        ("ada a king lovelace example com u1", &["u1"]),
        ("ada king lovelace example com u2", &[]),
        ("@", &[]),
        ("\u{1f600}", &[]),
        ("ada grace", &[]),
        ("byron lovelace", &[]),
    ] {
        assert_eq!(harness.found(typed).await, expected, "{typed}");
    }
}

pub async fn search_ignores_case_width_and_composition(harness: Harness) {
    named(&harness, "u1", "Zo\u{eb} Stra\u{df}e").await;
    named(&harness, "u2", "\u{ff21}\u{ff44}\u{ff41}").await;
    named(&harness, "u3", "\u{fb01}nn").await;
    named(&harness, "u4", "\u{10400}x").await;
    for (typed, expected) in [
        ("ZOE\u{308}", "u1"),
        ("zo\u{eb}", "u1"),
        ("STRASSE", "u1"),
        ("stra\u{df}", "u1"),
        ("ada", "u2"),
        ("\u{ff21}D", "u2"),
        ("FIN", "u3"),
        ("\u{fb01}", "u3"),
        ("\u{10428}", "u4"),
        ("\u{10400}X", "u4"),
    ] {
        assert_eq!(harness.found(typed).await, [expected], "{typed}");
    }
    assert_eq!(harness.found("zoe").await, NOBODY, "a mark is no ornament");
}

pub async fn a_mail_address_is_found_by_its_parts(harness: Harness) {
    let email = "Ada.King+x7@mail.b\u{fc}cher.example";
    harness.user(json!({"username": "u1", "email": email})).await;
    for typed in ["ada", "king", "x7", "mail", "b\u{fc}cher", "ada.king", "ada king example"] {
        assert_eq!(harness.found(typed).await, ["u1"], "{typed}");
    }
    assert_eq!(harness.found("cher").await, NOBODY);
}

pub async fn punctuation_separates_words_and_matches_nothing(harness: Harness) {
    named(&harness, "u1", "O'Brien-Smith 50%_off \"q\" a*b").await;
    named(&harness, "u2", "OBrien 500").await;
    for (typed, expected) in [
        ("o'brien", &["u1"][..]),
        ("smith", &["u1"]),
        ("obrien", &["u2"]),
        ("50", &["u1", "u2"]),
        ("50%", &["u1", "u2"]),
        ("off", &["u1"]),
        ("o%s", &["u1"]),
        ("o%f", &[]),
        ("%off", &["u1"]),
        ("q b", &["u1"]),
    ] {
        assert_eq!(harness.found(typed).await, expected, "{typed}");
    }
    assert_eq!(harness.found("b_ien").await, NOBODY);
}

pub async fn chinese_text_without_spaces_is_found_from_its_start(harness: Harness) {
    named(&harness, "u1", "\u{5c71}\u{7530}\u{592a}\u{90ce}").await;
    named(&harness, "u2", "\u{5c71}\u{672c} \u{592a}\u{90ce}").await;
    named(&harness, "u3", "\u{d55c}\u{ae00}").await;
    for (typed, expected) in [
        ("\u{5c71}", &["u1", "u2"][..]),
        ("\u{5c71}\u{7530}", &["u1"]),
        ("\u{592a}\u{90ce}", &["u2"]),
        ("\u{7530}", &[]),
        ("\u{d55c}", &["u3"]),
        ("\u{d55c}\u{ae00}", &["u3"]),
    ] {
        assert_eq!(harness.found(typed).await, expected, "{typed}");
    }
}

pub async fn a_renamed_user_is_found_only_by_its_new_name(harness: Harness) {
    let id = named(&harness, "u1", "Ada Byron").await.id;
    harness.patch(id, json!({"name": "Ada Lovelace"})).await.expect("valid");
    assert_eq!(harness.found("byron").await, NOBODY);
    assert_eq!(harness.found("ada lovelace").await, ["u1"]);
    harness.replace(id, json!({"username": "countess"})).await.expect("valid");
    for typed in ["ada", "lovelace", "u1"] {
        assert_eq!(harness.found(typed).await, NOBODY, "{typed}");
    }
    assert_eq!(harness.found("countess").await, ["countess"]);
}

pub async fn a_word_in_two_members_is_found_until_both_are_removed(harness: Harness) {
    let body = json!({"username": "ada", "name": "Ada ADA", "email": "ada@example.com"});
    let id = harness.user(body).await.id;
    assert_eq!(harness.found("ada").await, ["ada"], "once");
    harness.patch(id, json!({"name": null})).await.expect("valid");
    harness.patch(id, json!({"username": "x"})).await.expect("valid");
    assert_eq!(harness.found("ada").await, ["x"]);
    harness.patch(id, json!({"emails": null, "email": null})).await.expect("valid");
    assert_eq!(harness.found("ada").await, NOBODY);
}

pub async fn a_user_with_several_matching_words_is_returned_once(harness: Harness) {
    named(&harness, "u1", "Anna Annabel Ann An").await;
    named(&harness, "u2", "Anna").await;
    let query = PageQuery { words: words("an"), count: true, ..PageQuery::first(1) };
    assert_eq!(names(&harness.walk(query.clone()).await), ["u1", "u2"]);
    assert_eq!(harness.page(query).await.total, Some(Total::Exactly(2)));
    assert_eq!(harness.found("an ann anna").await, ["u1", "u2"]);
    assert_eq!(harness.found("an annab").await, ["u1"]);
}

pub async fn a_deleted_user_is_not_found_until_it_is_restored(harness: Harness) {
    let id = named(&harness, "u1", "Ada").await.id;
    harness.delete(id).await.expect("there");
    assert_eq!(harness.found("ada").await, NOBODY);
    harness.restore(id).await.expect("free");
    assert_eq!(harness.found("ada").await, ["u1"]);
    harness.patch(id, json!({"name": "Grace"})).await.expect("valid");
    assert_eq!(harness.found("ada").await, NOBODY);
    assert_eq!(harness.found("grace").await, ["u1"]);
    harness.delete(id).await.expect("there");
    harness.purge(id).await.expect("deleted");
    assert_eq!(harness.found("grace").await, NOBODY);
}

pub async fn words_follow_every_write_of_one_batch(harness: Harness) {
    let one = named(&harness, "u1", "Ada").await.id;
    let two = named(&harness, "u2", "Ada").await.id;
    let acts = vec![
        patching(one, &json!({"name": "Grace"})),
        deleting(one),
        restoring(one),
        patching(one, &json!({"name": "Joan"})),
        deleting(two),
        purging(two),
        harness.creating(&json!({"username": "u3", "name": "Ada"})),
        harness.creating_or(&json!({"username": "u3", "name": "Hedy"}), OnConflict::Replace),
    ];
    assert!(harness.apply(acts).await.iter().all(Result::is_ok));
    for gone in ["ada", "grace", "u2"] {
        assert_eq!(harness.found(gone).await, NOBODY, "{gone}");
    }
    assert_eq!(harness.found("joan").await, ["u1"]);
    assert_eq!(harness.found("hedy").await, ["u3"]);
}

pub async fn a_rejected_write_does_not_change_search_words(harness: Harness) {
    let id = named(&harness, "u1", "Ada").await.id;
    named(&harness, "u2", "Grace").await;
    let clash = json!({"username": "u2", "name": "Hedy"});
    assert!(harness.patch(id, clash).await.is_err());
    assert!(harness.patch(id, json!({"name": "Hedy", "nmae": "x"})).await.is_err());
    assert_eq!(harness.found("hedy").await, NOBODY);
    assert_eq!(harness.found("ada").await, ["u1"]);
}

pub async fn a_search_can_be_paged_counted_and_sorted(harness: Harness) {
    for number in 0..40 {
        harness.clock.step(number % 3);
        let name =
            ["Ada Love", "Ada", "Adam Lowe", "Grace"][usize::try_from(number % 4).unwrap_or(0)];
        let status = if number % 5 == 0 { "suspended" } else { "active" };
        let body = json!({
            "username": format!("u{}", (number * 7) % 40), "name": name, "status": status,
            "external_id": (number % 6).to_string(),
        });
        harness.user(body).await;
    }
    let all = harness.walk(PageQuery::first(100)).await;
    let suspended = Conditions { status: Some(Status::Suspended), ..Conditions::default() };
    let external = Conditions { external_id: Some("2".to_owned()), ..Conditions::default() };
    let ids = Conditions {
        ids: Some(all.iter().map(|u| u.id).step_by(3).collect()),
        ..Conditions::default()
    };
    let named = |user: &roster_core::Stored, wanted: &[&str]| {
        wanted.contains(&super::harness::view(user)["name"].as_str().unwrap_or_default())
    };
    for (typed, wanted) in [
        ("ada", &["Ada Love", "Ada", "Adam Lowe"][..]),
        ("ada lo", &["Ada Love", "Adam Lowe"]),
        ("adam", &["Adam Lowe"]),
    ] {
        for (equals, filtered) in [
            (Conditions::default(), None),
            (suspended.clone(), None),
            (external.clone(), None),
            (ids.clone(), None),
            (Conditions::default(), Some(filter("name co \"love\""))),
            (suspended.clone(), Some(filter("name co \"love\" or external_id eq \"0\""))),
        ] {
            let met = equals.of(PageQuery { filter: filtered, ..PageQuery::first(100) });
            let mut expected = harness.walk(met.clone()).await;
            expected.retain(|user| named(user, wanted));
            for by in [SortBy::Id, SortBy::Username, SortBy::UpdatedAt] {
                for direction in DIRECTIONS {
                    order(&mut expected, by, direction);
                    for limit in [1, 3, 100] {
                        let query = PageQuery {
                            sort: Sort { by, direction },
                            limit,
                            words: words(typed),
                            count: true,
                            ..met.clone()
                        };
                        let total = harness.page(query.clone()).await.total;
                        let many = u64::try_from(expected.len()).expect("few");
                        assert_eq!(total, Some(Total::Exactly(many)), "{query:?}");
                        assert_eq!(harness.walk(query.clone()).await, expected, "{query:?}");
                        let short = PageQuery { examined_max: 4, ..query };
                        assert_eq!(harness.walk(short).await, expected, "in short looks");
                    }
                }
            }
        }
    }
}

/// More users than are sorted after indexes found them.
pub async fn a_word_of_many_users_is_found_in_every_order(harness: Harness) {
    let names = ["Ada", "Ada Love", "Grace"];
    let body = |number: usize| {
        let name = names.get(number % 3).unwrap_or(&"Ada");
        json!({"username": format!("u{}", (number * 7) % 1_600), "name": name})
    };
    let acts = (0..1_600).map(|number| harness.creating(&body(number))).collect();
    assert!(harness.apply(acts).await.iter().all(Result::is_ok));
    let mut expected = harness.walk(PageQuery::first(1000)).await;
    expected.retain(|user| super::harness::view(user)["name"] != "Grace");
    assert!(expected.len() > SORTED_ROWS_MAX);
    for by in [SortBy::Username, SortBy::UpdatedAt] {
        for direction in DIRECTIONS {
            order(&mut expected, by, direction);
            let sort = Sort { by, direction };
            let query =
                PageQuery { sort, words: words("ad"), count: true, ..PageQuery::first(300) };
            let total = u64::try_from(expected.len()).expect("few");
            assert_eq!(harness.page(query.clone()).await.total, Some(Total::Exactly(total)));
            assert_eq!(harness.walk(query.clone()).await, expected, "{sort:?}");
            let bounded = PageQuery { examined_max: 500, ..query };
            assert_eq!(harness.walk(bounded).await, expected, "{sort:?}, 500 examined");
        }
    }
}

/// Many users have each word, and few have both.
pub async fn users_with_two_common_words_are_found_by_the_index(harness: Harness) {
    let body = |number: usize| {
        let name = match number {
            0..1_200 => "Ada",
            1_200..1_210 => "Ada Love",
            _ => "Love",
        };
        json!({"username": format!("u{}", (number * 7) % 2_410), "name": name})
    };
    let acts = (0..2_410).map(|number| harness.creating(&body(number))).collect();
    assert!(harness.apply(acts).await.iter().all(Result::is_ok));
    let mut expected = harness.walk(PageQuery::first(1000)).await;
    expected.retain(|user| super::harness::view(user)["name"] == "Ada Love");
    for typed in ["ada love", "LO u ad"] {
        for by in [SortBy::Id, SortBy::Username] {
            for direction in DIRECTIONS {
                order(&mut expected, by, direction);
                let sort = Sort { by, direction };
                let words = words(typed);
                let first = PageQuery { sort, words, count: true, ..PageQuery::first(100) };
                let page = harness.page(PageQuery { examined_max: 20, ..first.clone() }).await;
                assert_eq!((page.items, page.next), (expected.clone(), None), "{typed} {sort:?}");
                assert_eq!(page.total, Some(Total::Exactly(10)), "{typed} {sort:?}");
                let by_three = PageQuery { limit: 3, ..first };
                assert_eq!(harness.walk(by_three).await, expected, "{typed} {sort:?}");
            }
        }
    }
}
