//! `q`: finding users by prefixes of words.

use serde_json::{Value, json};

use crate::{
    filter::{escaped, names, walk},
    service::{Backend, Service, path},
};

async fn fill(service: &Service) -> Vec<Value> {
    let mut users = Vec::new();
    for body in [
        json!({"username": "ada", "name": "Ada Lovelace", "email": "countess@work.example"}),
        json!({"username": "grace.h", "given_name": "Grace", "middle_name": "Brewster",
            "family_name": "O'Hopper-Murray", "nickname": "Amazing", "display_name": "Rear Adm."}),
        json!({"username": "zola", "name": "\u{c9}mile STRA\u{df}E"}),
        json!({"username": "zola2", "name": "E\u{301}milie Strasse"}),
        json!({"username": "yamada", "name": "\u{5c71}\u{7530}\u{592a}\u{90ce}"}),
        json!({"username": "wide", "name": "\u{ff26}\u{ff55}\u{ff4c}\u{ff4c} \u{fb01}ne \u{2163}"}),
        json!({"username": "emails", "emails": [{"value": "first@x.example"},
            {"value": "second+tag@y.example", "primary": true}]}),
        json!({"username": "hidden", "title": "Secretword", "organization": "Secretword",
            "external_id": "secretword", "attributes": {"note": "secretword"}}),
    ] {
        users.push(service.user(body).await);
        service.clock.step(1000);
    }
    users
}

async fn found(service: &Service, q: &str) -> Vec<String> {
    walk(service, &format!("q={}", escaped(q))).await
}

pub(crate) async fn users_are_found_by_the_beginnings_of_words(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let rows: &[(&str, &[&str])] = &[
        ("ada", &["ada"]),
        ("a", &["ada", "grace.h"]),
        ("LOVE", &["ada"]),
        ("lovelace", &["ada"]),
        ("lace", &[]),
        ("lovelaces", &[]),
        ("countess", &["ada"]),
        ("work", &["ada"]),
        ("grace", &["grace.h"]),
        ("brew", &["grace.h"]),
        ("o", &["grace.h"]),
        ("hopper", &["grace.h"]),
        ("murray", &["grace.h"]),
        ("amaz", &["grace.h"]),
        ("rear adm", &["grace.h"]),
        ("h", &["grace.h", "hidden"]),
        // All addresses, not only the primary one.
        ("first", &["emails"]),
        ("tag", &["emails"]),
        ("example", &["ada", "emails"]),
        // Other members are not searched.
        ("secretword", &[]),
        ("zola", &["zola", "zola2"]),
        ("zola2", &["zola2"]),
    ];
    for (q, expected) in rows {
        assert_eq!(found(&service, q).await, *expected, "{q}");
        let paged = walk(&service, &format!("limit=1&q={}", escaped(q))).await;
        assert_eq!(paged, *expected, "{q} by one");
        let counted = service.get(&format!("/users?count=true&q={}", escaped(q))).await;
        assert_eq!(counted.expect(200).json()["total"], expected.len(), "{q}");
    }
}

pub(crate) async fn a_search_has_every_order_of_lists(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let rows: &[(&str, &[&str])] = &[
        ("q=a", &["ada", "grace.h"]),
        ("q=a&sort=-id", &["grace.h", "ada"]),
        ("q=h&sort=username", &["grace.h", "hidden"]),
        ("q=h&sort=-username", &["hidden", "grace.h"]),
        // Without an address: last, or first in descending order.
        ("q=a&sort=email", &["ada", "grace.h"]),
        ("q=a&sort=-email", &["grace.h", "ada"]),
        ("q=zol&sort=-updated_at&status=active", &["zola2", "zola"]),
        ("q=zol&sort=name&filter=username+ew+%222%22", &["zola2"]),
    ];
    for (query, expected) in rows {
        assert_eq!(walk(&service, query).await, *expected, "{query}");
        assert_eq!(walk(&service, &format!("limit=1&{query}")).await, *expected, "{query} by one");
    }
    let first = service.get("/users?q=a&sort=-id&limit=1").await.expect(200);
    let cursor = first.json()["next_cursor"].as_str().expect("more").to_owned();
    let other = service.get(&format!("/users?q=a&sort=id&limit=1&cursor={cursor}")).await;
    other.refused(400, "invalid-cursor");
}

pub(crate) async fn all_words_must_match_in_any_order(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let rows: &[(&str, &[&str])] = &[
        ("ada love", &["ada"]),
        ("love ada", &["ada"]),
        ("  Love,ADA!  ", &["ada"]),
        ("ada hopper", &[]),
        ("ada ada", &["ada"]),
        ("ada love count work", &["ada"]),
        ("ada love count nowhere", &[]),
        ("ada love count work ADA", &["ada"]),
        ("ada lovelace countess work example", &["ada"]),
        ("ada lovelace countess work nowhere", &[]),
        ("countess@work.example", &["ada"]),
        ("o'hopper", &["grace.h"]),
        ("second+tag@y", &["emails"]),
    ];
    for (q, expected) in rows {
        assert_eq!(found(&service, q).await, *expected, "{q}");
    }
}

pub(crate) async fn a_search_ignores_case_width_and_composition_but_not_accents(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let rows: &[(&str, &[&str])] = &[
        ("\u{e9}mil", &["zola", "zola2"]),
        ("\u{c9}MIL", &["zola", "zola2"]),
        ("e\u{301}mili", &["zola2"]),
        ("emil", &[]),
        ("strasse", &["zola", "zola2"]),
        ("STRA\u{df}E", &["zola", "zola2"]),
        ("stra\u{df}", &["zola", "zola2"]),
        ("full", &["wide"]),
        ("\u{ff26}ull FINE", &["wide"]),
        ("iv", &["wide"]),
        ("\u{5c71}\u{7530}", &["yamada"]),
        ("\u{592a}\u{90ce}", &[]),
    ];
    for (q, expected) in rows {
        assert_eq!(found(&service, q).await, *expected, "{q}");
    }
    // A plus sign means a space, as in every query except in addresses and numbers.
    assert_eq!(walk(&service, "q=love+ada").await, ["ada"]);
    assert_eq!(walk(&service, "q=love%2Bada").await, ["ada"]);
}

pub(crate) async fn any_text_is_a_search(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let all = walk(&service, "limit=1000").await;
    for blank in ["q=", "q", "q=+", "q=%09"] {
        assert_eq!(walk(&service, blank).await, all, "{blank}");
    }
    for nothing in ["@", "...", "- -", "\u{20ac}", "\u{1f600}", "\u{301}", "_", "\u{0}"] {
        assert_eq!(found(&service, nothing).await, NOBODY, "{nothing}");
        let counted = service.get(&format!("/users?count=true&q={}", escaped(nothing))).await;
        assert_eq!(counted.expect(200).json()["total"], 0, "{nothing}");
    }
    let words = |count: usize| (0..count).map(|_| "ada").collect::<Vec<_>>().join(" ");
    for (text, expected, is_cut) in [
        (words(16), &["ada"][..], false),
        (words(17), &["ada"], true),
        (format!("{} nowhere", words(15)), &[], false),
        (format!("{} nowhere", words(16)), &["ada"], true),
        (format!("ada{}", "-".repeat(1021)), &["ada"], false),
        (format!("ada{}", "-".repeat(1022)), &["ada"], true),
        // The word at the end of the used bytes may have been cut, so it is ignored too.
        (format!("ada{}lovelacex", "-".repeat(1013)), &["ada"], true),
        (format!("ada {}", "x".repeat(1021)), &["ada"], true),
        ("\u{e9}".repeat(513), &[], true),
    ] {
        let page = service.get(&format!("/users?q={}", escaped(&text))).await.expect(200);
        assert_eq!(names(&page), expected, "{text}");
        assert_eq!(page.json().get("q_truncated"), is_cut.then_some(&json!(true)), "{text}");
    }
    for (query, code) in [("q=ada&q=ada", "duplicate-parameter"), ("Q=ada", "unknown-parameter")] {
        let reply = service.get(&format!("/users?{query}")).await.refused(400, "invalid-query");
        let name = query.split('=').next().unwrap_or_default().to_owned();
        assert_eq!(reply.faults(), [(name, code.to_owned())], "{query}");
    }
}

pub(crate) async fn a_search_finds_a_write_as_soon_as_it_returns(backend: Backend) {
    let service = backend.open().await;
    let users = fill(&service).await;
    service.patch(&users[0], json!({"name": "Ada King"})).await.expect(200);
    assert_eq!(found(&service, "love").await, NOBODY);
    assert_eq!(found(&service, "king").await, ["ada"]);
    service.put(&users[1], json!({"nickname": "King"})).await.expect(200);
    assert_eq!(found(&service, "king").await, ["ada", "grace.h"]);
    assert_eq!(found(&service, "brewster").await, NOBODY);
    service.delete(&path(&users[0])).await.expect(204);
    assert_eq!(found(&service, "king").await, ["grace.h"]);
    let restore = format!("/deleted-users/{}/restore", users[0]["id"].as_str().expect("an id"));
    service.request("POST", &restore).send().await.expect(200);
    assert_eq!(found(&service, "king").await, ["ada", "grace.h"]);
}

const NOBODY: [&str; 0] = [];

pub(crate) async fn a_cursor_is_valid_for_its_words_only(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let first = service.get("/users?q=zola&limit=1").await.expect(200);
    let cursor = first.json()["next_cursor"].as_str().expect("more").to_owned();
    for other in ["q=zol", "q=zola+zola2", "q=ada", "", "q=zola&status=active"] {
        let reply = service.get(&format!("/users?{other}&cursor={cursor}")).await;
        reply.refused(400, "invalid-cursor");
    }
    let second = service.get(&format!("/users?q=-ZOLA-&cursor={cursor}")).await.expect(200);
    assert_eq!(names(&second), ["zola2"]);
}
