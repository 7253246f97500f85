//! The work of a write is bounded: a PATCH with a large product of operations, values and tests.

use serde_json::{Value, json};

use crate::{
    service::{Backend, Service},
    support::{at, create, named, read, refused, send, with},
};

const PATCH_URN: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// A user with many roles.
async fn user(service: &Service) -> Value {
    let roles: Vec<Value> =
        (0..400).map(|n| json!({"value": format!("role {n} {}", "x".repeat(60))})).collect();
    create(service, with(named("ada"), json!({"roles": roles}))).await
}

fn body(operations: &[Value]) -> Value {
    json!({"schemas": [PATCH_URN], "Operations": operations})
}

/// Operations that together need more comparisons than the engine makes, and are allowed.
fn long() -> Value {
    let path = |n: usize| format!("roles[value sw \"role {n} \"].display");
    let operation = |n: usize| json!({"op": "replace", "path": path(n), "value": "D"});
    body(&(0..50).map(operation).collect::<Vec<_>>())
}

fn displayed(user: &Value) -> usize {
    let roles = user["roles"].as_array().expect("roles");
    roles.iter().filter(|role| role["display"] == "D").count()
}

pub(crate) async fn a_patch_that_compares_too_much_is_refused_and_changes_nothing(
    backend: Backend,
) {
    let service = backend.open().await;
    let user = user(&service).await;
    let tests = vec!["value co \"y\""; 40].join(" or ");
    let remove = json!({"op": "remove", "path": format!("roles[{tests}]")});
    let mut operations = vec![json!({"op": "replace", "path": "title", "value": "changed"})];
    operations.extend(vec![remove; 700]);
    let request = send(&service, "PATCH", &at(&user), &body(&operations));
    refused(request.send().await, 400, Some("tooMany"));
    assert_eq!(read(&service, &at(&user)).await, user);
}

pub(crate) async fn a_long_patch_is_executed_once_and_can_be_sent_again(backend: Backend) {
    let service = backend.open().await;
    let user = user(&service).await;
    let before = service.head().await.position;
    let send =
        || send(&service, "PATCH", &at(&user), &long()).header("idempotency-key", "long").send();
    let first = send().await.expect(200).json();
    assert_eq!(displayed(&first), 50);
    assert_eq!(service.head().await.position, before + 1, "one event");
    assert_eq!(send().await.expect(200).json(), first);
    assert_eq!(service.head().await.position, before + 1, "a retry is no change");
    assert_eq!(read(&service, &at(&user)).await, first);
}

pub(crate) async fn a_long_patch_keeps_the_changes_that_others_make_meanwhile(backend: Backend) {
    let service = backend.open().await;
    let user = user(&service).await;
    let others = async {
        for n in 0..20 {
            let title = json!({"op": "replace", "path": "title", "value": format!("title {n}")});
            let request = send(&service, "PATCH", &at(&user), &body(&[title]));
            request.send().await.expect(200);
        }
    };
    let long = async {
        let request = send(&service, "PATCH", &at(&user), &long());
        request.send().await.status()
    };
    let (status, ()) = tokio::join!(long, others);
    let now = read(&service, &at(&user)).await;
    assert_eq!(now["title"], "title 19");
    // A record that never rests refuses a long patch.
    let expected = if status == 200 { 50 } else { 0 };
    assert!(status == 200 || status == 503, "{status}");
    assert_eq!(displayed(&now), expected);
}

pub(crate) async fn the_operations_of_a_bulk_share_their_comparisons(backend: Backend) {
    let service = backend.open().await;
    let user = user(&service).await;
    let path = at(&user);
    let one = json!({"method": "PATCH", "path": path, "data": long()});
    let urn = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
    let request = json!({"schemas": [urn], "Operations": vec![one; 20]});
    let done = send(&service, "POST", "/Bulk", &request).send().await.expect(200).json();
    let results = done["Operations"].as_array().expect("results");
    let count = |status: &str| results.iter().filter(|one| one["status"] == status).count();
    assert!(count("200") > 2 && count("400") > 2, "{done}");
    assert_eq!(count("200") + count("400"), 20);
    let last = results.last().expect("a result");
    assert_eq!(last["response"]["scimType"], "tooMany");
}
