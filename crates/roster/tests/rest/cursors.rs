//! Cursors and pages: continuing a list, and invalid cursors.

use roster_core::{
    Rules, Sharing, Stored, UserId,
    list::{Page, PageKey, SortKey, Total},
    store::Secret,
};
use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, Setup, path},
};

async fn fill(service: &Service, count: usize) -> Vec<Value> {
    let mut users = Vec::new();
    for number in 0..count {
        let email = format!("user{number}+a@x.org");
        users
            .push(service.user(json!({"username": format!("user{number}"), "email": email})).await);
        service.clock.step(1);
    }
    users
}

fn cursor(reply: &Reply) -> String {
    reply.json()["next_cursor"].as_str().expect("there is more").to_owned()
}

/// The target of the next page, out of the header.
fn next(reply: &Reply) -> String {
    let link = reply.header("link");
    let target = link.strip_prefix('<').and_then(|link| link.strip_suffix(">; rel=\"next\""));
    target.unwrap_or_else(|| panic!("{link} names the next page")).to_owned()
}

pub(crate) async fn the_link_and_the_cursor_lead_to_the_same_page(backend: Backend) {
    let service = backend.open().await;
    fill(&service, 5).await;
    let query = "/users?limit=2&sort=-email&status=active&fields=id,email&count=true";
    let first = service.get(query).await.expect(200);
    assert!(next(&first).contains(&format!("cursor={}", cursor(&first))));
    let by_link = service.get(&next(&first)).await.expect(200);
    let by_cursor = service.get(&format!("{query}&cursor={}", cursor(&first))).await.expect(200);
    assert_eq!(by_link.json()["items"], by_cursor.json()["items"]);
    assert_eq!(by_link.json()["total"], 5);
    assert_eq!(by_link.json()["items"][0]["email"], "user2+a@x.org");
    let last = service.get(&next(&by_link)).await.expect(200);
    assert_eq!(last.json()["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(last.json()["next_cursor"], Value::Null);
    assert_eq!(last.find("link"), None);
}

pub(crate) async fn the_link_keeps_every_condition(backend: Backend) {
    let rules = Rules { email: Sharing::Shared, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    for name in ["a", "b", "c"] {
        let body = json!({"username": name, "email": "desk+1@x.org", "phone_number": "+1 22",
            "external_id": "a&b=c d+e"});
        service.user(body).await;
    }
    let conditions = "email=desk+1@x.org&phone_number=+122&external_id=a%26b%3Dc+d%2Be";
    let mut reply = service.get(&format!("/users?limit=1&{conditions}")).await.expect(200);
    for _ in 0..2 {
        assert_eq!(reply.json()["items"].as_array().map(Vec::len), Some(1));
        reply = service.get(&next(&reply)).await.expect(200);
    }
    assert_eq!(reply.json()["items"][0]["username"], "c");
    assert_eq!(reply.json()["next_cursor"], Value::Null);
}

pub(crate) async fn a_cursor_reveals_nothing_about_users(backend: Backend) {
    let service = backend.open().await;
    fill(&service, 2).await;
    let one = cursor(&service.get("/users?limit=1&sort=email").await.expect(200));
    let two = cursor(&service.get("/users?limit=1&sort=email").await.expect(200));
    assert_ne!(one, two, "a nonce makes each of them new");
    assert!(one.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')), "{one}");
}

pub(crate) async fn an_altered_cursor_is_refused(backend: Backend) {
    let service = backend.open().await;
    fill(&service, 3).await;
    let good = cursor(&service.get("/users?limit=1").await.expect(200));
    let mut altered: Vec<String> = [0, 20, 40, good.len() - 1]
        .into_iter()
        .map(|at| {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            String::from_utf8(bytes).expect("ASCII")
        })
        .collect();
    altered.extend([String::new(), "x".to_owned(), format!("{good}A"), good[4..].to_owned()]);
    for cursor in altered {
        let reply = service.get(&format!("/users?limit=1&cursor={cursor}")).await;
        reply.refused(400, "invalid-cursor");
    }
    service.get(&format!("/users?limit=1&cursor={good}")).await.expect(200);
}

pub(crate) async fn a_cursor_is_valid_for_its_order_and_conditions_only(backend: Backend) {
    let service = backend.open().await;
    fill(&service, 3).await;
    let good = cursor(&service.get("/users?limit=1&sort=name&status=active").await.expect(200));
    for query in [
        "sort=-name&status=active",
        "sort=username&status=active",
        "status=active",
        "sort=name",
        "sort=name&status=suspended",
        "sort=name&status=active&username=user1",
    ] {
        let reply = service.get(&format!("/users?{query}&cursor={good}")).await;
        reply.refused(400, "invalid-cursor");
    }
    // The page size, `fields` and `count` may change between pages.
    let target = format!("/users?status=active&sort=name&limit=7&fields=id&cursor={good}");
    assert_eq!(
        service.get(&target).await.expect(200).json()["items"].as_array().map(Vec::len),
        Some(2)
    );
}

pub(crate) async fn a_cursor_of_another_store_is_refused(backend: Backend) {
    let secret = Some(Secret([9; 32]));
    let other = backend.open_with(Setup { secret, ..Setup::default() }).await;
    fill(&other, 2).await;
    let foreign = cursor(&other.get("/users?limit=1").await.expect(200));
    let service = backend.open().await;
    fill(&service, 2).await;
    let reply = service.get(&format!("/users?cursor={foreign}")).await;
    let reply = reply.refused(400, "invalid-cursor");
    assert!(!reply.text().contains(&foreign));
}

pub(crate) async fn paging_returns_every_user_that_exists_throughout_once(backend: Backend) {
    let service = backend.open().await;
    let users = fill(&service, 6).await;
    let first = service.get("/users?limit=2").await.expect(200);
    // The row of the cursor is deleted, a later one too, and one is created.
    service.delete(&path(&users[1])).await.expect(204);
    service.delete(&path(&users[3])).await.expect(204);
    service.patch(&users[2], json!({"name": "Moved"})).await.expect(200);
    service.user(json!({"username": "late"})).await;
    let second = service.get(&next(&first)).await.expect(200);
    let third = service.get(&next(&second)).await.expect(200);
    let names = |reply: &Reply| {
        let items = reply.json()["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|user| user["username"].as_str().unwrap_or("").to_owned()).collect()
    };
    let (one, two): (Vec<String>, Vec<String>) = (names(&second), names(&third));
    assert_eq!(one, ["user2", "user4"]);
    assert_eq!(two, ["user5", "late"]);
}

pub(crate) async fn a_page_ends_early_at_four_mebibytes(backend: Backend) {
    let service = backend.open().await;
    let certificate = json!({"value": "A".repeat(8192)});
    for number in 0..80 {
        let body = json!({"username": format!("user{number}"),
            "x509_certificates": vec![certificate.clone(); 7]});
        let request = service.request("POST", "/users").header("prefer", "return=minimal");
        request.json(&body).send().await.expect(201);
    }
    let first = service.get("/users?limit=1000&fields=id").await.expect(200);
    let shown = first.json()["items"].as_array().map_or(0, Vec::len);
    assert!((72..=74).contains(&shown), "{shown} records of 57 KiB");
    let second = service.get(&next(&first)).await.expect(200);
    assert_eq!(second.json()["items"].as_array().map(Vec::len), Some(80 - shown));
    assert_eq!(second.json()["next_cursor"], Value::Null);
    let whole = service.get("/users?limit=1000").await.expect(200);
    assert!(whole.text().len() < 4 * 1024 * 1024 + 64 * 1024);
}

fn made(items: Vec<Stored>) -> Page {
    let place = PageKey { key: SortKey::Id, id: UserId::from_bytes([7; 16]) };
    let (total, examined) = (Some(Total::AtLeast(10_000)), Some(20_000));
    Page { items, next: Some(place), position: 3, total, examined }
}

pub(crate) async fn a_page_that_ends_early_has_the_number_of_examined_users(backend: Backend) {
    let service = backend.open().await;
    service.store.make_page(made(Vec::new()));
    let reply = service.get("/users?status=active&count=true").await.expect(200);
    let body = reply.json();
    assert_eq!(body["items"], json!([]));
    assert_eq!((&body["examined"], &body["complete"]), (&json!(20_000), &json!(false)));
    assert_eq!((&body["total"], &body["total_relation"]), (&json!(10_000), &json!("at_least")));
    assert!(next(&reply).contains(&cursor(&reply)));
}

pub(crate) async fn a_damaged_record_on_a_page_is_500(backend: Backend) {
    let service = backend.open().await;
    let record = bytes::Bytes::from_static(b"{\"id\":");
    let id = UserId::from_bytes([7; 16]);
    service.store.make_page(made(vec![Stored { id, version: 1, record }]));
    service.get("/users?fields=id").await.refused(500, "internal");
}
