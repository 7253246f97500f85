//! Whatever the number of errors in a request, its response lists 32 and counts the others.

use serde_json::{Map, Value, json};

use crate::{
    bulk::{import_lines, results_of},
    client::Reply,
    service::{Backend, Service, group_path, path},
};

/// The maximum size of a response with 32 errors, in bytes.
const BYTES_MAX: usize = 16 * 1024;

/// A body of nearly 1 MiB in which every member is unknown.
fn unknown_members(count: usize) -> Value {
    let members = (0..count).map(|number| (format!("m{number}"), json!(1)));
    Value::Object(members.collect::<Map<_, _>>())
}

#[track_caller]
fn capped(reply: Reply, status: u16, code: &str) -> Reply {
    let reply = reply.refused(status, code);
    assert!(reply.text().len() < BYTES_MAX, "{} bytes", reply.text().len());
    let body = reply.json();
    let more = body["more"].as_u64().expect("a count");
    assert_eq!(body["errors"].as_array().map(Vec::len), Some(32));
    let total = more + 32;
    let detail = body["detail"].as_str().expect("a detail");
    assert!(detail.starts_with(&total.to_string()), "{detail}");
    assert!(detail.ends_with("; the first 32 are listed"), "{detail}");
    reply
}

pub(crate) async fn a_response_lists_32_errors_of_a_body_and_counts_the_others(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    let key = service.new_key(&["keys:admin", "users:read", "users:write"]).await;
    let key = key["key"].as_str().expect("a key");
    let bodies = [unknown_members(8_000), json!({"emails": vec![1; 6_000]})];
    for body in bodies {
        for (method, target) in
            [("POST", "/users".to_owned()), ("PUT", path(&user)), ("PATCH", path(&user))]
        {
            let request = service.request(method, &target).bearer(key).json(&body);
            capped(request.send().await, 422, "invalid-user");
        }
    }
    for (method, target) in
        [("POST", "/groups".to_owned()), ("PUT", group_path(&group)), ("PATCH", group_path(&group))]
    {
        let request = service.request(method, &target).bearer(key).json(&unknown_members(45_000));
        capped(request.send().await, 422, "invalid-group");
    }
    let members: Map<_, _> = (0..1_000).map(|number| (format!("m{number}"), json!(1))).collect();
    let request = service.request("POST", "/keys").bearer(key).json(&Value::Object(members));
    capped(request.send().await, 422, "invalid-key");
}

pub(crate) async fn few_errors_are_all_listed_and_none_is_counted(backend: Backend) {
    let service = backend.open().await;
    let members: Map<_, _> = (0..32).map(|number| (format!("m{number}"), json!(1))).collect();
    let body = Value::Object(members);
    let body = service.post(body).await.refused(422, "invalid-user").json();
    // A username or an address is missing too, which makes 33.
    assert_eq!(body["more"], 1);
    let members: Map<_, _> = (0..31).map(|number| (format!("m{number}"), json!(1))).collect();
    let body = service.post(Value::Object(members)).await.refused(422, "invalid-user").json();
    assert_eq!((body["errors"].as_array().map(Vec::len), body.get("more")), (Some(32), None));
}

pub(crate) async fn a_query_of_more_than_64_parameters_is_one_error(backend: Backend) {
    let service = backend.open().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    let endless = "a&".repeat(8_000);
    for target in ["/", "/users", "/events", "/groups", "/deleted-users", "/docs", user.as_str()] {
        let reply = service.get(&format!("{target}?{endless}")).await;
        let body = reply.refused(400, "invalid-query").json();
        let errors = json!([{"parameter": "a", "code": "too-many",
            "detail": "give at most 64 query parameters"}]);
        assert_eq!(body["errors"], errors, "{target}");
        assert_eq!(body.get("more"), None);
    }
    let target = format!("/users?{}", "a&".repeat(64));
    let request = service.request("POST", &target).json(&json!({"username": "grace"}));
    capped(request.send().await, 400, "invalid-query");
    capped(service.get(&target).await, 400, "invalid-query");
    capped(service.get(&format!("/?{}", "a&".repeat(64))).await, 400, "invalid-query");
    // A hundred ids are allowed.
    let ids = format!("id={}&", &user["/users/".len()..]).repeat(100);
    let found = service.get(&format!("/users?{ids}limit=5")).await.expect(200).json();
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
}

/// The size of the results of lines of 64 KiB with as many errors as possible.
async fn result_bytes(service: &Service, member: &str, lines: usize) -> usize {
    let members: Vec<String> =
        (0..).map(|number| format!("\"{member}{number}\":1")).take(4_500).collect();
    let line = format!("{{{}}}\n", members.join(","));
    assert!((32 * 1024..64 * 1024).contains(&line.len()), "{}", line.len());
    let reply = import_lines(service, line.repeat(lines)).await;
    let bytes = reply.text().len();
    for result in results_of(reply) {
        assert_eq!(result["problem"]["errors"].as_array().map(Vec::len), Some(32));
        assert_eq!(result["problem"]["more"], 4_500 + 1 - 32);
    }
    bytes
}

pub(crate) async fn a_result_on_a_line_lists_32_errors(backend: Backend) {
    let service = backend.open().await;
    let bytes = result_bytes(&service, "emial", 64).await;
    assert!(bytes < 64 * BYTES_MAX, "{bytes}");
}
