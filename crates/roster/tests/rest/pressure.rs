//! Rate limits and overload.

use std::{pin::pin, time::Duration};

use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use roster_http::AdmissionSettings;
use serde_json::json;

use crate::{
    guards::guarded,
    service::{Backend, Service, Setup, path},
    store::Fault,
};

/// Allows this many requests at once, and one more per second.
fn limited(burst: u32) -> Setup {
    let pressure = AdmissionSettings {
        rate_limit_per_s: 1,
        rate_limit_burst: burst,
        ..AdmissionSettings::default()
    };
    Setup { pressure, ..Setup::default() }
}

/// One place for each class.
fn narrow() -> Setup {
    let pressure = AdmissionSettings {
        reads_max: 1,
        lists_max: 1,
        long_lists_max: 1,
        writes_max: 1,
        ..AdmissionSettings::default()
    };
    Setup { pressure, ..Setup::default() }
}

pub(crate) async fn a_caller_beyond_its_limit_is_429_on_every_operation_but_health(
    backend: Backend,
) {
    let service = backend.open_with(limited(50)).await;
    for (method, target) in guarded(&service).await {
        let mut refused = None;
        // The allowance is used up first.
        for _ in 0..100 {
            let request = service.request(&method, &target);
            let writes = matches!(method.as_str(), "POST" | "PUT" | "PATCH");
            let request = if writes { request.json(&json!({"name": "A"})) } else { request };
            let reply = request.send().await;
            if reply.status() == 429 {
                refused = Some(reply);
                break;
            }
        }
        let refused = refused.expect("a limit").refused(429, "rate-limited");
        assert_ne!(refused.header("retry-after"), "0", "{method} {target}");
        assert!(refused.text().contains("\\\"default\\\""), "{}", refused.text());
    }
    for target in ["/livez", "/readyz"] {
        let reply = service.get(target).await.expect(200);
        assert_eq!(reply.find("ratelimit"), None);
    }
}

pub(crate) async fn every_response_to_a_limited_caller_has_rate_limit_headers(backend: Backend) {
    let service = backend.open_with(limited(20)).await;
    for (left, (target, status)) in
        [("/users", 200), ("/users/42", 404), ("/nowhere", 404), ("/users?x=1", 400)]
            .into_iter()
            .enumerate()
    {
        let reply = service.get(target).await.expect(status);
        assert_eq!(reply.header("ratelimit-policy"), "\"default\";q=20;w=20");
        let field = reply.header("ratelimit");
        // One comes back each second.
        let expected = [19 - left, 20 - left].map(|left| format!("\"default\";r={left};t=1"));
        assert!(expected.iter().any(|expected| expected == field), "{target}: {field}");
    }
}

pub(crate) async fn without_a_limit_there_are_no_rate_limit_headers(backend: Backend) {
    let service = backend.open().await;
    let reply = service.get("/users").await.expect(200);
    assert_eq!((reply.find("ratelimit"), reply.find("ratelimit-policy")), (None, None));
}

/// Takes the only place of each class with a request that waits for the store.
async fn standing_still(service: &Service) -> String {
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.store.fail(Fault::Hang);
    user
}

pub(crate) async fn a_write_that_would_wait_too_long_is_503_and_not_executed(backend: Backend) {
    let service = backend.open_with(narrow()).await;
    let user = standing_still(&service).await;
    let gone = "/deleted-users/019a9f2e-0000-7000-8000-000000000000";
    for (method, target) in [
        ("GET", user.as_str()),
        ("HEAD", user.as_str()),
        ("GET", gone),
        ("GET", "/users"),
        ("GET", "/users?limit=1000"),
        ("GET", "/users?filter=title%20co%20%22x%22"),
        ("GET", "/deleted-users"),
        ("GET", "/events"),
        ("GET", "/groups"),
        ("GET", "/groups/019a9f2e-0000-7000-8000-000000000000"),
        ("DELETE", "/groups/019a9f2e-0000-7000-8000-000000000000"),
        ("POST", "/users"),
        ("PUT", user.as_str()),
        ("PATCH", user.as_str()),
        ("DELETE", user.as_str()),
        ("DELETE", gone),
    ] {
        let ask = || {
            let request = service.request(method, target);
            let writes = matches!(method, "POST" | "PUT" | "PATCH");
            if writes { request.json(&json!({"username": "grace"})) } else { request }
        };
        let (mut one, mut other) = (pin!(ask().send()), pin!(ask().send()));
        // One has the place and waits for the store; the other is refused.
        let refused = tokio::select! {
            reply = &mut one => {
                service.store.fail(None);
                other.await;
                reply
            }
            reply = &mut other => {
                service.store.fail(None);
                one.await;
                reply
            }
        };
        assert_eq!(refused.status(), 503, "{method} {target}");
        assert!(["1", "2", "3", "4"].contains(&refused.header("retry-after")));
        if method != "HEAD" {
            assert_eq!(refused.json()["code"], "overloaded", "{method} {target}");
        }
        service.store.fail(Fault::Hang);
    }
}

pub(crate) async fn a_blocked_class_does_not_affect_the_others(backend: Backend) {
    let service = backend.open_with(narrow()).await;
    let user = service.user(json!({"username": "ada"})).await;
    let body = json!({"username": "grace"});
    for target in ["/users", "/users?limit=1000"] {
        service.store.hang_pages(true);
        let held = service.get(target);
        let others = async {
            service.get(&path(&user)).await.expect(200);
            service.patch(&user, json!({"name": target})).await.expect(200);
            service.get("/livez").await.expect(200);
            service.get("/readyz").await.expect(200);
            service.store.hang_pages(false);
        };
        let (held, ()) = tokio::join!(held, others);
        held.expect(200);
    }
    service.post(body).await.expect(201);
}

pub(crate) async fn one_caller_does_not_take_the_places_of_another(backend: Backend) {
    let service = backend.open_with(narrow()).await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.close().await;
    let mut keys = Vec::new();
    for _ in 0..2 {
        let key = service.new_key(&["users:read", "users:write", "events:read"]).await;
        keys.push(key["key"].as_str().expect("a key").to_owned());
    }
    for target in [
        user.as_str(),
        "/users",
        "/users?limit=1000",
        "/users?filter=title%20co%20%22x%22",
        "/deleted-users",
        "/groups",
        "/events",
    ] {
        service.store.fail(Fault::Hang);
        let ask = |key: usize| service.request("GET", target).bearer(&keys[key]).send();
        // One is with the store. The others wait, and are refused.
        let mut greedy: FuturesUnordered<_> = (0..8).map(|_| ask(0)).collect();
        let mut refused = 0;
        while refused < 7 {
            let reply = greedy.next().await.expect("a response");
            assert_eq!(reply.status(), 503, "{target}");
            refused += 1;
        }
        let other = async {
            let other = ask(1);
            let free = async {
                // The other caller has a place at once, and waits for the store alone.
                tokio::time::sleep(Duration::from_millis(300)).await;
                service.store.fail(None);
            };
            tokio::join!(other, free).0
        };
        assert_eq!(other.await.status(), 200, "{target}");
        assert_eq!(greedy.next().await.expect("a response").status(), 200, "{target}");
    }
}

pub(crate) async fn rejections_are_counted_by_reason(backend: Backend) {
    let service = backend.open_with(limited(1)).await;
    while service.get("/users").await.status() != 429 {}
    // One comes back each second.
    let page = loop {
        let reply = service.get("/metrics").await;
        if reply.status() == 200 {
            break reply;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let count = |reason: &str| {
        let name = format!("roster_requests_refused_total{{reason=\"{reason}\"}} ");
        let line = page.text().lines().find_map(|line| line.strip_prefix(&name).map(str::to_owned));
        line.expect("a line").parse::<u64>().expect("a number")
    };
    assert!(count("rate-limited") >= 1);
    assert_eq!((count("overloaded"), count("failed-authentication")), (0, 0));
}

pub(crate) async fn a_page_of_a_thousand_users_is_complete(backend: Backend) {
    let service = backend.open().await;
    for n in 0..30 {
        let filler = "x".repeat(3_000);
        let body = json!({"username": format!("u{n}"), "attributes": {"filler": filler}});
        service.user(body).await;
    }
    // Large enough to be counted until the client has read it.
    let page = service.get("/users?limit=1000").await.expect(200);
    assert_eq!(page.json()["items"].as_array().map(Vec::len), Some(30));
    assert!(page.text().len() > 64 * 1024);
    assert_eq!(
        service.get("/events?limit=1000").await.expect(200).json()["items"][0]["type"],
        "user.created"
    );
    service.get("/deleted-users?limit=1000").await.expect(200);
}

pub(crate) async fn a_rejected_list_is_counted_and_does_not_reach_the_store(backend: Backend) {
    const REQUESTS: usize = 20;
    let service = backend.open_with(narrow()).await;
    service.user(json!({"username": "ada"})).await;
    service.store.hang_pages(true);
    let requests = async {
        while service.store.pages() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let requests = (0..REQUESTS).map(|_| service.get("/users?limit=1000"));
        let mut requests: FuturesUnordered<_> = requests.collect();
        // No place is free, so the first reply is a refusal.
        let first = requests.next().await.expect("a reply").refused(503, "overloaded");
        let mut replies = vec![first];
        service.get("/livez").await.expect(200);
        service.get("/readyz").await.expect(200);
        service.store.hang_pages(false);
        replies.extend(requests.collect::<Vec<_>>().await);
        replies
    };
    let (held, replies) = tokio::join!(service.get("/users?limit=1000"), requests);
    held.expect(200);
    let (served, refused): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|reply| reply.status() == 200);
    for reply in &refused {
        assert_eq!((reply.status(), &reply.json()["code"]), (503, &json!("overloaded")));
        assert!(["1", "2", "3", "4"].contains(&reply.header("retry-after")));
    }
    assert_eq!(service.store.pages(), 1 + served.len());
    let metrics = service.get("/metrics").await.expect(200);
    let expected = format!("reason=\"overloaded\"}} {}", refused.len());
    assert!(metrics.text().contains(&expected), "{expected}: {}", metrics.text());
    service.get("/users?limit=1000").await.expect(200);
}

pub(crate) async fn a_list_whose_rows_are_tested_is_a_long_one_whatever_else_it_names(
    backend: Backend,
) {
    let mut setup = narrow();
    setup.pressure.lists_max = 8;
    let service = backend.open_with(setup).await;
    let user = service.user(json!({"username": "ada", "email": "ada@x.org"})).await;
    let id = user["id"].as_str().expect("an id");
    let tests = ["roles.value%20co%20%22x%22"; 60].join("%20or%20");
    let others = vec![format!("id={id}"); 80].join("&");
    for target in [
        format!("/users?{others}&filter={tests}"),
        format!("/users?username=ada&filter={tests}"),
        format!("/users?email=ada@x.org&filter={tests}"),
        format!("/users?id={id}&q=ada"),
    ] {
        service.store.hang_pages(true);
        let pages = service.store.pages();
        let held = service.get(&target);
        let others = async {
            while service.store.pages() == pages {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // The class of long lists has no other place; that of short lists has.
            service.get(&target).await.refused(503, "overloaded");
            let short = format!("/users?id={id}");
            let short = service.get(&short);
            let freed = async {
                while service.store.pages() < pages + 2 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                service.store.hang_pages(false);
            };
            let (short, ()) = tokio::join!(short, freed);
            short.expect(200);
        };
        let (held, ()) = tokio::join!(held, others);
        held.expect(200);
    }
}

pub(crate) async fn only_so_many_short_lists_are_read_at_the_same_time(backend: Backend) {
    const REQUESTS: usize = 20;
    let pressure = AdmissionSettings { pages_max: 2, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.store.hang_pages(true);
    let lists = (0..REQUESTS).map(|_| service.get("/users?limit=500"));
    let meanwhile = async {
        while service.store.pages() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The others have a place among the lists, so they wait for longer than for that.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(service.store.pages(), 2);
        service.get(&user).await.expect(200);
        service.store.hang_pages(false);
    };
    let (lists, ()) = tokio::join!(join_all(lists), meanwhile);
    for list in lists {
        list.expect(200);
    }
    assert_eq!(service.store.pages(), REQUESTS);
}
