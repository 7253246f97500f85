//! Content codings: which clients get a compressed response, and which responses are never
//! compressed.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::json;

use crate::{
    client::Reply,
    service::{Backend, Service, path},
};

async fn ask(service: &Service, target: &str, accept: &str) -> Reply {
    let request = service.request("GET", target).header("accept-encoding", accept);
    request.unwitnessed().await.expect(200)
}

fn unzip(reply: &Reply) -> String {
    let mut text = String::new();
    let bytes = &reply.exchange.response_body;
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("gzip");
    text
}

async fn fill(service: &Service, users: usize) -> serde_json::Value {
    for number in 1..users {
        service.user(json!({"username": format!("user-{number}"), "title": "Dr."})).await;
    }
    service.user(json!({"username": "last", "nickname": "x".repeat(256)})).await
}

pub(crate) async fn lists_and_exports_are_compressed_for_those_who_accept_it(backend: Backend) {
    let service = backend.open().await;
    fill(&service, 30).await;
    service.group("team").await;
    for target in ["/users", "/events", "/scim/v2/Users", "/scim/v2/Schemas"] {
        let plain = service.request("GET", target).unwitnessed().await.expect(200);
        assert_eq!(plain.find("content-encoding"), None, "{target}");
        let coded = ask(&service, target, "gzip").await;
        assert_eq!(coded.header("content-encoding"), "gzip", "{target}");
        assert_eq!(unzip(&coded), plain.text(), "{target}");
        let sizes = [&coded, &plain].map(|reply| reply.exchange.response_body.len());
        assert!(sizes[0] * 2 < sizes[1], "{target}: {sizes:?}");
        for reply in [&plain, &coded] {
            assert!(reply.header("vary").ends_with("Accept-Encoding"), "{target}");
        }
    }
    let plain = service.request("GET", "/bulk/users").unwitnessed().await.expect(200);
    let coded = ask(&service, "/bulk/users", "gzip").await;
    assert_eq!(coded.header("content-encoding"), "gzip");
    for reply in [&plain, &coded] {
        assert_eq!(reply.header("vary"), "Accept, Accept-Encoding");
    }
    assert_eq!(unzip(&coded), plain.text());
    assert_eq!(plain.text().lines().count(), 30);
}

pub(crate) async fn what_must_not_be_compressed_is_sent_as_it_is(backend: Backend) {
    let service = backend.open().await;
    let user = fill(&service, 1).await;
    let small = ask(&service, "/users", "gzip").await;
    assert_eq!(small.find("content-encoding"), None, "{} bytes", small.text().len());
    let only = ask(&service, "/users", "identity;q=0, gzip").await;
    assert_eq!((only.header("content-encoding"), unzip(&only)), ("gzip", small.text().to_owned()));
    let body = json!({"attributes": {"note": "x".repeat(4096)}});
    service.patch(&user, body).await.expect(200);
    for accept in ["identity", "gzip;q=0", "br", "*;q=0", "identity, gzip;q=0.1"] {
        let reply = ask(&service, "/users", accept).await;
        assert_eq!(reply.find("content-encoding"), None, "{accept}");
    }
    let request = service.request("GET", "/users").header("accept-encoding", "gzip");
    let reply = request.header("cache-control", "no-transform").send().await.expect(200);
    assert_eq!(reply.find("content-encoding"), None);
    // The strong tag of a user names its version, not the bytes of a coding.
    let one = ask(&service, &path(&user), "gzip").await;
    assert_eq!((one.header("etag"), one.find("content-encoding")), ("\"2\"", None));
    assert_eq!(one.find("vary"), None);
    // A response with a secret is not compressed, whatever its length.
    let body = json!({"name": "x", "scopes": ["scim"]});
    let request = service.request("POST", "/keys").header("accept-encoding", "gzip").json(&body);
    assert_eq!(request.send().await.expect(201).find("content-encoding"), None);
}

pub(crate) async fn an_unchanged_document_is_304_in_each_coding(backend: Backend) {
    let service = backend.open().await;
    for target in [
        "/",
        "/docs",
        "/openapi.json",
        "/openapi-3.0.json",
        "/problems",
        "/problems/user-not-found",
    ] {
        let mut tags = Vec::new();
        for accept in ["identity", "gzip", "br"] {
            let reply = ask(&service, target, accept).await;
            let coding = reply.find("content-encoding").unwrap_or("identity");
            assert_eq!(coding, accept, "{target}");
            assert!(reply.header("vary").ends_with("Accept-Encoding"), "{target}");
            assert_eq!(reply.header("cache-control"), "no-cache");
            let tag = reply.header("etag").to_owned();
            assert!(tag.starts_with('"') && !tags.contains(&tag), "{target} {accept}: {tag}");
            let request = service.request("GET", target).header("accept-encoding", accept);
            let request = request.header("if-none-match", &format!("\"x\", {tag}"));
            let unchanged = request.send().await.expect(304);
            assert_eq!((unchanged.text(), unchanged.header("etag")), ("", tag.as_str()));
            assert!(unchanged.header("vary").ends_with("Accept-Encoding"), "{target}");
            tags.push(tag);
        }
        let plain = service.get(target).await.expect(200);
        assert_eq!(plain.header("etag"), tags[0]);
        assert_eq!(unzip(&ask(&service, target, "gzip").await), plain.text());
        let other = service.request("GET", target).header("if-none-match", &tags[1]);
        other.send().await.expect(200);
    }
}

pub(crate) async fn the_tag_of_the_description_follows_the_schema(backend: Backend) {
    let service = backend.open().await;
    let tag = service.get("/openapi.json").await.expect(200).header("etag").to_owned();
    let body = json!({"attributes": [{"name": "badge", "type": "integer"}]});
    service.request("PUT", "/schema").json(&body).send().await.expect(200);
    let request = service.request("GET", "/openapi.json").header("if-none-match", &tag);
    assert_ne!(request.send().await.expect(200).header("etag"), tag);
}
