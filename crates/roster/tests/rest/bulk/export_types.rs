//! The media types of exports and of lists, by `Accept`.

use serde_json::json;

use super::{
    NDJSON,
    export::{EXPORTS, fill},
};
use crate::{
    client::Reply,
    service::{Backend, Service, kept, path},
};

/// The `Vary` of a response that has one media type.
const CODING: &str = "Accept-Encoding";

/// A response with this `Accept`, or without one.
async fn accepting(service: &Service, target: &str, accept: Option<&str>) -> Reply {
    let request = service.request("GET", target);
    match accept {
        Some(accept) => request.header("accept", accept).send().await,
        None => request.send().await,
    }
}

pub(crate) async fn an_export_is_ndjson_and_a_list_is_json(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    for (export, list) in EXPORTS {
        for accept in [
            None,
            Some("*/*"),
            Some("application/*"),
            Some("text/html, */*;q=0.1"),
            Some("application/x-ndjson, application/json"),
            Some("application/json;q=0.5, application/x-ndjson;q=0.9"),
            Some("application/jsonl, application/json;q=0.5"),
        ] {
            for (target, media_type) in [(export, NDJSON), (list, "application/json")] {
                let reply = accepting(&service, target, accept).await.expect(200);
                assert_eq!(reply.header("content-type"), media_type, "{target} {accept:?}");
                // Only users have a second form.
                let vary = if target == "/bulk/users" { "Accept, Accept-Encoding" } else { CODING };
                assert_eq!(reply.header("vary"), vary, "{target} {accept:?}");
            }
        }
        for accept in [
            NDJSON,
            "Application/X-NDJSON",
            "application/ndjson",
            "application/jsonl",
            "text/csv;q=0.1, application/x-ndjson",
            "text/csv, application/x-ndjson",
            "application/json;q=0, */*",
        ] {
            let reply = accepting(&service, export, Some(accept)).await.expect(200);
            assert_eq!(reply.header("content-type"), NDJSON, "{export} {accept}");
        }
        for accept in
            ["application/json", "text/html", "application/json-seq", "application/x-ndjson;q=0"]
        {
            let reply = accepting(&service, export, Some(accept)).await;
            let reply = reply.refused(406, "not-acceptable");
            assert!(reply.text().contains(NDJSON), "{}", reply.text());
        }
    }
}

pub(crate) async fn a_list_is_no_export_and_names_it(backend: Backend) {
    let service = backend.open().await;
    let user = fill(&service).await.remove(0);
    for (export, list) in EXPORTS {
        for accept in [
            NDJSON,
            "Application/X-NDJSON",
            "application/ndjson",
            "application/jsonl",
            "text/csv, application/x-ndjson;q=0.1",
        ] {
            let reply = accepting(&service, list, Some(accept)).await;
            let reply = reply.refused(406, "not-acceptable");
            assert!(reply.text().contains(export), "{accept}: {}", reply.text());
        }
        for accept in ["text/csv", "application/json-seq", "application/json;q=0, */*"] {
            accepting(&service, list, Some(accept)).await.refused(406, "not-acceptable");
        }
    }
    // Other lists and records have no export.
    let gone = service.left(json!({"username": "gone"})).await;
    let groups = format!("{}/groups", path(&user));
    for target in [path(&user), kept(&gone), groups, "/events".to_owned()] {
        let reply = accepting(&service, &target, Some(NDJSON)).await;
        let reply = reply.refused(406, "not-acceptable");
        assert!(!reply.text().contains("/bulk/"), "{target}: {}", reply.text());
    }
}
