//! Positions after the log got a new identity: those that both logs have stay valid, and one of
//! events that may be lost is rejected, in pages, waits and streams.

use std::time::Duration;

use roster_core::Store as _;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    event_streams::{event, next, open, streaming},
    service::{Backend, Service},
};

/// A service with three users, and the positions of their events.
async fn of_three(backend: &Backend) -> (Service, Vec<String>) {
    let service = backend.open().await;
    for n in 0..3 {
        service.user(json!({"username": format!("u{n}")})).await;
    }
    let page = service.get("/events").await.json();
    let items = page["items"].as_array().expect("items");
    let ids = items.iter().map(|event| event["id"].as_str().expect("an id").to_owned());
    (service, ids.collect())
}

pub(crate) async fn a_position_is_valid_up_to_the_fork_of_its_log(backend: Backend) {
    let (service, before) = of_three(&backend).await;
    service.store.fork_log(2);
    let log = service.store.log_id();
    for (number, position) in before.iter().enumerate() {
        let reply = service.get(&format!("/events?after={position}")).await;
        if number == 2 {
            let problem = reply.refused(410, "position-outlived").json();
            let detail = problem["detail"].as_str().expect("a detail");
            assert!(detail.starts_with("the position belongs to another log"), "{detail}");
            continue;
        }
        let page = reply.expect(200);
        assert_eq!(page.header("roster-position"), format!("{log}-3"));
        let ids: Vec<Value> = (number + 2..=3).map(|n| json!(format!("{log}-{n}"))).collect();
        let items = page.json();
        let items = items["items"].as_array().expect("items").iter();
        assert_eq!(items.map(|event| event["id"].clone()).collect::<Vec<_>>(), ids);
    }
    let lost = format!("/events?after={}&wait=60", before[2]);
    service.get(&lost).await.refused(410, "position-outlived");
    let lost = streaming(&service, "/events").header("last-event-id", &before[2]);
    lost.send().await.refused(410, "position-outlived");
    service.get("/events?after=0123456789abcdef-1").await.refused(410, "position-outlived");
    let reply = service.post(json!({"username": "eve"})).await.expect(201);
    assert_eq!(reply.header("roster-position"), format!("{log}-4"));
}

pub(crate) async fn a_stream_goes_on_after_a_fork_unless_its_events_may_be_lost(backend: Backend) {
    for end in [3, 2] {
        let (service, _) = of_three(&backend).await;
        let mut stream = open(streaming(&service, "/events?after=latest")).await;
        service.store.fork_log(end);
        let log = service.store.log_id();
        service.user(json!({"username": "eve"})).await;
        if end == 3 {
            assert_eq!(event(&mut stream).await.0, format!("{log}-4"));
            continue;
        }
        let last = next(&mut stream).await;
        let problem = last.strip_prefix("event: end\ndata: ").expect("the end");
        let problem: Value = serde_json::from_str(problem).expect("JSON");
        assert_eq!(problem["code"], "position-outlived");
        assert_eq!(stream.frame().await, None);
    }
}

/// Their last change may be lost, and another one may have its number.
pub(crate) async fn keys_and_tenants_are_read_again_after_a_fork(backend: Backend) {
    let service = backend.open().await;
    let scopes = ["users:read", "tenants:admin"];
    let key = service.new_operator_key(&scopes).await;
    let key = key["key"].as_str().expect("a key");
    let acme = service.request("POST", "/tenants").bearer(key).json(&json!({"name": "acme"}));
    acme.send().await.expect(201);
    let get = async || {
        // What is kept is checked once a second.
        sleep(Duration::from_millis(1_100)).await;
        let request = service.request("GET", "/tenants/acme/users").bearer(key);
        request.send().await.expect(200);
        service.store.reads_of_access()
    };
    get().await;
    let before = get().await;
    assert_eq!(get().await, before, "nothing changed");
    service.store.fork_log(0);
    let (keyrings, tenants) = get().await;
    assert_eq!((keyrings, tenants), (before.0 + 1, before.1 + 1));
}
