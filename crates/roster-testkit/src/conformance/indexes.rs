//! Indexes of members that the schema names: lists, unique values, and their steps.

use std::{collections::BTreeMap, sync::Arc};

use roster_core::{
    Effect, OnConflict, Refusal, Rules, SchemaDraft, Stored, Taken, UsernameOrigin,
    list::{Direction, PageQuery, Sort, SortBy},
    schema::IndexStatus,
};
use serde_json::{Value, json};

use super::harness::{Harness, patching, tree, view};

pub const RULES: Rules = super::DEFAULT;

async fn declare(harness: &Harness, attributes: Value, indexed_members: Value) {
    let body = json!({"attributes": attributes, "indexed_members": indexed_members});
    harness.act(SchemaDraft::parse(tree(&body))).await.expect("a valid schema");
}

/// Declares the badge as a unique string with these flags, and builds its index.
async fn with_unique_badges(harness: &Harness) {
    declare(harness, json!([{"name": "badge", "type": "string", "unique": true}]), json!([])).await;
    harness.build_indexes(usize::MAX).await;
}

async fn found(harness: &Harness, filter: &str) -> Vec<String> {
    let schema = harness.store().schema();
    let filter = schema.filter(filter).expect(filter);
    let query = PageQuery { schema, ..PageQuery::first(7) }.with(filter.expression().clone());
    names(&harness.walk(query).await)
}

/// The usernames in the order of a member.
async fn ordered(harness: &Harness, member: &str, direction: Direction) -> Vec<String> {
    let schema = harness.store().schema();
    let index = schema.index_named(member).expect(member);
    assert!(index.is_sortable(), "{index:?}");
    let sort = Sort { by: SortBy::Indexed(index.kind), direction };
    names(
        &harness.walk(PageQuery { sort, schema: Arc::clone(&schema), ..PageQuery::first(3) }).await,
    )
}

fn names(users: &[Stored]) -> Vec<String> {
    let name = |user| view(user)["username"].as_str().map(str::to_owned);
    users.iter().filter_map(name).collect()
}

fn status(harness: &Harness, member: &str) -> IndexStatus {
    harness.store().schema().index_named(member).expect(member).status.clone()
}

async fn badge(harness: &Harness, username: &str, badge: Value) -> Stored {
    harness.user(json!({"username": username, "attributes": {"badge": badge}})).await
}

fn taken() -> Refusal {
    Refusal::Taken(Taken { indexed: vec!["attributes.badge".to_owned()], ..Taken::default() })
}

pub async fn an_index_finds_the_users_that_the_filter_matches(harness: Harness) {
    for number in 0..40 {
        let at = format!("2026-01-{:02}T00:00:00Z", number % 9 + 1);
        let own = json!({"badge": format!("B{number}"), "level": number % 5, "at": at,
            "tags": [format!("t{}", number % 3), "z"]});
        let department = format!("D{}", number % 4);
        let user = json!({"username": format!("u{number}"), "department": department,
            "attributes": own});
        harness.user(user).await;
    }
    harness.user(json!({"username": "none"})).await;
    let declared = json!([
        {"name": "badge", "type": "string", "indexed": true},
        {"name": "level", "type": "number", "indexed": true},
        {"name": "at", "type": "date_time", "indexed": true},
        {"name": "tags", "type": "string", "multi_valued": true, "indexed": true},
    ]);
    declare(&harness, declared, json!(["department"])).await;
    let filters = [
        "attributes.badge eq \"b7\"",
        "attributes.badge eq \"b7\" or attributes.badge eq \"B8\"",
        "attributes.badge sw \"b1\"",
        "attributes.badge gt \"B30\" and attributes.badge le \"b35\"",
        "attributes.badge pr and status eq \"active\"",
        "not (attributes.badge pr)",
        "attributes.badge ne \"b7\"",
        "attributes.level ge 3.5",
        "attributes.level lt 1 and department eq \"d0\"",
        "attributes.level eq 2 and attributes.badge ew \"2\"",
        "attributes.at ge \"2026-01-09T01:00:00+01:00\"",
        "attributes.at eq \"2026-01-02T00:00:00.000Z\"",
        "attributes.tags eq \"T1\"",
        "attributes.tags sw \"t\" and attributes.tags eq \"t2\"",
        // Two values of one user, of which neither is in both ranges.
        "attributes.tags gt \"t9\" and attributes.tags lt \"t1\"",
        "department eq \"d3\"",
        "department ge \"d2\" and department lt \"d3\"",
        "attributes.badge eq \"nobody\"",
    ];
    let mut examined = Vec::new();
    for filter in filters {
        examined.push(found(&harness, filter).await);
    }
    harness.build_indexes(usize::MAX).await;
    for (filter, examined) in filters.into_iter().zip(examined) {
        assert_eq!(found(&harness, filter).await, examined, "{filter}");
    }
    assert_eq!(found(&harness, "attributes.badge eq \"b7\"").await, ["u7"]);
    assert_eq!(found(&harness, "attributes.tags eq \"T1\"").await.len(), 13);
}

pub async fn users_are_listed_in_the_order_of_an_index(harness: Harness) {
    for (username, badge) in
        [("a", json!("b")), ("b", json!("C")), ("c", json!("a")), ("d", json!("c"))]
    {
        harness.user(json!({"username": username, "attributes": {"badge": badge}})).await;
    }
    harness.user(json!({"username": "e"})).await;
    harness.user(json!({"username": "f", "attributes": {"badge": 7}})).await;
    declare(&harness, json!([{"name": "badge", "type": "string", "indexed": true}]), json!([]))
        .await;
    harness.build_indexes(usize::MAX).await;
    // A value of another type is before all others, and no value is after them.
    let mut expected = vec!["f", "c", "a", "b", "d", "e"];
    let member = "attributes.badge";
    assert_eq!(ordered(&harness, member, Direction::Ascending).await, expected);
    expected.reverse();
    assert_eq!(ordered(&harness, member, Direction::Descending).await, expected);
}

pub async fn an_index_is_built_while_users_change(harness: Harness) {
    let mut users = Vec::new();
    let mut badges = BTreeMap::new();
    for number in 0..300_usize {
        let value = format!("B{number}");
        users.push(badge(&harness, &format!("u{number}"), json!(value)).await.id);
        badges.insert(number, value);
    }
    harness.delete(users[2]).await.expect("there");
    declare(&harness, json!([{"name": "badge", "type": "string", "indexed": true}]), json!([]))
        .await;
    // Users at the start, at the end and between change after every step.
    for step in 0..300 {
        for number in [step * 37 % 300, 299 - step, step] {
            if number != 2 && badges.contains_key(&number) {
                let value = format!("X{step}N{number}");
                let changed = json!({"attributes": {"badge": value}});
                harness.patch(users[number], changed).await.expect("there");
                badges.insert(number, value);
            }
        }
        let number = (step * 53 + 10) % 300;
        if number != 2 && badges.remove(&number).is_some() {
            harness.delete(users[number]).await.expect("there");
        }
        if status(&harness, "attributes.badge") == IndexStatus::Ready {
            break;
        }
        harness.build_indexes(1).await;
    }
    harness.restore(users[2]).await.expect("deleted");
    badge(&harness, "new", json!("X")).await;
    assert_eq!(status(&harness, "attributes.badge"), IndexStatus::Ready);
    harness.build_indexes(usize::MAX).await;
    let mut expected: Vec<String> = badges.keys().map(|number| format!("u{number}")).collect();
    expected.push("new".to_owned());
    let mut having = found(&harness, "attributes.badge pr").await;
    having.sort();
    expected.sort();
    assert_eq!(having, expected);
    for number in 0..300 {
        let value = badges.get(&number);
        let kept = found(&harness, &format!("attributes.badge eq \"b{number}\"")).await;
        let is_kept = value.is_some_and(|value| *value == format!("B{number}"));
        assert_eq!(kept.len(), usize::from(is_kept), "B{number}");
        if let Some(value) = value {
            let user = found(&harness, &format!("attributes.badge eq \"{value}\"")).await;
            assert_eq!(user, [format!("u{number}")]);
        }
    }
}

pub async fn values_of_another_type_are_found_as_before(harness: Harness) {
    badge(&harness, "text", json!("7")).await;
    badge(&harness, "number", json!(7)).await;
    badge(&harness, "list", json!(["7", "8"])).await;
    let filters = ["attributes.badge eq \"7\"", "attributes.badge eq 7", "attributes.badge pr"];
    let mut before = Vec::new();
    for filter in filters {
        before.push(found(&harness, filter).await);
    }
    declare(&harness, json!([{"name": "badge", "type": "string", "indexed": true}]), json!([]))
        .await;
    harness.build_indexes(usize::MAX).await;
    for (filter, before) in filters.into_iter().zip(before) {
        assert_eq!(found(&harness, filter).await, before, "{filter}");
    }
}

pub async fn a_unique_value_belongs_to_one_user(harness: Harness) {
    with_unique_badges(&harness).await;
    let ada = badge(&harness, "ada", json!("B1")).await;
    let grace = badge(&harness, "grace", json!("B2")).await;
    let again = json!({"username": "x", "attributes": {"badge": "b1"}});
    assert_eq!(harness.create(again).await, Err(taken()));
    let patch = |value: &str| json!({"attributes": {"badge": value}});
    assert_eq!(harness.patch(grace.id, patch("b1")).await, Err(taken()));
    harness.patch(ada.id, patch("b1")).await.expect("its own value in another spelling");
    // A later write of a batch may take what an earlier one gave up, but not what it took.
    let acts = vec![
        patching(ada.id, &patch("B3")),
        patching(grace.id, &patch("B1")),
        patching(ada.id, &patch("b1")),
    ];
    let results = harness.apply(acts).await;
    assert!(results[0].is_ok() && results[1].is_ok(), "{results:?}");
    assert_eq!(results[2], Err(taken()));
    harness.delete(grace.id).await.expect("there");
    harness.patch(ada.id, patch("B1")).await.expect("free again");
    assert_eq!(harness.restore(grace.id).await, Err(taken()));
    // Any number of users may have no value.
    harness.user(json!({"username": "y"})).await;
    harness.user(json!({"username": "z"})).await;
}

pub async fn a_unique_value_selects_the_user_that_exists(harness: Harness) {
    with_unique_badges(&harness).await;
    let ada = badge(&harness, "ada", json!("B1")).await;
    let body = json!({"username": "ada2", "attributes": {"badge": "b1"}});
    let skipped = harness.act(harness.creating_or(&body, OnConflict::Skip)).await.expect("skipped");
    assert_eq!((skipped.effect, skipped.stored.id), (Effect::Skipped, ada.id));
    let replaced = harness.act(harness.creating_or(&body, OnConflict::Replace)).await;
    let replaced = replaced.expect("replaced");
    assert_eq!((replaced.stored.id, replaced.stored.version), (ada.id, 2));
    assert_eq!(view(&replaced.stored)["username"], "ada2");
    badge(&harness, "grace", json!("B2")).await;
    let both = json!({"username": "grace", "attributes": {"badge": "B1"}});
    let refused = harness.act(harness.creating_or(&both, OnConflict::Replace)).await;
    let username = Some(UsernameOrigin::Given);
    let all = Taken { username, indexed: vec!["attributes.badge".to_owned()], ..Taken::default() };
    assert_eq!(refused, Err(Refusal::Taken(all)));
}

pub async fn shared_values_fail_a_unique_index_until_they_differ(harness: Harness) {
    let one = badge(&harness, "one", json!("B1")).await;
    let other = badge(&harness, "other", json!("b1")).await;
    badge(&harness, "third", json!("B3")).await;
    with_unique_badges(&harness).await;
    let shared = vec![vec![one.id, other.id]];
    assert_eq!(status(&harness, "attributes.badge"), IndexStatus::Failed { shared });
    assert_eq!(found(&harness, "attributes.badge eq \"b1\"").await, ["one", "other"]);
    // Users that share a value can be changed otherwise, and nobody else can take it.
    harness.patch(one.id, json!({"title": "T"})).await.expect("another member");
    let third = json!({"username": "x", "attributes": {"badge": "B1"}});
    assert_eq!(harness.create(third).await, Err(taken()));
    harness.patch(other.id, json!({"attributes": {"badge": "B2"}})).await.expect("free");
    let kind = harness.store().schema().index_named("attributes.badge").expect("declared").kind;
    harness.directory().check_index(kind, usize::MAX).await.expect("keys");
    assert_eq!(status(&harness, "attributes.badge"), IndexStatus::Ready);
    harness.build_indexes(usize::MAX).await;
    assert_eq!(harness.store().indexes().tenants_with_index_work().await.expect("tenants"), []);
}

pub async fn a_comparison_of_values_reads_at_most_its_pages(harness: Harness) {
    for user in ["a", "b", "c"] {
        let values: Vec<String> = (0..700).map(|n| format!("{user}{n}")).collect();
        badge(&harness, user, json!(values)).await;
    }
    let declaration = |unique: bool| {
        json!([{"name": "badge", "type": "string", "multi_valued": true, "indexed": true,
            "unique": unique}])
    };
    declare(&harness, declaration(false), json!([])).await;
    harness.build_indexes(usize::MAX).await;
    declare(&harness, declaration(true), json!([])).await;
    let kind = harness.store().schema().index_named("attributes.badge").expect("declared").kind;
    for (pages, expected) in [(1, IndexStatus::Checking), (2, IndexStatus::Ready)] {
        let is_complete = harness.directory().check_index(kind, pages).await.expect("keys");
        assert_eq!(is_complete, pages == 2);
        assert_eq!(status(&harness, "attributes.badge"), expected);
    }
}

pub async fn a_dropped_index_leaves_nothing(harness: Harness) {
    badge(&harness, "ada", json!("B1")).await;
    with_unique_badges(&harness).await;
    declare(&harness, json!([]), json!([])).await;
    harness.build_indexes(usize::MAX).await;
    assert_eq!(harness.store().schema().indexes, []);
    badge(&harness, "grace", json!("B1")).await;
    badge(&harness, "number", json!(1)).await;
    assert_eq!(found(&harness, "attributes.badge eq \"B1\"").await, ["ada", "grace"]);
    // Another type is another index.
    declare(&harness, json!([{"name": "badge", "type": "integer", "indexed": true}]), json!([]))
        .await;
    harness.build_indexes(usize::MAX).await;
    assert_eq!(found(&harness, "attributes.badge eq 1").await, ["number"]);
    assert_eq!(found(&harness, "attributes.badge eq \"B1\"").await, ["ada", "grace"]);
}
