//! Errors in SCIM's form, whatever their origin.

use roster_http::AdmissionSettings;
use serde_json::{Value, json};

use crate::{
    service::{Backend, Setup},
    store::Fault,
    support::{ask, at, create, get, named, post, put, refused, send, with},
};

pub(crate) async fn every_refusal_below_the_face_has_the_form_of_scim(backend: Backend) {
    let service = backend.open().await;
    for target in ["/users", "/Users//", "/Users/a/b", "/Nothing", "/Devices"] {
        refused(get(&service, target).await, 404, None);
    }
    refused(ask(&service, "DELETE", "/Users").send().await, 405, None);
    refused(ask(&service, "POST", "/Users/x").send().await, 405, None);
    let long = format!("/Users?x={}", "a".repeat(17 * 1024));
    refused(get(&service, &long).await, 414, None);
    let foreign = ask(&service, "GET", "/Users").header("origin", "https://elsewhere.example");
    refused(foreign.send().await, 403, None);
    refused(ask(&service, "GET", "/Users").host("elsewhere.example").send().await, 421, None);
    let large = with(named("ada"), json!({"title": "x".repeat(1_100_000)}));
    refused(send(&service, "POST", "/Users", &large).send().await, 413, None);
    let pressure =
        AdmissionSettings { rate_limit_per_s: 1, rate_limit_burst: 1, ..Default::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    get(&service, "/Users").await.expect(200);
    let reply = refused(get(&service, "/Users").await, 429, None);
    assert!(reply.find("retry-after").is_some());
}

pub(crate) async fn forms_that_are_not_spoken_are_refused(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    for (accept, answered) in [
        ("application/scim+json", "application/scim+json"),
        ("application/json", "application/json"),
        ("*/*", "application/scim+json"),
        ("application/json, application/scim+json", "application/scim+json"),
        ("text/html, */*;q=0.1", "application/scim+json"),
    ] {
        for target in [at(&user), "/Users".to_owned(), "/Schemas".to_owned()] {
            let reply = ask(&service, "GET", &target).header("accept", accept).send().await;
            let reply = reply.expect(200);
            assert_eq!(reply.header("content-type"), answered, "{accept}");
            assert!(reply.header("vary").split(", ").any(|name| name == "Accept"), "{accept}");
        }
        for (target, status) in [("/Users?filter=x", 400), ("/Users/x", 404), ("/Me", 501)] {
            let reply = ask(&service, "GET", target).header("accept", accept).send().await;
            let reply = reply.expect(status);
            assert_eq!(reply.header("content-type"), answered, "{accept}");
            assert_eq!(reply.header("vary"), "Accept");
        }
        let taken = send(&service, "POST", "/Users", &named("ada")).header("accept", accept);
        assert_eq!(taken.send().await.expect(409).header("content-type"), answered, "{accept}");
    }
    let reply = ask(&service, "GET", &at(&user)).header("accept", "text/html").send().await;
    refused(reply, 406, None);
}

pub(crate) async fn failures_of_the_store_tell_nothing(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    for (fault, status) in [
        (Fault::Unavailable, 503),
        (Fault::TimedOut, 503),
        (Fault::Corrupt, 500),
        (Fault::Internal, 500),
    ] {
        service.store.fail(Some(fault));
        let replies = [
            get(&service, &at(&user)).await,
            get(&service, "/Users").await,
            put(&service, &user, named("ada")).await,
            send(&service, "POST", "/Users", &named("bob")).send().await,
        ];
        service.store.fail(None);
        for reply in replies {
            let reply = refused(reply, status, None);
            assert!(!reply.text().contains("sector"), "{}", reply.text());
        }
    }
}

/// RFC 7644 section 3.13: the version is in the URL.
pub(crate) async fn another_version_of_the_protocol_is_not_spoken(backend: Backend) {
    let service = backend.open().await;
    for path in ["/scim/Users", "/scim/v1/Users", "/scim/v3/Users", "/scim/V2/Users", "/Users"] {
        assert_eq!(service.get(path).await.status(), 404, "{path}");
    }
    service.get("/scim/v2/Users").await.expect(200);
}

pub(crate) async fn a_body_with_many_faults_is_a_short_error(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let entries = |entry: Value| Value::Array(vec![entry; 15_000]);
    for emails in [
        (0..15_000).map(|n| json!({"value": format!("{n}\u{1}"), "type": "work"})).collect(),
        entries(json!({"value": "a\u{1}", "type": "b\u{1}"})),
        Value::Array(vec![json!(1); 90_000]),
    ] {
        let body = with(named("grace"), json!({"emails": emails}));
        let made = refused(post(&service, body.clone()).await, 400, Some("invalidValue"));
        let replaced = refused(put(&service, &user, body).await, 400, Some("invalidValue"));
        for reply in [made, replaced] {
            assert!(reply.text().len() < 4 * 1024, "{}", reply.text().len());
        }
    }
}

pub(crate) async fn a_query_of_more_than_64_parameters_is_refused_in_one_sentence(
    backend: Backend,
) {
    let service = backend.open().await;
    for target in ["/Users", "/Groups", "/ServiceProviderConfig", "/Schemas"] {
        let reply = get(&service, &format!("{target}?{}", "a&".repeat(8_000))).await;
        let reply = refused(reply, 400, Some("invalidValue"));
        assert!(reply.text().contains("at most 64 query parameters"), "{}", reply.text());
        assert!(reply.text().len() < 1024);
    }
}
