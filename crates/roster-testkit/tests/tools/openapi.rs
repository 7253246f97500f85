//! Each kind of mismatch must be found; an exchange as described must pass.

use roster_testkit::openapi::{Description, Exchange, Ledger, Observed};
use serde_json::{Value, json};

const PATH: &str = "/v1/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

fn document() -> Value {
    let headers = json!({ "X-Request-Id": { "$ref": "#/components/headers/RequestId" } });
    let tag =
        json!({ "required": true, "schema": { "type": "string", "pattern": "^\"[0-9]+\"$" } });
    let user = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/User" } } });
    let ok = json!({
        "description": "-", "content": user,
        "headers": { "X-Request-Id": headers["X-Request-Id"], "ETag": tag }
    });
    let not_found = json!({ "$ref": "#/components/responses/UserNotFound" });
    json!({
        "openapi": "3.1.0",
        "servers": [{ "url": "http://127.0.0.1:8080/v1" }],
        "paths": {
            "/users": { "get": {
                "operationId": "listUsers",
                "parameters": [
                    { "name": "limit", "in": "query",
                      "schema": { "type": "integer", "minimum": 1, "maximum": 1000 } },
                    { "name": "count", "in": "query", "schema": { "type": "boolean" } },
                    { "name": "fields", "in": "query", "explode": false, "schema": {
                        "type": "array", "items": { "enum": ["id", "name"] } } },
                    { "name": "id", "in": "query", "schema": {
                        "type": "array", "maxItems": 2, "items": { "type": "string" } } }
                ],
                "responses": { "200": ok, "304": { "description": "-" } }
            } },
            "/users/{user_id}": {
                "parameters": [{ "name": "user_id", "in": "path", "required": true,
                    "schema": { "type": "string", "format": "uuid" } }],
                "get": { "operationId": "getUser", "responses": {
                    "200": ok, "404": not_found,
                    "304": { "description": "-", "headers": headers } } },
                "put": {
                    "operationId": "replaceUser",
                    "requestBody": { "content": { "application/json": {
                        "schema": { "$ref": "#/components/schemas/User" } } } },
                    "responses": { "200": ok, "404": not_found }
                }
            }
        },
        "components": components()
    })
}

fn components() -> Value {
    let request_id = json!({ "required": true, "schema": { "type": "string", "minLength": 1 } });
    let problem = |codes: &[&str]| {
        let content = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
        json!({
            "description": "-", "x-problem-codes": codes,
            "headers": { "X-Request-Id": { "$ref": "#/components/headers/RequestId" } },
            "content": { "application/problem+json": content }
        })
    };
    json!({
        "headers": { "RequestId": request_id },
        "responses": {
            "UserNotFound": problem(&["user-not-found"]),
            "NotFound": problem(&["not-found"]),
            "MethodNotAllowed": problem(&["method-not-allowed"]),
            "MethodNotImplemented": problem(&["method-not-implemented"])
        },
        "schemas": {
            "User": {
                "type": "object", "required": ["name"],
                "properties": {
                    "name": { "type": "string", "maxLength": 5 },
                    "created_at": { "type": "string", "format": "date-time" }
                }
            },
            "Problem": {
                "type": "object",
                "required": ["type", "status", "code", "request_id"],
                "properties": {
                    "type": { "type": "string" }, "status": { "type": "integer" },
                    "code": { "type": "string" }, "request_id": { "type": "string" },
                    "errors": { "type": "array" }
                }
            }
        }
    })
}

fn description() -> Description {
    Description::load(document().to_string().as_bytes()).expect("a valid document")
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn fetched() -> Exchange {
    Exchange {
        method: "GET".to_owned(),
        path: PATH.to_owned(),
        status: 200,
        response_headers: vec![
            pair("content-type", "application/json"),
            pair("x-request-id", "r1"),
            pair("etag", "\"1\""),
        ],
        response_body: br#"{"name":"Ada","created_at":"2026-11-20T09:30:00.123Z"}"#.to_vec(),
        ..Exchange::default()
    }
}

fn refused(status: u16, code: &str) -> Exchange {
    let body = json!({
        "type": format!("http://127.0.0.1:8080/v1/problems/{code}"),
        "status": status, "code": code, "request_id": "r1"
    });
    Exchange {
        status,
        response_headers: vec![
            pair("Content-Type", "application/problem+json"),
            pair("X-Request-Id", "r1"),
        ],
        response_body: body.to_string().into_bytes(),
        ..fetched()
    }
}

/// The error when one part of a valid exchange is changed.
fn fault(mut exchange: Exchange, change: impl FnOnce(&mut Exchange)) -> String {
    assert!(description().check(&exchange).is_ok(), "the exchange is good before the change");
    change(&mut exchange);
    description().check(&exchange).expect_err("the change is a fault")
}

fn set(exchange: &mut Exchange, name: &str, value: &str) {
    exchange.response_headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
    if !value.is_empty() {
        exchange.response_headers.push(pair(name, value));
    }
}

fn set_body(exchange: &mut Exchange, name: &str, value: Value) {
    let mut body: Value = serde_json::from_slice(&exchange.response_body).expect("JSON");
    body[name] = value;
    exchange.response_body = body.to_string().into_bytes();
}

#[test]
fn an_exchange_as_described_is_observed() {
    let seen = description().check(&fetched()).expect("as described");
    assert_eq!(seen, Observed { operation_id: Some("getUser".to_owned()), status: 200 });
    let seen = description().check(&refused(404, "user-not-found")).expect("as described");
    assert_eq!(seen.status, 404);
}

#[test]
fn a_status_that_is_not_documented_is_a_fault() {
    assert!(fault(fetched(), |e| e.status = 202).contains("status"));
}

#[test]
fn a_missing_or_odd_header_is_a_fault() {
    assert!(fault(fetched(), |e| set(e, "etag", "")).contains("ETag is missing"));
    assert!(fault(fetched(), |e| set(e, "etag", "W/\"1\"")).contains("header ETag"));
    assert!(fault(fetched(), |e| set(e, "x-request-id", "")).contains("X-Request-Id"));
}

#[test]
fn another_content_type_or_none_is_a_fault() {
    assert!(fault(fetched(), |e| set(e, "content-type", "text/plain")).contains("text/plain"));
    assert!(fault(fetched(), |e| set(e, "content-type", "")).contains("Content-Type"));
}

#[test]
fn a_body_that_breaks_its_schema_is_a_fault() {
    assert!(fault(fetched(), |e| set_body(e, "nmae", json!("x"))).contains("nmae"));
    assert!(fault(fetched(), |e| set_body(e, "name", json!(7))).contains("/name"));
    assert!(fault(fetched(), |e| set_body(e, "name", json!("longer"))).contains("/name"));
    assert!(fault(fetched(), |e| set_body(e, "created_at", json!("today"))).contains("date-time"));
    assert!(fault(fetched(), |e| e.response_body = b"{".to_vec()).contains("no JSON"));
    assert!(fault(fetched(), |e| e.response_body.clear()).contains("no JSON"));
}

#[test]
fn a_problem_agrees_with_its_answer() {
    let missing = || refused(404, "user-not-found");
    assert!(fault(missing(), |e| set_body(e, "status", json!(400))).contains("says status"));
    assert!(fault(missing(), |e| set_body(e, "code", json!("not-found"))).contains("code"));
    assert!(fault(missing(), |e| set_body(e, "request_id", json!("r2"))).contains("request_id"));
    assert!(fault(missing(), |e| set_body(e, "type", json!("about:blank"))).contains("type"));
}

#[test]
fn head_and_not_modified_have_no_body() {
    let mut head = fetched();
    head.method = "HEAD".to_owned();
    head.response_body.clear();
    assert!(fault(head, |e| e.response_body = b"{}".to_vec()).contains("body"));
    let mut unchanged = fetched();
    unchanged.status = 304;
    unchanged.response_body.clear();
    set(&mut unchanged, "content-type", "");
    assert!(fault(unchanged.clone(), |e| e.response_body = b"{}".to_vec()).contains("body"));
    assert!(fault(unchanged, |e| set(e, "content-type", "text/html")).contains("never a body"));
}

#[test]
fn a_body_may_be_left_out_only_by_preference() {
    let mut minimal = fetched();
    minimal.response_body.clear();
    set(&mut minimal, "content-type", "");
    set(&mut minimal, "preference-applied", "return=minimal");
    assert!(fault(minimal, |e| set(e, "preference-applied", "")).contains("Content-Type"));
}

#[test]
fn a_request_that_was_taken_must_be_documented() {
    let list = |query: &str| Exchange {
        path: "/v1/users".to_owned(),
        query: Some(query.to_owned()),
        ..fetched()
    };
    for query in ["", "limit=1000&count=true", "fields=id,name", "id=a&id=b", "fields=id%2Cname"] {
        assert!(description().check(&list(query)).is_ok(), "{query}");
    }
    for query in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=1&limit=1",
        "count=yes",
        "fields=id,age",
        "id=a&id=b&id=c",
        "offset=1",
    ] {
        assert!(description().check(&list(query)).is_err(), "{query}");
    }
    assert!(fault(fetched(), |e| e.path = "/v1/users/7".to_owned()).contains("user_id"));
}

#[test]
fn a_body_that_was_taken_must_be_documented() {
    let replaced = Exchange {
        method: "PUT".to_owned(),
        request_headers: vec![pair("Content-Type", "application/json; charset=utf-8")],
        request_body: br#"{"name":"Ada"}"#.to_vec(),
        ..fetched()
    };
    let faulty = |body: &[u8]| fault(replaced.clone(), |e| e.request_body = body.to_vec());
    assert!(faulty(br#"{"nmae":"Ada"}"#).contains("nmae"));
    assert!(faulty(b"").contains("JSON"));
    let as_text = |e: &mut Exchange| e.request_headers = vec![pair("content-type", "text/plain")];
    assert!(fault(replaced.clone(), as_text).contains("text/plain"));
    // A rejected request may have any content.
    let mut refused = refused(404, "user-not-found");
    refused.method = "PUT".to_owned();
    assert!(description().check(&refused).is_ok());
}

#[test]
fn answers_outside_of_the_operations_are_problems_too() {
    let mut unknown = refused(404, "not-found");
    unknown.path = "/v1/user".to_owned();
    let seen = description().check(&unknown).expect("as described");
    assert_eq!(seen.operation_id, None);
    assert!(fault(unknown.clone(), |e| set_body(e, "code", json!("gone"))).contains("gone"));
    assert!(fault(unknown.clone(), |e| set(e, "content-type", "text/html")).contains("problem"));
    assert!(fault(unknown.clone(), |e| e.status = 200).contains("no such operation"));
    assert!(fault(unknown, |e| e.status = 405).contains("not documented"));
}

#[test]
fn a_tenant_has_the_same_operations_below_its_base_url() {
    let mut of_tenant = fetched();
    of_tenant.path = of_tenant.path.replace("/v1/", "/v1/tenants/acme/");
    let seen = description().check(&of_tenant).expect("as described");
    assert_eq!(seen.operation_id.as_deref(), Some("getUser"));
    assert!(fault(of_tenant, |e| e.status = 201).contains("status"));
    let mut refused = refused(404, "not-found");
    refused.path = "/v1/tenants/acme/users".to_owned();
    let seen = description().check(&refused).expect("as described");
    assert_eq!(seen.operation_id, None);
    assert!(fault(refused, |e| e.path = "/v1/users".to_owned()).contains("status"));
}

#[test]
fn a_refused_method_is_told_truly() {
    let mut delete = refused(405, "method-not-allowed");
    delete.method = "DELETE".to_owned();
    set(&mut delete, "allow", "GET, HEAD, PUT, OPTIONS");
    assert!(fault(delete.clone(), |e| set(e, "allow", "GET, PUT")).contains("Allow"));
    assert!(fault(delete, |e| e.method = "BREW".to_owned()).contains("501"));
    let mut brew = refused(501, "method-not-implemented");
    brew.method = "BREW".to_owned();
    assert!(fault(brew, |e| e.method = "DELETE".to_owned()).contains("405"));
}

#[test]
fn options_names_the_methods_of_the_path() {
    let mut options = fetched();
    options.method = "OPTIONS".to_owned();
    options.status = 204;
    options.response_body.clear();
    set(&mut options, "allow", "OPTIONS, GET, HEAD, PUT");
    assert!(fault(options.clone(), |e| set(e, "allow", "")).contains("missing"));
    assert!(fault(options, |e| set(e, "allow", "GET")).contains("Allow"));
}

#[test]
fn a_bare_refusal_is_outside_of_the_documented_statuses() {
    let bare = Exchange {
        method: "GET".to_owned(),
        path: "/v1/users".to_owned(),
        status: 431,
        ..Exchange::default()
    };
    let seen = description().check(&bare).expect("as described");
    assert_eq!(seen.operation_id.as_deref(), Some("listUsers"));
    assert!(fault(bare, |e| e.status = 413).contains("status"));
}

#[test]
fn an_error_has_exactly_one_place() {
    let mut refusal = refused(404, "user-not-found");
    refusal.path = PATH.to_owned();
    let with = |errors: Value| {
        let mut refusal = refusal.clone();
        let mut body: Value = serde_json::from_slice(&refusal.response_body).expect("JSON");
        body["errors"] = errors;
        refusal.response_body = body.to_string().into_bytes();
        description().check(&refusal)
    };
    assert!(with(json!([{"pointer": "/a"}, {"parameter": "b"}])).is_ok());
    assert!(with(json!([{"pointer": "/a", "parameter": "b"}])).is_err());
    assert!(with(json!([{}])).is_err());
}

#[test]
fn the_ledger_names_what_was_never_seen() {
    let description = description();
    let ledger = Ledger::default();
    ledger.record(description.check(&fetched()).expect("as described"));
    let exempt = [("listUsers", 304), ("getUser", 304), ("getUser", 200)];
    let unseen = ledger.unobserved(&description, &exempt);
    let named = |operation: &str, status| (operation.to_owned(), status);
    assert_eq!(
        unseen,
        [
            named("listUsers", 200),
            named("getUser", 404),
            named("replaceUser", 200),
            named("replaceUser", 404),
        ]
    );
    assert_eq!(ledger.needless(&description, &exempt), [("getUser", 200)]);
}

#[test]
fn a_document_that_leads_nowhere_is_refused() {
    let mut broken = document();
    broken["paths"]["/users"]["get"]["responses"]["200"] = json!({ "$ref": "#/components/x" });
    let fault = Description::load(broken.to_string().as_bytes()).expect_err("a fault");
    assert!(fault.contains("nowhere"), "{fault}");
    assert!(Description::load(b"{}").is_err());
    assert!(Description::load(b"").is_err());
}
