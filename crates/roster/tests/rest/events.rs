//! The change log over HTTP: the members of an event, how readers follow the log, and the errors.

use roster_core::{EventsPage, Outlived, Store as _, Timestamp};
use serde_json::{Value, json};

use crate::{
    client::{REQUEST_ID, Reply},
    service::{Backend, Service, kept, path},
    transcript::Transcript,
};

const NOBODY: &str = "/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17/events";
const START: i64 = 1_767_225_600_000;

/// Creates two users with a history of 8 events.
async fn make_history(service: &Service) -> (Value, Value) {
    let ada = service.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    service.clock.step(1000);
    let grace = service.user(json!({"username": "grace"})).await;
    service.clock.step(1000);
    service.patch(&ada, json!({"name": "Ada", "status": "suspended"})).await.expect(200);
    service.delete(&path(&ada)).await.expect(204);
    service.request("POST", &format!("{}/restore", kept(&ada))).send().await.expect(200);
    service.put(&grace, json!({"name": "Grace"})).await.expect(200);
    service.delete(&path(&ada)).await.expect(204);
    service.delete(&kept(&ada)).await.expect(204);
    (ada, grace)
}

fn items(reply: &Reply) -> Vec<Value> {
    reply.json()["items"].as_array().cloned().expect("items")
}

/// The target of the next page, from `Link`.
fn next(reply: &Reply) -> Option<String> {
    let target = reply.find("link")?.strip_prefix('<')?.strip_suffix(">; rel=\"next\"")?;
    Some(target.to_owned())
}

/// The positions of a page's events.
fn numbers(reply: &Reply) -> Vec<i64> {
    items(reply).iter().map(|event| number(event["id"].as_str().expect("an id"))).collect()
}

fn number(position: &str) -> i64 {
    let (_, number) = position.rsplit_once('-').expect("a log and a number");
    number.parse().expect("a number")
}

/// A position in the log of this service.
pub(crate) fn place(service: &Service, number: i64) -> String {
    format!("{}-{number}", service.store.log_id())
}

pub(crate) async fn responses_of_events(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let ada = service.user(json!({"email": "ada@example.com"})).await;
    service.clock.step(1000);
    service.patch(&ada, json!({"name": "Ada"})).await.expect(200);
    service.delete(&path(&ada)).await.expect(204);
    let first = service.get("/events?limit=2").await;
    page.note("first page", &first);
    let cursor = first.json()["next_cursor"].as_str().expect("more").to_owned();
    page.note("last page", &service.get(&format!("/events?limit=2&cursor={cursor}")).await);
    let end = format!("/events?after={}", place(&service, 3));
    page.note("nothing new", &service.get(&end).await);
    page.note("head", &service.request("HEAD", "/events?limit=2").send().await);
    page.note("of a kind", &service.get("/events?type=user.restored").await);
    service.delete(&kept(&ada)).await.expect(204);
    let history = format!("{}/events", path(&ada));
    page.note("the history of one who was purged", &service.get(&history).await);
    page.note("the history of nobody", &service.get(NOBODY).await);
    page.note("another log", &service.get("/events?after=0000000000000000-1").await);
    let beyond = format!("/events?after={}", place(&service, 5));
    page.note("beyond the end", &service.get(&beyond).await);
    page.note("query", &service.get("/events?after=1&type=user&user_id=1&limit=0&q=a").await);
    page.note("cursor", &service.get("/events?cursor=nonsense").await);
    let held = service.request("GET", "/events").header("if-match", "\"1\"");
    page.note("a tag", &held.send().await);
    page.settle("events");
}

pub(crate) async fn a_position_after_the_end_is_410(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    for number in [i64::MAX - 1, i64::MAX] {
        let after = format!("after={}", place(&service, number));
        for target in [
            format!("/events?{after}"),
            format!("/events?{after}&type=user.created"),
            format!("{}/events?{after}", path(&user)),
            format!("{}/events?{after}&type=user.created", path(&user)),
        ] {
            service.get(&target).await.expect(410);
        }
    }
}

pub(crate) async fn an_event_is_a_cloud_event_with_the_record_after_the_change(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    service.clock.step(1000);
    let with_id = service.request("PATCH", &path(&user)).without("x-request-id");
    let with_id = with_id.header("x-request-id", "mine-1");
    let patch = json!({"name": "Ada", "email": null, "emails": null});
    let changed = with_id.json(&patch).send().await.expect(200).json();
    let page = service.get("/events").await.expect(200);
    assert_eq!(page.header("cache-control"), "private, no-cache");
    assert_eq!(page.find("etag"), None);
    let subject = &path(&user)[1..];
    let event = |number: i64, kind: &str, time: &str, request: &str, data: Value| {
        json!({
            "specversion": "1.0", "id": place(&service, number), "source": "http://roster.test",
            "type": kind, "subject": subject, "time": time, "datacontenttype": "application/json",
            "actor": "anonymous", "requestid": request, "data": data,
        })
    };
    let (one, two) = ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z");
    let made = json!({"user_id": user["id"], "version": 1, "user": user,
        "changed": ["status", "username", "email", "emails"]});
    let then = json!({"user_id": user["id"], "version": 2, "user": changed,
        "changed": ["name", "email", "emails"]});
    let expected = [
        event(1, "user.created", one, REQUEST_ID, made),
        event(2, "user.updated", two, "mine-1", then),
    ];
    assert_eq!(items(&page), expected);
}

pub(crate) async fn each_change_and_nothing_else_has_an_event(backend: Backend) {
    let service = backend.open().await;
    let (ada, grace) = make_history(&service).await;
    service.put(&grace, json!({"name": "Grace"})).await.expect(200);
    service.post(json!({"username": "grace"})).await.refused(409, "username-taken");
    service.patch(&grace, json!({"version": 1})).await.refused(412, "version-mismatch");
    let dry = format!("{}?dry_run=true", path(&grace));
    service.delete(&dry).await.expect(200);
    let page = service.get("/events").await.expect(200);
    let told: Vec<(String, Value, Value)> = items(&page)
        .iter()
        .map(|event| {
            let data = &event["data"];
            let kind = event["type"].as_str().expect("a type").to_owned();
            (kind, data["user_id"].clone(), data["version"].clone())
        })
        .collect();
    let (ada, grace) = (&ada["id"], &grace["id"]);
    let expected = [
        ("user.created", ada, 1),
        ("user.created", grace, 1),
        ("user.updated", ada, 2),
        ("user.deleted", ada, 3),
        ("user.restored", ada, 4),
        ("user.updated", grace, 2),
        ("user.deleted", ada, 5),
        ("user.purged", ada, 6),
    ];
    let expected =
        expected.map(|(kind, id, version)| (kind.to_owned(), id.clone(), json!(version)));
    assert_eq!(told, expected);
    for event in items(&page) {
        let purged = event["data"]["user_id"] == *ada;
        assert_eq!(event["data"].get("user").is_none(), purged, "{event}");
    }
}

pub(crate) async fn every_way_to_follow_the_log_returns_all_events(backend: Backend) {
    let service = backend.open().await;
    make_history(&service).await;
    let whole = items(&service.get("/events").await.expect(200));
    assert_eq!(whole.len(), 8);
    for limit in [1, 3, 4, 7, 8, 9] {
        let (mut by_position, mut by_link, mut by_id) = (Vec::new(), Vec::new(), Vec::new());
        let mut after = String::new();
        loop {
            let page = service.get(&format!("/events?limit={limit}{after}")).await.expect(200);
            by_position.extend(items(&page));
            after = format!("&after={}", page.header("roster-position"));
            if page.json()["next_cursor"].is_null() {
                break;
            }
        }
        let mut target = format!("/events?limit={limit}&after={}", place(&service, 0));
        loop {
            let page = service.get(&target).await.expect(200);
            by_link.extend(items(&page));
            let Some(link) = next(&page) else { break };
            let cursor = page.json()["next_cursor"].as_str().expect("more").to_owned();
            assert_eq!(cursor, page.header("roster-position"));
            target = link;
        }
        while by_id.len() < 8 {
            let after = by_id.last().map_or(String::new(), |event: &Value| {
                format!("&after={}", event["id"].as_str().expect("an id"))
            });
            by_id.extend(items(&service.get(&format!("/events?limit={limit}{after}")).await));
        }
        assert_eq!(by_position, whole, "by {limit}");
        assert_eq!(by_link, whole, "by {limit}");
        assert_eq!(by_id, whole, "by {limit}");
    }
}

pub(crate) async fn events_continue_from_the_position_of_a_list(backend: Backend) {
    let service = backend.open().await;
    let (_, grace) = make_history(&service).await;
    let listed = service.get("/users").await.expect(200);
    let deleted = service.get("/deleted-users").await.expect(200);
    let written = service.patch(&grace, json!({"title": "Rear admiral"})).await.expect(200);
    service.user(json!({"username": "late"})).await;
    for (from, expected) in [(&listed, vec![9, 10]), (&deleted, vec![9, 10]), (&written, vec![10])]
    {
        let after = from.header("roster-position");
        let page = service.get(&format!("/events?after={after}")).await.expect(200);
        assert_eq!(numbers(&page), expected);
    }
    let end = place(&service, 10);
    let page = service.get(&format!("/events?after={end}")).await.expect(200);
    assert_eq!(page.json(), json!({"items": [], "next_cursor": null}));
    assert_eq!(page.header("roster-position"), end);
    // After another change, the same request returns that change only.
    service.delete(&path(&grace)).await.expect(204);
    assert_eq!(numbers(&service.get(&format!("/events?after={end}")).await), [11]);
}

pub(crate) async fn events_are_filtered_by_kind_and_user(backend: Backend) {
    let service = backend.open().await;
    let (ada, grace) = make_history(&service).await;
    let id = |user: &Value| user["id"].as_str().expect("an id").to_owned();
    let (ada, grace) = (id(&ada), id(&grace));
    let rows = [
        ("type=user.created".to_owned(), vec![1, 2], 8),
        ("type=user.restored".to_owned(), vec![5], 8),
        (format!("user_id={grace}"), vec![2, 6], 8),
        (format!("user_id={ada}&type=user.deleted"), vec![4, 7], 8),
        (format!("user_id={ada}&type=user.deleted&after={}", place(&service, 4)), vec![7], 8),
        ("type=user.purged&limit=1".to_owned(), vec![8], 8),
        ("user_id=01a1f84a-963b-7c3e-9a41-5d2e8f604b17".to_owned(), vec![], 8),
        (format!("user_id={grace}&limit=1"), vec![2], 2),
        ("type=user.created,user.restored".to_owned(), vec![1, 2, 5], 8),
        ("type=user.restored&type=user.created&limit=2".to_owned(), vec![1, 2], 2),
        ("type=group.*,user.purged".to_owned(), vec![8], 8),
        ("type=user.*".to_owned(), (1..=8).collect(), 8),
        ("type=schema.*,log.*".to_owned(), vec![], 8),
        (format!("subject=users/{grace}"), vec![2, 6], 8),
        (format!("subject=users/{ada}&type=user.purged,user.created"), vec![1, 8], 8),
        (format!("subject=groups/{ada}"), vec![], 8),
        (format!("group_id={ada}"), vec![], 8),
        ("subject=log".to_owned(), vec![], 8),
        ("actor=anonymous".to_owned(), (1..=8).collect(), 8),
        ("actor=Anonymous&actor=anon&actor=anonymous2".to_owned(), vec![], 8),
        ("actor=nobody&actor=anonymous&type=user.updated".to_owned(), vec![3, 6], 8),
        ("actor=nobody,anonymous".to_owned(), vec![], 8),
        ("sort=position&limit=2".to_owned(), vec![1, 2], 2),
    ];
    for (query, expected, reached) in rows {
        let page = service.get(&format!("/events?{query}")).await.expect(200);
        assert_eq!(numbers(&page), expected, "{query}");
        assert_eq!(number(page.header("roster-position")), reached, "{query}");
        assert_eq!(page.json()["next_cursor"].is_null(), reached == 8, "{query}");
    }
}

pub(crate) async fn the_newest_events_come_first_if_asked_for(backend: Backend) {
    let service = backend.open().await;
    let (ada, _) = make_history(&service).await;
    let rows = [
        ("/events?sort=-position".to_owned(), vec![8, 7, 6, 5, 4, 3, 2, 1]),
        (format!("/events?sort=-position&after={}", place(&service, 5)), vec![8, 7, 6]),
        (format!("/events?sort=-position&after={}", place(&service, 8)), vec![]),
        ("/events?sort=-position&type=user.created,user.deleted".to_owned(), vec![7, 4, 2, 1]),
        (format!("{}/events?sort=-position", path(&ada)), vec![8, 7, 5, 4, 3, 1]),
        (format!("{}/events?sort=-position&type=user.created", path(&ada)), vec![1]),
    ];
    for (target, expected) in rows {
        let first = service.get(&format!("{target}&limit=3")).await.expect(200);
        assert_eq!(number(first.header("roster-position")), 8, "{target}");
        let (mut seen, mut page) = (numbers(&first), first);
        while let Some(link) = next(&page) {
            // The page covers what is before its cursor.
            let cursor = page.json()["next_cursor"].as_str().map(number).expect("a cursor");
            page = service.get(&link).await.expect(200);
            assert_eq!(number(page.header("roster-position")), cursor - 1, "{link}");
            seen.extend(numbers(&page));
        }
        assert_eq!(seen, expected, "{target}");
        assert_eq!(page.json()["next_cursor"], Value::Null);
    }
    // Events that come meanwhile are after the first page, and no page has them.
    let first = service.get("/events?sort=-position&limit=4").await.expect(200);
    service.user(json!({"username": "late"})).await;
    let second = service.get(&next(&first).expect("more")).await.expect(200);
    assert_eq!((numbers(&first), numbers(&second)), (vec![8, 7, 6, 5], vec![4, 3, 2, 1]));
    let since = format!("/events?after={}", first.header("roster-position"));
    assert_eq!(numbers(&service.get(&since).await.expect(200)), [9]);
    // Old events are gone. The list ends there.
    let first = service.get("/events?sort=-position&limit=4").await.expect(200);
    let moment = Timestamp::from_millis(START + 60_000);
    let before = Outlived { keys_before: Timestamp::from_millis(0), events_before: moment };
    while service.store.forget(before).await.expect("the store answers") > 0 {}
    let gone = service.get(&next(&first).expect("more")).await.expect(200);
    assert_eq!(gone.json(), json!({"items": [], "next_cursor": null}));
    let all = service.get("/events?sort=-position").await.expect(200);
    assert_eq!(all.json(), json!({"items": [], "next_cursor": null}));
    let first = service.get(&format!("/events?sort=-position&cursor={}", place(&service, 0))).await;
    assert_eq!(number(first.expect(200).header("roster-position")), 0);
    for (position, far) in [("after", 10), ("cursor", 11)] {
        let far = format!("/events?sort=-position&{position}={}", place(&service, far));
        service.get(&far).await.refused(410, "position-outlived");
        let other = format!("/events?sort=-position&{position}=0123456789abcdef-1");
        service.get(&other).await.refused(410, "position-outlived");
    }
}

pub(crate) async fn the_history_of_a_user_is_its_part_of_the_log(backend: Backend) {
    let service = backend.open().await;
    let (ada, grace) = make_history(&service).await;
    let whole = items(&service.get("/events").await.expect(200));
    for (user, expected) in [(&ada, vec![1, 3, 4, 5, 7, 8]), (&grace, vec![2, 6])] {
        let history = format!("{}/events", path(user));
        let page = service.get(&history).await.expect(200);
        assert_eq!(numbers(&page), expected);
        let theirs = whole.iter().filter(|event| event["data"]["user_id"] == user["id"]);
        assert_eq!(items(&page), theirs.cloned().collect::<Vec<_>>());
        // For a known user an empty history is an empty page, not an error.
        let end = format!("{history}?after={}", place(&service, 8));
        assert_eq!(items(&service.get(&end).await.expect(200)), [Value::Null; 0]);
        let none = format!("{history}?type=user.restored&after={}", place(&service, 5));
        assert_eq!(items(&service.get(&none).await.expect(200)), [Value::Null; 0]);
        let mut seen = Vec::new();
        let mut target = format!("{history}?limit=1");
        loop {
            let page = service.get(&target).await.expect(200);
            seen.extend(numbers(&page));
            let Some(link) = next(&page) else { break };
            target = link;
        }
        assert_eq!(seen, expected);
    }
    let left = service.left(json!({"username": "left"})).await;
    assert_eq!(numbers(&service.get(&format!("{}/events", path(&left))).await), [9, 10]);
    for nobody in [NOBODY, "/users/ada/events", "/users/%00/events"] {
        service.get(nobody).await.refused(404, "user-not-found");
        service.request("HEAD", nobody).send().await.expect(404);
    }
    let by_query = format!("{}/events?user_id={}", path(&grace), "x");
    service.get(&by_query).await.refused(400, "invalid-query");
}

pub(crate) async fn a_position_before_the_oldest_event_is_410(backend: Backend) {
    let service = backend.open().await;
    let (_, grace) = make_history(&service).await;
    let history = format!("{}/events", path(&grace));
    let refused = async |parameter: &str, place: &str| {
        for path in ["/events", &history] {
            let reply = service.get(&format!("{path}?{parameter}={place}")).await;
            let reply = reply.refused(410, "position-outlived");
            let detail = reply.json()["detail"].as_str().expect("a detail").to_owned();
            assert!(detail.contains("read the collection again"), "{detail}");
        }
    };
    for parameter in ["after", "cursor"] {
        refused(parameter, "0123456789abcdef-1").await;
        refused(parameter, &place(&service, 9)).await;
        refused(parameter, &place(&service, i64::MAX)).await;
        service.get(&format!("/events?{parameter}={}", place(&service, 0))).await.expect(200);
    }
    // The first two events are older than this.
    let moment = Timestamp::from_millis(START + 1500);
    let before = Outlived { keys_before: Timestamp::from_millis(0), events_before: moment };
    while service.store.forget(before).await.expect("the store answers") > 0 {}
    refused("after", &place(&service, 0)).await;
    refused("after", &place(&service, 1)).await;
    let page = service.get(&format!("/events?after={}", place(&service, 2))).await.expect(200);
    assert_eq!(numbers(&page), [3, 4, 5, 6, 7, 8]);
    // Without a position the first page begins with the oldest stored event. A cursor takes
    // precedence over `after`.
    assert_eq!(numbers(&service.get("/events").await.expect(200)), [3, 4, 5, 6, 7, 8]);
    let on = format!("/events?after={}&cursor={}", place(&service, 1), place(&service, 7));
    assert_eq!(numbers(&service.get(&on).await.expect(200)), [8]);
    assert_eq!(numbers(&service.get(&history).await.expect(200)), [6]);
    // A log without stored events still has its end.
    let before = Outlived { events_before: Timestamp::from_millis(START + 60_000), ..before };
    while service.store.forget(before).await.expect("the store answers") > 0 {}
    let page = service.get("/events").await.expect(200);
    assert_eq!(page.json(), json!({"items": [], "next_cursor": null}));
    assert_eq!(page.header("roster-position"), place(&service, 8));
    service.get(&format!("/events?after={}", place(&service, 8))).await.expect(200);
    refused("after", &place(&service, 7)).await;
    assert_eq!(items(&service.get(&history).await.expect(200)), [Value::Null; 0]);
    service.patch(&grace, json!({"name": "G"})).await.expect(200);
    assert_eq!(numbers(&service.get("/events").await.expect(200)), [9]);
}

pub(crate) async fn every_error_of_a_query_for_events_is_listed(backend: Backend) {
    let service = backend.open().await;
    let value = "invalid-value";
    let log = service.store.log_id().to_string();
    let upper = format!("after={}-0", "ABCDEF0123456789");
    let padded = format!("after={log}-00");
    let signed = format!("after={log}-+0");
    let huge = format!("after={log}-9223372036854775808");
    let types = format!("type=user.created{}", ",user.created".repeat(20));
    let actors = vec!["actor=a"; 21].join("&");
    let subjects = "subject=log&group_id=01a1f84a-963b-7c3e-9a41-5d2e8f604b17".to_owned();
    let rows = [
        ("after=", "after", value),
        ("after=1", "after", value),
        ("after=x-1", "after", value),
        ("after=-1", "after", value),
        (&upper, "after", value),
        (&padded, "after", value),
        (&signed, "after", value),
        (&huge, "after", value),
        ("limit=0", "limit", "out-of-range"),
        ("limit=1001", "limit", "out-of-range"),
        ("type=created", "type", value),
        ("type=User.Created", "type", value),
        ("user_id=ada", "user_id", value),
        ("sort=id", "sort", value),
        ("sort=-position&sort=position", "sort", "duplicate-parameter"),
        ("sort=-position&wait=1", "wait", "conflicting-parameter"),
        ("sort=-position&after=latest", "after", "conflicting-parameter"),
        ("filter=id+pr", "filter", "unknown-parameter"),
        ("type=", "type", value),
        ("type=*", "type", value),
        ("type=user.", "type", value),
        ("type=use.*", "type", value),
        ("type=user.created,", "type", value),
        ("type=user.created,%20user.updated", "type", value),
        (&types, "type", "too-many"),
        ("actor=", "actor", value),
        ("actor=a%1Fb", "actor", value),
        (&actors, "actor", "too-many"),
        ("subject=users", "subject", value),
        ("subject=users/ada", "subject", value),
        ("subject=keys/1", "subject", value),
        (&subjects, "group_id", "conflicting-parameter"),
    ];
    for (query, parameter, code) in rows {
        let reply = service.get(&format!("/events?{query}")).await;
        let faults = reply.refused(400, "invalid-query").faults();
        assert_eq!(faults, [(parameter.to_owned(), code.to_owned())], "{query}");
    }
    for cursor in ["", "x", "AAAA", &format!("{log}-01")] {
        let reply = service.get(&format!("/events?cursor={cursor}")).await;
        reply.refused(400, "invalid-cursor");
    }
}

pub(crate) async fn an_empty_page_of_events_has_a_cursor(backend: Backend) {
    let service = backend.open().await;
    make_history(&service).await;
    // As if a page ended early after many events of other kinds.
    let (log, events, tenants) = (service.store.log_id(), Vec::new(), Vec::new());
    let made = EventsPage { log, events, tenants, reached: 5, head: 8, oldest: 1 };
    service.store.make_events(made);
    let page = service.get("/events?type=user.purged&after=0123456789abcdef-0").await;
    page.refused(410, "position-outlived");
    let page = service.get("/events?type=user.purged").await.expect(200);
    let next = place(&service, 5);
    assert_eq!(page.json(), json!({"items": [], "next_cursor": next}));
    assert_eq!(page.header("roster-position"), next);
    let link = format!("</events?type=user.purged&cursor={next}>; rel=\"next\"");
    assert_eq!(page.header("link"), link);
}

pub(crate) async fn a_page_of_events_ends_early_at_four_mebibytes(backend: Backend) {
    let service = backend.open().await;
    let certificate = json!({"value": "A".repeat(8192)});
    for number in 0..80 {
        let body = json!({"username": format!("user{number}"),
            "x509_certificates": vec![certificate.clone(); 7]});
        let request = service.request("POST", "/users").header("prefer", "return=minimal");
        request.json(&body).send().await.expect(201);
    }
    let first = service.get("/events?limit=1000").await.expect(200);
    let shown = items(&first).len();
    assert!((72..=74).contains(&shown), "{shown} records of 57 KiB");
    assert!(first.text().len() < 4 * 1024 * 1024 + 128 * 1024);
    let cursor = first.json()["next_cursor"].as_str().expect("more").to_owned();
    let second = service.get(&format!("/events?limit=1000&cursor={cursor}")).await.expect(200);
    assert_eq!(items(&second).len(), 80 - shown);
    assert_eq!(second.json()["next_cursor"], Value::Null);
}

pub(crate) async fn if_match_never_matches_events(backend: Backend) {
    let service = backend.open().await;
    let ask = |tag: &str| service.request("GET", "/events").header("if-match", tag).send();
    ask("\"1\"").await.refused(412, "version-mismatch");
    ask("W/\"1\"").await.refused(412, "version-mismatch");
    ask("1").await.refused(400, "invalid-request");
    ask("*").await.expect(200);
    let user = service.user(json!({"username": "ada"})).await;
    let history = format!("{}/events", path(&user));
    let held = service.request("GET", &history).header("if-match", "\"1\"").send().await;
    held.refused(412, "version-mismatch");
}
