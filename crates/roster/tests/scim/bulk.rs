//! Bulk over the wire (RFC 7644 section 3.7).

use std::time::{Duration, Instant};

use roster_http::AdmissionSettings;
use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, Setup},
    store::Fault,
    support::{ENTERPRISE_URN, create, get, named, read, refused, send, with},
};

const REQUEST: &str = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const RESPONSE: &str = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";

async fn bulk(service: &Service, operations: Value, more: Value) -> Reply {
    let body = with(json!({"schemas": [REQUEST], "Operations": operations}), more);
    send(service, "POST", "/Bulk", &body).send().await
}

/// The result of each operation of a request that succeeds.
async fn executed(service: &Service, operations: Value, more: Value) -> Vec<Value> {
    let body = bulk(service, operations, more).await.expect(200).json();
    assert_eq!(body["schemas"], json!([RESPONSE]));
    body["Operations"].as_array().expect("operations").clone()
}

fn post(name: &str) -> Value {
    json!({"method": "POST", "path": "/Users", "bulkId": name, "data": named(name)})
}

fn statuses(results: &[Value]) -> Vec<&str> {
    results.iter().map(|result| result["status"].as_str().expect("a status is a text")).collect()
}

/// The path of a resource below the base path of SCIM.
fn path_of(location: &Value) -> String {
    let location = location.as_str().expect("a location");
    location.split_once("/scim/v2").expect("a URL of SCIM").1.to_owned()
}

pub(crate) async fn b1_each_operation_has_its_own_result(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let (id, location) = (ada["id"].as_str().expect("an id"), &ada["meta"]["location"]);
    let at = format!("/Users/{id}");
    let patch = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "replace", "path": "title", "value": "Countess"}]});
    let results = executed(
        &service,
        json!([
            post("grace"), post("ADA"),
            {"method": "PATCH", "path": at, "version": "W/\"1\"", "data": patch},
            {"method": "PUT", "path": at, "version": "W/\"1\"", "data": named("ada")},
            {"method": "PUT", "path": at, "data": with(named("ada"), json!({"title": "Lady"}))},
            {"method": "DELETE", "path": at},
            {"method": "DELETE", "path": at},
            {"method": "DELETE", "path": "/Devices/x"}]),
        json!({}),
    )
    .await;
    assert_eq!(statuses(&results), ["201", "409", "200", "412", "200", "204", "404", "404"]);
    assert_eq!(results[0]["bulkId"], "grace");
    assert_eq!(read(&service, &path_of(&results[0]["location"])).await["userName"], "grace");
    assert_eq!(results[1].get("location"), None);
    assert_eq!(results[1]["response"]["scimType"], "uniqueness");
    assert_eq!(results[1]["response"]["status"], "409");
    assert_eq!((&results[2]["location"], &results[2]["version"]), (location, &json!("W/\"2\"")));
    assert_eq!(results[4]["version"], "W/\"3\"");
    for done in &results[3..7] {
        assert_eq!(&done["location"], location);
    }
    refused(get(&service, &at).await, 404, None);
}

pub(crate) async fn b1_references_are_resolved_in_any_order(backend: Backend) {
    let service = backend.open().await;
    let managed = |name: &str, by: &str| {
        let manager = json!({"manager": {"value": format!("bulkId:{by}")}});
        let mut operation = post(name);
        operation["data"][ENTERPRISE_URN] = manager;
        operation
    };
    let results = executed(
        &service,
        json!([managed("ada", "grace"), post("grace"), managed("a", "b"), managed("b", "a"),
            managed("c", "nobody"),
            {"method": "PATCH", "path": "/Users/bulkId:grace",
                "data": {"Operations": [{"op": "add", "path": "title", "value": "Admiral"}]}}]),
        json!({}),
    )
    .await;
    assert_eq!(statuses(&results), ["201", "201", "409", "409", "400", "200"]);
    let ada = read(&service, &path_of(&results[0]["location"])).await;
    let grace = read(&service, &path_of(&results[1]["location"])).await;
    assert_eq!(ada[ENTERPRISE_URN]["manager"]["value"], grace["id"]);
    assert_eq!(grace["title"], "Admiral");
}

pub(crate) async fn b1_a_group_is_created_with_users_of_the_same_request(backend: Backend) {
    let service = backend.open().await;
    let group = json!({"method": "POST", "path": "/Groups", "bulkId": "g",
        "data": {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
            "displayName": "Engines", "members": [{"value": "bulkId:ada"}]}});
    let member = json!([{"value": "bulkId:grace"}]);
    let join = json!({"method": "PATCH", "path": "/Groups/bulkId:g",
        "data": {"Operations": [{"op": "add", "path": "members", "value": member}]}});
    let results =
        executed(&service, json!([group, post("ada"), post("grace"), join]), json!({})).await;
    // As a single request, a PATCH of a group returns 204.
    assert_eq!(statuses(&results), ["201", "201", "201", "204"]);
    assert_eq!(
        (&results[0]["location"], &results[3]["version"]),
        (&results[3]["location"], &json!("W/\"2\""))
    );
    let at = path_of(&results[0]["location"]);
    let made = read(&service, &at).await;
    assert_eq!(made["members"].as_array().map(Vec::len), Some(2), "{made}");
    let leaves = json!({"method": "PATCH", "path": at, "data": {"Operations":
        [{"op": "remove", "path": "members[value eq \"bulkId:cid\"]"}]}});
    let joins = json!({"method": "PATCH", "path": format!("{at}/"), "data": {"Operations":
        [{"op": "add", "path": "members", "value": [{"value": "bulkId:cid"}]}]}});
    let results = executed(&service, json!([post("cid"), joins, leaves]), json!({})).await;
    assert_eq!(statuses(&results), ["201", "204", "204"]);
    assert_eq!(
        (&results[1]["version"], &results[2]["version"]),
        (&json!("W/\"3\""), &json!("W/\"4\""))
    );
    let unknown = json!([{"method": "PATCH", "path": at, "data": {"Operations":
        [{"op": "remove", "path": "members[value eq \"bulkId:nobody\"]"}]}}]);
    assert_eq!(statuses(&executed(&service, unknown, json!({})).await), ["400"]);
    let again = json!([{"method": "PUT", "path": at, "version": "W/\"1\"",
        "data": {"displayName": 42}}, {"method": "DELETE", "path": at},
        {"method": "DELETE", "path": at}]);
    assert_eq!(statuses(&executed(&service, again, json!({})).await), ["412", "204", "404"]);
}

pub(crate) async fn b1_fail_on_errors_skips_the_rest(backend: Backend) {
    let service = backend.open().await;
    let twice = |name: &str, bulk_id: &str| {
        let mut operation = post(name);
        operation["bulkId"] = json!(bulk_id);
        operation
    };
    let operations = json!([post("ada"), twice("ada", "x"), post("grace")]);
    let results = executed(&service, operations, json!({"failOnErrors": 1})).await;
    assert_eq!(statuses(&results), ["201", "409"]);
    let page = read(&service, "/Users?count=0").await;
    assert_eq!(page["totalResults"], 1);
}

pub(crate) async fn b2_a_request_beyond_a_limit_is_413_and_names_it(backend: Backend) {
    let service = backend.open().await;
    let config = read(&service, "/ServiceProviderConfig").await;
    assert_eq!(config["bulk"]["supported"], true);
    let most = config["bulk"]["maxOperations"].as_u64().expect("a number");
    let operations: Vec<Value> =
        (0..=most).map(|n| json!({"method": "DELETE", "path": format!("/Users/{n}")})).collect();
    let reply = refused(bulk(&service, json!(operations), json!({})).await, 413, None);
    assert!(reply.json()["detail"].as_str().expect("a detail").contains(&most.to_string()));
    let bytes = config["bulk"]["maxPayloadSize"].as_u64().expect("a number");
    let padding = "x".repeat(usize::try_from(bytes).expect("a size"));
    let reply = bulk(&service, json!([post("ada")]), json!({"padding": padding})).await;
    let reply = refused(reply, 413, None);
    assert!(reply.json()["detail"].as_str().expect("a detail").contains(&bytes.to_string()));
}

pub(crate) async fn a_malformed_bulk_request_changes_nothing(backend: Backend) {
    let service = backend.open().await;
    for operations in [
        json!([]),
        json!({}),
        json!([post("ada"), {"method": "QUERY", "path": "/Users"}]),
        json!([post("ada"), post("ada")]),
        json!([post("ada"), {"method": "PUT", "path": "/Users/x"}]),
    ] {
        refused(bulk(&service, operations, json!({})).await, 400, Some("invalidSyntax"));
    }
    assert_eq!(read(&service, "/Users?count=0").await["totalResults"], 0);
}

/// Sends a bulk request that creates many users, and runs `happens` once some of them exist.
/// Returns the results from the first error on; all operations before it created a user.
async fn while_it_runs<F: Future<Output = ()>>(
    service: &Service,
    key: Option<&str>,
    happens: impl FnOnce() -> F,
) -> Vec<Value> {
    let most = 1000;
    let names = (0..most).map(|n| format!("many{n}"));
    let operations: Vec<Value> = names.map(|name| post(&name)).collect();
    let body = json!({"schemas": [REQUEST], "Operations": operations});
    let request = send(service, "POST", "/Bulk", &body);
    let request = match key {
        Some(key) => request.bearer(key),
        None => request,
    };
    let before = service.head().await.live();
    let meanwhile = async {
        while service.head().await.live() < before + 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        happens().await;
    };
    let (reply, ()) = tokio::join!(request.send(), meanwhile);
    let results = reply.expect(200).json()["Operations"].as_array().expect("operations").clone();
    assert_eq!(results.len(), most, "each operation has a result");
    let done = statuses(&results).iter().take_while(|status| **status == "201").count();
    assert!(done < most, "the request ended too early");
    let there = service.head().await.live() - before;
    assert_eq!(there, i64::try_from(done).expect("a number"), "nothing else was created");
    results[done..].to_vec()
}

#[track_caller]
fn all_refused(results: &[Value], status: &str, word: &str) {
    for operation in results {
        assert_eq!(operation["status"], status, "{operation}");
        assert_eq!(operation["response"]["status"], status);
        assert_eq!(operation.get("location"), None);
        let detail = operation["response"]["detail"].as_str().expect("a detail");
        assert!(detail.contains(word), "{detail}");
    }
}

pub(crate) async fn a_key_revoked_during_a_bulk_request_stops_it(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let [key, other] = [service.new_key(&["scim"]).await, service.new_key(&["scim"]).await];
    let revoke = async || {
        let id = key["id"].as_str().expect("an id");
        service.delete(&format!("/keys/{id}")).await.expect(204);
    };
    let results = while_it_runs(&service, key["key"].as_str(), revoke).await;
    all_refused(&results, "401", "revoked");
    let again = send(&service, "POST", "/Bulk", &json!({"Operations": [post("grace")]}));
    let again = again.bearer(other["key"].as_str().expect("a key")).send().await.expect(200);
    assert_eq!(again.json()["Operations"][0]["status"], "201", "the other key still works");
}

pub(crate) async fn the_first_key_stops_a_bulk_request_without_a_credential(backend: Backend) {
    let service = backend.open().await;
    let close = async || drop(service.close().await);
    all_refused(&while_it_runs(&service, None, close).await, "401", "");
}

pub(crate) async fn a_bulk_request_fails_while_keys_cannot_be_read(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let key = service.new_key(&["scim"]).await;
    let fail = async || {
        service.store.fail(Fault::Hang);
        service.store.fail_keys(Fault::Unavailable);
        // The keys are cached for a second.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        service.store.fail(None);
    };
    let results = while_it_runs(&service, key["key"].as_str(), fail).await;
    service.store.fail_keys(None);
    all_refused(&results, "503", "");
}

pub(crate) async fn operations_beyond_the_rate_limit_are_429_each(backend: Backend) {
    let pressure = AdmissionSettings {
        rate_limit_per_s: 1,
        rate_limit_burst: 5,
        ..AdmissionSettings::default()
    };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let operations: Value = (0..100).map(|number| post(&format!("u{number}"))).collect();
    let began = Instant::now();
    let results = executed(&service, operations, json!({})).await;
    let created = statuses(&results).iter().filter(|status| **status == "201").count();
    // Five at once, including the request itself, and one more per second.
    let granted = 5 + usize::try_from(began.elapsed().as_secs()).expect("seconds") + 1;
    assert!((5..=granted).contains(&created), "{created}");
    assert!(
        statuses(&results).iter().all(|status| matches!(*status, "201" | "429")),
        "{results:?}"
    );
    let refused = results.last().expect("an operation");
    assert_eq!((&refused["status"], refused.get("location")), (&json!("429"), None));
    assert!(refused["response"]["detail"].as_str().is_some_and(|it| it.contains("quota")));
    assert_eq!(service.head().await.position, i64::try_from(created).expect("a few"));
}
