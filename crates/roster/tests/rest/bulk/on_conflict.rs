//! Imports of users whose username or address is taken: rejected, skipped, or replaced.

use roster_core::{Rules, Sharing};
use serde_json::{Value, json};

use super::{import, import::every_kind, lines, results_of};
use crate::service::{Backend, Service, Setup};

/// The results of lines: the status, `skip`, or the code of the problem.
pub(super) fn outcomes(results: &[Value]) -> Vec<String> {
    let outcome = |result: &Value| {
        if result.get("skipped").is_some() {
            let user = ["id", "version"].map(|name| result[name].clone());
            let [id, version] = &user;
            assert!(id.is_string() == version.is_i64() && result["status"] == 200, "{result}");
            return "skip".to_owned();
        }
        let code = result["problem"]["code"].as_str().map(str::to_owned);
        code.unwrap_or_else(|| result["status"].to_string())
    };
    results.iter().map(outcome).collect()
}

/// Lines of which most clash with ada, with grace, or with each other.
fn clashing() -> String {
    lines(&[
        json!({"username": "ADA", "name": "Ada King"}),
        json!({"username": "new", "email": "grace@x.org"}),
        json!({"username": "ada", "email": "Grace@X.org"}),
        json!({"username": "first", "email": "first@x.org"}),
        json!({"username": "First", "title": "Second"}),
        json!({"email": "FIRST@x.org"}),
        json!({"username": " ", "email": "first@x.org"}),
        json!({"username": "free"}),
    ])
}

async fn with_two(backend: &Backend, rules: Rules) -> (Service, [Value; 2]) {
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    let ada = json!({"username": "ada", "title": "Countess", "status": "suspended",
        "external_id": "e1"});
    let grace = json!({"username": "grace", "email": "grace@x.org", "external_id": "e2"});
    let users = [service.user(ada).await, service.user(grace).await];
    service.clock.step(1000);
    (service, users)
}

pub(crate) async fn existing_users_are_kept_skipped_or_replaced(backend: Backend) {
    let (name, address, invalid) = ("username-taken", "email-taken", "invalid-user");
    for (query, expected) in [
        ("", [name, address, name, "201", name, address, invalid, "201"]),
        ("?on_conflict=fail", [name, address, name, "201", name, address, invalid, "201"]),
        ("?on_conflict=skip", ["skip", "skip", "skip", "201", "skip", "skip", invalid, "201"]),
        ("?on_conflict=replace", ["200", "200", name, "201", "200", "201", invalid, "201"]),
    ] {
        let (service, before) = with_two(&backend, Rules::default()).await;
        let results = results_of(import(&service, query, clashing()).await);
        assert_eq!(outcomes(&results), expected, "{query}");
        if !query.ends_with("replace") {
            assert_eq!(service.head().await.position, 4);
            for user in &before {
                assert_eq!(service.now(user).await, *user);
            }
            continue;
        }
        // Like PUT: omitted members are cleared, except status and username.
        assert_eq!((&results[0]["id"], &results[1]["id"]), (&before[0]["id"], &before[1]["id"]));
        let ada = service.now(&before[0]).await;
        let expected = json!({"id": before[0]["id"], "version": 2, "status": "suspended",
            "username": "ADA", "name": "Ada King", "created_at": before[0]["created_at"],
            "updated_at": "2026-01-01T00:00:01.000Z"});
        assert_eq!(ada, expected);
        let grace = service.now(&before[1]).await;
        assert_eq!((&grace["username"], &grace["version"]), (&json!("new"), &json!(2)));
        assert_eq!(grace.get("external_id"), None);
        // The user of the fourth line lost its address by the fifth.
        assert_eq!(results[3]["id"], results[4]["id"]);
        let first = service.now(&results[3]).await;
        assert_eq!((&first["title"], first.get("email")), (&json!("Second"), None));
        let heir = service.now(&results[5]).await;
        assert_eq!(heir["username"], "FIRST@x.org");
    }
}

pub(crate) async fn a_replacement_that_changes_nothing_leaves_no_trace(backend: Backend) {
    let service = backend.open().await;
    let body = lines(&[json!({"username": "ada", "name": "Ada"}), json!({"email": "g@x.org"})]);
    let first = results_of(import(&service, "?on_conflict=replace", body.clone()).await);
    assert_eq!(outcomes(&first), ["201", "201"]);
    let head = service.head().await;
    service.clock.step(1000);
    let again = results_of(import(&service, "?on_conflict=replace", body).await);
    assert_eq!(outcomes(&again), ["200", "200"]);
    assert_eq!((&again[0]["id"], &again[1]["id"]), (&first[0]["id"], &first[1]["id"]));
    assert_eq!(service.head().await, head);
}

pub(crate) async fn a_replacement_ignores_what_a_create_ignores(backend: Backend) {
    let (service, [ada, _]) = with_two(&backend, Rules::default()).await;
    let body = json!({"id": "another", "version": 17, "created_at": 1, "updated_at": [],
        "username": "ada", "title": "Lady"});
    let results = results_of(import(&service, "?on_conflict=replace", lines(&[body])).await);
    let expected = json!({"line": 1, "processed": 1, "status": 200, "id": ada["id"], "version": 2,
        "ignored": ["id"]});
    assert_eq!(results, [expected]);
    let after = service.now(&ada).await;
    assert_eq!((&after["version"], &after["title"]), (&json!(2), &json!("Lady")));
    assert_eq!(after["created_at"], ada["created_at"]);
}

pub(crate) async fn a_unique_external_id_names_a_holder_too(backend: Backend) {
    let rules = Rules { external_id: Sharing::Unique, ..Rules::default() };
    for on_conflict in ["fail", "skip", "replace"] {
        let (service, before) = with_two(&backend, rules).await;
        let body = lines(&[
            json!({"username": "other", "external_id": "e1"}),
            json!({"username": "grace", "external_id": "e1"}),
        ]);
        let query = format!("?on_conflict={on_conflict}");
        let results = outcomes(&results_of(import(&service, &query, body).await));
        let expected = match on_conflict {
            "skip" => ["skip", "skip"],
            "replace" => ["200", "username-taken"],
            _ => ["external-id-taken", "username-taken"],
        };
        assert_eq!(results, expected, "{on_conflict}");
        let replaced = on_conflict == "replace";
        let ada = service.now(&before[0]).await;
        assert_eq!(ada["username"], if replaced { "other" } else { "ada" });
        assert_eq!(service.now(&before[1]).await, before[1]);
        assert_eq!(service.head().await.position, if replaced { 3 } else { 2 });
    }
}

pub(crate) async fn a_dry_import_tells_what_the_import_then_does(backend: Backend) {
    let everything = every_kind().join(&b'\n');
    let replaced = lines(&[
        json!({"username": "ADA", "name": "Ada King", "email": "ada@x.org"}),
        json!({"username": "new", "email": "grace@x.org"}),
        json!({"username": "ada", "email": "Grace@X.org"}),
        json!({"username": "first", "email": "first@x.org"}),
        json!({"username": "First", "email": "FIRST@x.org", "title": "Second"}),
        json!({"username": "second", "email": "second@x.org", "external_id": "e3"}),
        // Taken by two users that this stream creates, or by one of them and an existing one.
        json!({"username": "first", "email": "second@x.org"}),
        json!({"username": "new", "email": "second@x.org"}),
        json!({"username": "ada", "email": "first@x.org"}),
        json!({"email": "ada@x.org", "title": "Lady"}),
        json!({"username": "ada", "email": "ada@x.org", "external_id": "e3"}),
        json!({"username": "second", "external_id": "e3"}),
    ]);
    let all = [
        (everything.clone(), "on_conflict=fail"),
        (everything.clone(), "on_conflict=skip"),
        (everything, "on_conflict=replace"),
        (clashing().into_bytes(), "on_conflict=fail"),
        (clashing().into_bytes(), "on_conflict=skip"),
        (replaced.clone().into_bytes(), "on_conflict=fail"),
        (replaced.clone().into_bytes(), "on_conflict=skip"),
        (replaced.into_bytes(), "on_conflict=replace"),
    ];
    let unique = Rules { external_id: Sharing::Unique, ..Rules::default() };
    for (number, (lines, query)) in all.iter().chain(&all).enumerate() {
        let rules = if number < all.len() { Rules::default() } else { unique };
        let (service, before) = with_two(&backend, rules).await;
        let head = service.head().await;
        let reply = import(&service, &format!("?{query}&dry_run=true"), lines.clone()).await;
        assert_eq!(reply.header("dry-run"), "true");
        let dry = results_of(reply);
        assert!(dry.iter().all(|result| result.get("id").is_none()));
        assert_eq!(service.head().await, head);
        for user in &before {
            assert_eq!(service.now(user).await, *user);
        }
        let reply = import(&service, &format!("?{query}&dry_run=false"), lines.clone()).await;
        assert_eq!(reply.find("dry-run"), None);
        assert_eq!(statuses(&dry), statuses(&results_of(reply)), "{query}, {number}");
    }
}

/// The numbers of lines and their results. Of several conflicts a dry run may not know all.
fn statuses(results: &[Value]) -> Vec<(&Value, &Value, bool)> {
    let status = |result: &'_ Value| result.get("skipped").is_some();
    results.iter().map(|one| (&one["line"], &one["status"], status(one))).collect()
}
