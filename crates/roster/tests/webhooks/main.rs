//! Webhooks that the built binary sends to real receivers, over both engines.
//!
//! Every process that a test starts is stopped by that test.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]
#![expect(clippy::indexing_slicing, reason = "a member that is missing is `null`")]

mod receiver;
mod responses;
mod secure;

use std::{
    fs,
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use receiver::{Receiver, number};
use responses::{a_large_head_is_named, a_receiver_can_finish_its_response};
use roster_testkit::{
    over_each_engine,
    process::{Engine, Place, Process},
};
use secure::SecureReceiver;
use serde_json::{Value, json};

fn serve(place: &Place) -> Process {
    let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
    Process::start(command.args(["--webhook-networks", "127.0.0.0/8"]))
}

fn create(service: &Process, body: &Value) -> Value {
    let answer = service.ask("POST", "/webhooks", &body.to_string());
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body
}

fn id(webhook: &Value) -> &str {
    webhook["id"].as_str().unwrap()
}

fn at(webhook: &Value) -> String {
    format!("/webhooks/{}", id(webhook))
}

fn users(service: &Process, names: impl IntoIterator<Item = usize>) {
    for n in names {
        service.create(&format!(r#"{{"username":"u{n}"}}"#));
    }
}

/// The value of a metric, with its labels.
fn metric(service: &Process, name: &str) -> Option<i64> {
    let page = service.ask("GET", "/metrics", "").text;
    let line = page.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
    line.map(|value| value.trim().parse().unwrap())
}

/// Waits until a webhook has a member with this value.
#[track_caller]
fn wait_until(service: &Process, webhook: &Value, member: &str, value: &Value) -> Value {
    let began = Instant::now();
    loop {
        let now = service.ask("GET", &at(webhook), "").body;
        if now[member] == *value {
            return now;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{now}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Why the last request to a webhook failed.
fn last_error(service: &Process, webhook: &Value) -> String {
    let deliveries = service.ask("GET", &format!("{}/deliveries", at(webhook)), "").body;
    deliveries["items"][0]["error"].as_str().unwrap().to_owned()
}

over_each_engine! {
    events_arrive_once_in_order_and_signed,
    a_request_that_failed_is_sent_again_before_all_others,
    no_event_is_lost_when_the_service_is_killed,
    a_receiver_that_is_gone_is_sent_nothing_more,
    a_webhook_of_a_tenant_has_the_events_of_that_tenant,
    a_batch_that_failed_is_sent_again_with_the_same_events,
    a_webhook_has_the_audit_events_that_its_caller_may_read,
    a_test_is_sent_like_an_event,
    deliveries_and_metrics_say_how_a_webhook_does,
    a_receiver_needs_a_certificate_for_its_name,
    a_receiver_can_finish_its_response,
    a_large_head_is_named,
    progress_is_stored_while_a_webhook_waits_for_its_turn,
    a_name_of_an_inner_network_is_not_connected_to,
}

fn events_arrive_once_in_order_and_signed(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let (one, many) = (Receiver::start(), Receiver::start());
    let first = create(&service, &json!({"name": "one", "url": format!("{}/a?b=c", one.url)}));
    let body = json!({"name": "many", "url": many.url, "types": ["user.*"], "batch_max": 7,
        "payload": "thin"});
    let second = create(&service, &body);
    users(&service, 0..30);
    let received = one.wait_for(30);
    assert_eq!(one.numbers(), (3..33).collect::<Vec<_>>());
    for request in &received {
        assert!(request.is_signed_with(first["secret"].as_str().unwrap()), "{request:?}");
        assert_eq!((request.target.as_str(), request.status), ("/a?b=c", 204));
        assert_eq!(request.media_type, "application/cloudevents+json");
        let event = &request.events()[0];
        assert_eq!(event["id"], request.id.as_str());
        assert!(event["data"]["user"]["username"].is_string(), "{event}");
    }
    let stored = wait_until(&service, &second, "lag", &json!(0));
    assert_eq!(many.numbers(), (3..33).collect::<Vec<_>>());
    let secret = second["secret"].as_str().unwrap();
    for request in many.received() {
        assert!(request.is_signed_with(secret), "{request:?}");
        assert_eq!(request.media_type, "application/cloudevents-batch+json");
        let events = request.events();
        assert!((1..=7).contains(&events.len()));
        assert!(events.iter().all(|event| event["data"].get("user").is_none()), "thin");
        let (first, last) = (number(&events[0]), number(&events[events.len() - 1]));
        assert!(request.id.ends_with(&format!("-{first}-{last}")), "{}", request.id);
    }
    assert_eq!(stored.get("attempts"), None);

    let rotated = service.ask("POST", &format!("{}/rotate?overlap_s=600", at(&first)), "").body;
    users(&service, 30..32);
    for request in one.wait_for(32).split_off(30) {
        for secret in [&first["secret"], &rotated["secret"]] {
            assert!(request.is_signed_with(secret.as_str().unwrap()), "{request:?}");
        }
    }
    service.stop();
}

fn a_request_that_failed_is_sent_again_before_all_others(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let receiver = Receiver::start();
    receiver.answer(&[503, 301, 404]);
    let webhook = create(&service, &json!({"name": "x", "url": receiver.url}));
    users(&service, 0..3);
    let failing = wait_until(&service, &webhook, "attempts", &json!(1));
    assert!(failing["failing_since"].is_string() && failing["next_attempt_at"].is_string());
    let requests = receiver.wait_for(6);
    let ids: Vec<&str> = requests.iter().map(|request| request.id.as_str()).collect();
    assert!(ids[..4].iter().all(|id| *id == ids[0]), "one request, {ids:?}");
    assert!(requests.iter().all(|request| request.target == "/"), "no redirect is followed");
    let secret = webhook["secret"].as_str().unwrap();
    assert!(requests.iter().all(|request| request.is_signed_with(secret)), "each attempt");
    assert!(requests[..4].iter().all(|request| request.events() == requests[0].events()));
    assert_eq!(receiver.numbers(), [2, 3, 4]);
    wait_until(&service, &webhook, "lag", &json!(0));

    // A deleted webhook sends nothing more, also not what has failed.
    receiver.answer(&[500; 9]);
    users(&service, 3..4);
    wait_until(&service, &webhook, "attempts", &json!(1));
    assert_eq!(service.ask("DELETE", &at(&webhook), "").status, 204);
    let count = receiver.received().len();
    thread::sleep(Duration::from_secs(3));
    assert!(receiver.received().len() <= count + 1, "one may be on its way");
    service.stop();
}

fn a_batch_that_failed_is_sent_again_with_the_same_events(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let receiver = Receiver::start();
    receiver.answer(&[503, 503]);
    let body = json!({"name": "x", "url": receiver.url, "batch_max": 50});
    let webhook = create(&service, &body);
    users(&service, 0..1);
    wait_until(&service, &webhook, "attempts", &json!(1));
    users(&service, 1..4);
    wait_until(&service, &webhook, "lag", &json!(0));
    let requests = receiver.received();
    for again in &requests[1..3] {
        assert_eq!((&again.id, again.events()), (&requests[0].id, requests[0].events()));
    }
    assert_eq!(receiver.numbers(), [2, 3, 4, 5]);
    service.stop();
}

fn a_webhook_has_the_audit_events_that_its_caller_may_read(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let scopes = ["keys:admin", "events:read", "audit:read", "webhooks:admin"];
    let key = |by: &str, of_all: bool| {
        let mut body = json!({"name": "x", "scopes": scopes});
        if of_all {
            body["tenants"] = json!("all");
        }
        let made = service.ask_with(by, "POST", "/keys", &body.to_string());
        format!("Authorization: Bearer {}\r\n", made.body["key"].as_str().unwrap())
    };
    let operator = key("", true);
    let tenant = key(&operator, false);
    let receivers = [&operator, &tenant].map(|by| {
        let receiver = Receiver::start();
        let body = json!({"name": "x", "url": receiver.url, "types": ["key.*"]}).to_string();
        assert_eq!(service.ask_with(by, "POST", "/webhooks", &body).status, 201);
        receiver
    });
    for of_all in [true, false, true, false] {
        key(&operator, of_all);
    }
    let [of_operator, of_tenant] = receivers;
    of_operator.wait_for(4);
    of_tenant.wait_for(2);
    // The events 3 and 4 are those of the webhooks.
    assert_eq!((of_operator.numbers(), of_tenant.numbers()), (vec![5, 6, 7, 8], vec![6, 8]));
    service.stop();
}

fn a_test_is_sent_like_an_event(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let receiver = Receiver::start();
    receiver.answer(&[200, 500]);
    let body = json!({"name": "x", "url": receiver.url, "batch_max": 5, "status": "paused"});
    let webhook = create(&service, &body);
    let test = || service.ask("POST", &format!("{}/test", at(&webhook)), "");
    for status in [200, 500] {
        let tested = test();
        assert_eq!((tested.status, &tested.body["status"]), (200, &json!(status)));
        let request = receiver.received().pop().unwrap();
        assert!(request.is_signed_with(webhook["secret"].as_str().unwrap()), "{request:?}");
        assert_eq!(request.media_type, "application/cloudevents-batch+json");
        let event = &request.events()[0];
        assert_eq!((&event["type"], &event["id"]), (&json!("webhook.test"), &tested.body["id"]));
        assert_eq!(event["data"]["webhook_id"], webhook["id"]);
        assert_eq!(request.id, event["id"]);
    }
    let after = service.ask("GET", &at(&webhook), "").body;
    assert_eq!((&after["status"], &after["version"]), (&json!("paused"), &json!(1)));
    assert_eq!((&after["position"], after.get("attempts")), (&webhook["position"], None));
    service.stop();
}

fn wait_for_metric(service: &Process, name: &str, holds: impl Fn(Option<i64>) -> bool) {
    let began = Instant::now();
    while !holds(metric(service, name)) {
        assert!(began.elapsed() < Duration::from_secs(30), "{name}: {:?}", metric(service, name));
        thread::sleep(Duration::from_millis(50));
    }
}

fn deliveries_and_metrics_say_how_a_webhook_does(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let receiver = Receiver::start();
    let webhook = create(&service, &json!({"name": "x", "url": receiver.url}));
    let lag = format!("roster_webhook_lag_seconds{{tenant=\"\",webhook=\"{}\"}} ", id(&webhook));
    receiver.answer(&[503]);
    users(&service, 0..1);
    wait_until(&service, &webhook, "lag", &json!(0));
    let deliveries = || service.ask("GET", &format!("{}/deliveries", at(&webhook)), "").body;
    let items = &deliveries()["items"];
    let told = |index: usize| {
        let one = &items[index];
        (one["id"].as_str().unwrap(), one["attempt"].as_i64(), one["status"].as_i64())
    };
    let first = receiver.received()[0].id.clone();
    assert_eq!(told(0), (&*first, Some(2), Some(204)));
    assert_eq!(told(1), (&*first, Some(1), Some(503)));
    assert_eq!(items.as_array().map(Vec::len), Some(2));
    assert_eq!(metric(&service, "roster_webhook_attempts_total{result=\"failed\"}"), Some(1));
    assert_eq!(metric(&service, &lag), Some(0));
    // The age of the event grows while it is not received, also in a pause after a restart.
    receiver.answer(&[503, 503, 503, 503, 410]);
    users(&service, 1..2);
    wait_for_metric(&service, &lag, |age| age >= Some(2));
    wait_until(&service, &webhook, "attempts", &json!(3));
    service.stop();
    let service = serve(&place);
    wait_for_metric(&service, &lag, |age| age.is_some());
    assert!(metric(&service, &lag) > Some(0), "{:?}", metric(&service, &lag));
    let deliveries = || service.ask("GET", &format!("{}/deliveries", at(&webhook)), "").body;
    wait_until(&service, &webhook, "status", &json!("parked"));
    let newest = &deliveries()["items"][0];
    assert_eq!((&newest["attempt"], &newest["status"]), (&json!(5), &json!(410)));
    let ended = r#"roster_webhooks_ended_total{status="parked"}"#;
    wait_for_metric(&service, ended, |count| count == Some(1));
    wait_for_metric(&service, &lag, |age| age.is_none());
    service.stop();
}

fn a_receiver_needs_a_certificate_for_its_name(engine: Engine) {
    let place = Place::new(engine);
    let (trusted, unknown) = (SecureReceiver::start(), SecureReceiver::start());
    let authorities = tempfile::NamedTempFile::new().unwrap();
    fs::write(authorities.path(), &trusted.certificate).unwrap();
    let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
    command.env("SSL_CERT_FILE", authorities.path());
    let service = Process::start(command.args(["--webhook-networks", "127.0.0.0/8"]));
    let [good, other_name, nobodys] = [
        format!("https://localhost:{}/", trusted.port),
        format!("https://127.0.0.1:{}/", trusted.port),
        format!("https://localhost:{}/", unknown.port),
    ]
    .map(|url| create(&service, &json!({"name": "x", "url": url, "types": ["user.*"]})));
    users(&service, 0..1);
    wait_until(&service, &good, "lag", &json!(0));
    for (webhook, expected) in [(other_name, "another name"), (nobodys, "not valid")] {
        wait_until(&service, &webhook, "attempts", &json!(2));
        let error = last_error(&service, &webhook);
        assert!(error.starts_with("no TLS: ") && error.contains(expected), "{error}");
    }
    assert_eq!((trusted.requests(), unknown.requests()), (1, 0));
    service.stop();
}

fn progress_is_stored_while_a_webhook_waits_for_its_turn(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let receiver = Receiver::start();
    let webhook = create(&service, &json!({"name": "x", "url": receiver.url}));
    // The first event is stored at once, the second one a second later.
    users(&service, 0..1);
    receiver.wait_for(1);
    users(&service, 1..2);
    let second = receiver.wait_for(2).pop().unwrap();
    // As many as have a place in a tenant, and say nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    for _ in 0..8 {
        create(&service, &json!({"name": "x", "url": url, "after": second.id}));
    }
    users(&service, 2..3);
    let began = Instant::now();
    let position = || {
        let now = service.ask("GET", &at(&webhook), "").body;
        now["position"].as_str().unwrap().rsplit_once('-').unwrap().1.parse::<i64>().unwrap()
    };
    while position() < number(&second.events()[0]) {
        assert!(began.elapsed() < Duration::from_secs(5), "{}", position());
        thread::sleep(Duration::from_millis(50));
    }
    service.stop();
}

fn no_event_is_lost_when_the_service_is_killed(engine: Engine) {
    let place = Place::new(engine);
    let receiver = Receiver::start();
    let mut service = serve(&place);
    let body = json!({"name": "x", "url": receiver.url, "batch_max": 5});
    let webhook = create(&service, &body);
    for round in 0..3 {
        users(&service, round * 20..round * 20 + 20);
        service.kill();
        service = serve(&place);
    }
    let began = Instant::now();
    let expected: Vec<i64> = (2..62).collect();
    loop {
        let numbers = receiver.numbers();
        let mut once = numbers.clone();
        once.sort_unstable();
        once.dedup();
        if once == expected {
            break;
        }
        // The lease of the process that was killed ends after 30 seconds.
        assert!(began.elapsed() < Duration::from_mins(1), "{numbers:?}");
        thread::sleep(Duration::from_millis(50));
    }
    // Events that arrive again follow the order of the log too.
    let numbers = receiver.numbers();
    let mut highest = 1;
    for number in numbers {
        assert!(number <= highest + 1, "{number} after {highest}");
        highest = highest.max(number);
    }
    wait_until(&service, &webhook, "lag", &json!(0));
    service.stop();
}

fn a_receiver_that_is_gone_is_sent_nothing_more(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let receiver = Receiver::start();
    receiver.answer(&[410]);
    let webhook = create(&service, &json!({"name": "x", "url": receiver.url}));
    users(&service, 0..2);
    wait_until(&service, &webhook, "status", &json!("parked"));
    users(&service, 2..4);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(receiver.received().len(), 1);
    let told = service.ask("GET", "/events?type=webhook.updated", "").body;
    assert_eq!(told["items"][0]["actor"], "system", "{told}");
    // It goes on where it was.
    let active = json!({"status": "active"}).to_string();
    assert_eq!(service.ask("PATCH", &at(&webhook), &active).status, 200);
    receiver.wait_for(5);
    let numbers = receiver.numbers();
    assert_eq!(numbers.len(), 4);
    assert!(numbers.is_sorted(), "{numbers:?}");

    let paused = json!({"status": "paused"}).to_string();
    assert_eq!(service.ask("PATCH", &at(&webhook), &paused).status, 200);
    users(&service, 4..6);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(receiver.received().len(), 5);
    // A replay sends events again, and a paused webhook only once it is active.
    let first = format!("{{\"after\":\"{}\"}}", webhook["position"].as_str().unwrap());
    assert_eq!(service.ask("POST", &format!("{}/replay", at(&webhook)), &first).status, 200);
    assert_eq!(service.ask("PATCH", &at(&webhook), &active).status, 200);
    receiver.wait_for(11);
    wait_until(&service, &webhook, "lag", &json!(0));
    assert_eq!(receiver.numbers().len(), 10);
    assert_eq!(service.ask("DELETE", &at(&webhook), "").status, 204);
    users(&service, 6..8);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(receiver.received().len(), 11);
    service.stop();
}

fn a_webhook_of_a_tenant_has_the_events_of_that_tenant(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let scopes = ["users:write", "events:read", "webhooks:admin", "tenants:admin"];
    let key = json!({"name": "operator", "scopes": scopes, "tenants": "all"}).to_string();
    let key = service.ask("POST", "/keys", &key).body;
    let line = format!("Authorization: Bearer {}\r\n", key["key"].as_str().unwrap());
    let ask = |method: &str, target: &str, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = service.ask_with(&line, method, target, &body);
        assert!((200..300).contains(&answer.status), "{method} {target}: {answer:?}");
        answer.body
    };
    ask("POST", "/tenants", json!({"name": "acme"}));
    ask("POST", "/tenants", json!({"name": "globex"}));
    let (of_acme, of_all) = (Receiver::start(), Receiver::start());
    let types = json!(["user.*"]);
    let body = |url: &str| json!({"name": "x", "url": url, "types": types});
    let webhook = ask("POST", "/tenants/acme/webhooks", body(&of_acme.url));
    let mut all = body(&of_all.url);
    all["tenants"] = json!("all");
    ask("POST", "/webhooks", all);
    let write = |n: usize| {
        for base in ["", "/tenants/acme", "/tenants/globex"] {
            ask("POST", &format!("{base}/users"), json!({"username": format!("u{n}")}));
        }
    };
    (0..5).for_each(write);
    let tenants = |receiver: &Receiver, count: usize| -> Vec<Value> {
        let received = receiver.wait_for(count);
        received.iter().map(|request| request.events()[0]["tenant"].clone()).collect()
    };
    assert_eq!(tenants(&of_acme, 5), vec![json!("acme"); 5]);
    let three = [Value::Null, json!("acme"), json!("globex")];
    assert_eq!(tenants(&of_all, 15), three.iter().cycle().take(15).cloned().collect::<Vec<_>>());
    assert!(of_all.numbers().is_sorted());

    // Nothing is sent for a tenant while it is suspended, and everything afterwards.
    ask("PATCH", "/tenants/acme", json!({"status": "suspended"}));
    thread::sleep(Duration::from_millis(300));
    (5..7).for_each(write);
    thread::sleep(Duration::from_millis(700));
    assert_eq!(of_acme.received().len(), 5);
    ask("PATCH", "/tenants/acme", json!({"status": "active"}));
    of_acme.wait_for(7);
    of_all.wait_for(21);
    let target = format!("/tenants/acme{}", at(&webhook));
    assert_eq!(ask("GET", &target, Value::Null)["status"], "active");
    service.stop();
}

/// Names are resolved, and their addresses are checked, at each connection.
fn a_name_of_an_inner_network_is_not_connected_to(engine: Engine) {
    let place = Place::new(engine);
    let service = Process::start(&mut place.serve(env!("CARGO_BIN_EXE_roster")));
    let receiver = Receiver::start();
    let url = receiver.url.replace("http://127.0.0.1", "https://localhost");
    let webhook = create(&service, &json!({"name": "x", "url": url}));
    users(&service, 0..1);
    wait_until(&service, &webhook, "attempts", &json!(1));
    assert_eq!(receiver.received().len(), 0);
    service.stop();
}
