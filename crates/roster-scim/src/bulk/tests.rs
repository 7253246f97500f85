//! Bulk requests against a simulated service.

use roster_core::{Json, json, json::write_json};

use super::*;
use crate::{ResourceType, ScimError, ScimType, Strictness, schema::ENTERPRISE_URN};

fn tree(text: &str) -> Json {
    json::read(text.as_bytes()).unwrap_or_else(|fault| panic!("{text}: {}", fault.detail))
}

fn written(tree: &Json) -> String {
    let mut out = Vec::new();
    write_json(&mut out, tree);
    String::from_utf8(out).expect("UTF-8")
}

fn request(operations: &str, more: &str) -> Result<BulkRequest, ScimError> {
    let body = format!(r#"{{"schemas":["{BULK_REQUEST_URN}"],{more}"Operations":[{operations}]}}"#);
    read(tree(&body), Strictness::Strict)
}

/// Executes a request against a service that rejects the name `bad` and numbers ids by step.
/// Returns the steps and the response.
fn execute(operations: &str, more: &str) -> (Vec<String>, Json) {
    let request = request(operations, more).unwrap_or_else(|error| panic!("{error:?}"));
    let mut run = Run::new(request, ResourceType::ALL);
    let mut steps = Vec::new();
    while let Some(step) = run.next_step() {
        let id = format!("id{}", steps.len() + 1);
        let (what, id, status) = match &step.act {
            Act::Create(data) => (format!("create {} {}", step.kind, written(data)), id, 201),
            Act::Replace(id, data) => (format!("replace {id} {}", written(data)), id.clone(), 200),
            Act::Patch(id, data) => (format!("patch {id} {}", written(data)), id.clone(), 200),
            Act::Delete(id) => (format!("delete {id}"), id.clone(), 204),
        };
        let bad = what.contains("bad");
        steps.push(what);
        if bad {
            let error = ScimError::new(ScimType::Uniqueness, "taken");
            run.refused(step, &error, None);
        } else {
            let location = format!("/{id}");
            let version = (status != 204).then(|| "W/\"1\"".to_owned());
            run.done(step, Done { status, id, location, version });
        }
    }
    (steps, run.response())
}

fn post(bulk_id: &str, path: &str, data: &str) -> String {
    format!(r#"{{"method":"POST","bulkId":"{bulk_id}","path":"{path}","data":{data}}}"#)
}

fn statuses(response: &Json) -> Vec<String> {
    let Some(Json::Array(results)) = response.member("Operations") else { panic!("no operations") };
    let status = |result: &Json| result.member("status").map(written).unwrap_or_default();
    results.iter().map(|result| status(result).trim_matches('"').to_owned()).collect()
}

#[test]
fn each_result_has_a_location_version_and_status() {
    let operations = format!(
        r#"{},{{"method":"PUT","path":"/Users/a","version":"W/\"4\"","data":{{"x":1}}}},
           {{"method":"patch","path":"Groups/b","data":{{}}}},
           {{"method":"DELETE","path":"/Users/c"}}"#,
        post("q", "/Users", r#"{"userName":"ada"}"#)
    );
    let (steps, response) = execute(&operations, "");
    let expected =
        [r#"create User {"userName":"ada"}"#, r#"replace a {"x":1}"#, "patch b {}", "delete c"];
    assert_eq!(steps, expected);
    let expected = concat!(
        r#"{"schemas":["urn:ietf:params:scim:api:messages:2.0:BulkResponse"],"Operations":["#,
        r#"{"method":"POST","bulkId":"q","location":"/id1","version":"W/\"1\"","status":"201"},"#,
        r#"{"method":"PUT","location":"/a","version":"W/\"1\"","status":"200"},"#,
        r#"{"method":"PATCH","location":"/b","version":"W/\"1\"","status":"200"},"#,
        r#"{"method":"DELETE","location":"/c","status":"204"}]}"#
    );
    assert_eq!(written(&response), expected);
}

#[test]
fn the_version_of_an_operation_is_passed_to_its_step() {
    let operations = r#"{"method":"DELETE","path":"/Users/c","version":"W/\"4\""}"#;
    let mut run = Run::new(request(operations, "").expect("a request"), ResourceType::ALL);
    let step = run.next_step().expect("a step");
    assert_eq!(step.version.as_deref(), Some("W/\"4\""));
}

#[test]
fn references_are_resolved_in_any_order() {
    let operations = format!(
        "{},{},{}",
        post("g", "/Groups", r#"{"members":[{"value":"bulkId:a"},{"value":"bulkId:b"}]}"#),
        post("a", "/Users", r#"{"userName":"a","x":{"manager":{"value":"bulkId:b"}}}"#),
        post("b", "/Users", r#"{"userName":"b"}"#),
    );
    let (steps, response) = execute(&operations, "");
    let expected = [
        r#"create User {"userName":"b"}"#,
        r#"create User {"userName":"a","x":{"manager":{"value":"id1"}}}"#,
        r#"create Group {"members":[{"value":"id2"},{"value":"id1"}]}"#,
    ];
    assert_eq!(steps, expected);
    assert_eq!(statuses(&response), ["201", "201", "201"]);
    let text = written(&response);
    assert!(text.find(r#""bulkId":"g""#) < text.find(r#""bulkId":"a""#), "{text}");
}

#[test]
fn an_operation_that_waits_is_not_overtaken() {
    let patch = |data: &str| format!(r#"{{"method":"PATCH","path":"/Groups/g","data":{data}}}"#);
    let operations = format!(
        "{},{},{},{}",
        patch(r#"{"members":"bulkId:a"}"#),
        patch(r#"{"replace":"x"}"#),
        post("b", "/Users", r#"{"userName":"b"}"#),
        post("a", "/Users", r#"{"userName":"a"}"#),
    );
    let (steps, response) = execute(&operations, "");
    let expected = [
        r#"create User {"userName":"a"}"#,
        r#"patch g {"members":"id1"}"#,
        r#"patch g {"replace":"x"}"#,
        r#"create User {"userName":"b"}"#,
    ];
    assert_eq!(steps, expected);
    assert_eq!(statuses(&response), ["200", "200", "201", "201"]);
}

#[test]
fn a_chain_of_references_runs_from_its_end_and_fails_in_linear_time() {
    let chain = |last: &str| {
        let refer = |at: usize, to: &str| {
            post(
                &format!("n{at}"),
                "/Groups",
                &format!(r#"{{"displayName":"{at}","members":"{to}"}}"#),
            )
        };
        let mut all: Vec<String> =
            (0..900).map(|at| refer(at, &format!("bulkId:n{}", at + 1))).collect();
        all.push(refer(900, last));
        all.join(",")
    };
    let (steps, response) = execute(&chain("x"), "");
    assert_eq!(steps.len(), 901);
    assert!(steps[0].contains(r#""displayName":"900""#), "{}", steps[0]);
    assert!(statuses(&response).iter().all(|status| *status == "201"));
    let (steps, response) = execute(&chain("bulkId:nobody"), "");
    assert!(steps.is_empty());
    assert_eq!(statuses(&response).len(), 901);
}

#[test]
fn a_text_is_a_reference_only_where_ids_are() {
    let urn = ENTERPRISE_URN;
    let free = r#"{"attributes":{"manager":"bulkId:nobody"},"urn:x:User":{"members":"bulkId:no"},
        "urn:x:User:manager":"bulkId:no"}"#;
    let cases = [
        (r#"{"Operations":[{"path":"Members","value":[{"value":"bulkId:a"}]}]}"#, true),
        (r#"{"op":"remove","path":"members[value eq \"bulkId:a\"]"}"#, true),
        (r#"{"path":"displayName","value":"bulkId:a"}"#, false),
        (&format!(r#"{{"path":"{urn}:manager.value","value":"bulkId:a"}}"#), true),
        (&format!(r#"{{"path":"{urn}.manager","value":"bulkId:a"}}"#), true),
        (&format!(r#"{{"{urn}.manager":{{"value":"bulkId:a"}}}}"#), true),
        (&format!(r#"{{"{urn}":{{"manager":{{"$ref":"bulkId:a"}}}}}}"#), true),
        (r#"{"roles":["bulkId:a"]}"#, false),
        (&free.replace(['\n', ' '], ""), false),
    ];
    let user = r#"{"userName":"bulkId:a","title":"bulkId:nobody"}"#;
    let patch = |(data, _): &(&str, bool)| {
        format!(r#"{{"method":"PATCH","path":"/Groups/g","data":{data}}}"#)
    };
    let operations: Vec<String> =
        [post("a", "/Users", user)].into_iter().chain(cases.iter().map(patch)).collect();
    let (steps, _) = execute(&operations.join(","), "");
    assert_eq!(steps[0], format!("create User {user}"));
    for ((data, has_ids), step) in cases.iter().zip(&steps[1..]) {
        let data = if *has_ids { data.replace("bulkId:a", "id1") } else { (*data).to_owned() };
        assert_eq!(*step, format!("patch g {data}"));
    }
}

#[test]
fn a_path_may_refer_to_what_was_created() {
    let operations = format!(
        r#"{{"method":"PATCH","path":"/Users/bulkId:a","data":{{"y":1}}}},{}"#,
        post("a", "/Users", r#"{"userName":"a"}"#)
    );
    let (steps, _) = execute(&operations, "");
    assert_eq!(steps, [r#"create User {"userName":"a"}"#, r#"patch id1 {"y":1}"#]);
}

#[test]
fn operations_that_wait_for_each_other_are_a_conflict() {
    let operations = format!(
        "{},{},{},{}",
        post("a", "/Users", r#"{"manager":"bulkId:b"}"#),
        post("b", "/Users", r#"{"manager":"bulkId:a"}"#),
        post("c", "/Users", r#"{"manager":"bulkId:c"}"#),
        post("d", "/Users", r#"{"userName":"d"}"#),
    );
    let (steps, response) = execute(&operations, "");
    assert_eq!(steps, [r#"create User {"userName":"d"}"#]);
    assert_eq!(statuses(&response), ["409", "409", "409", "201"]);
}

#[test]
fn references_to_nothing_or_to_a_failure_fail() {
    let operations = format!(
        "{},{},{}",
        post("a", "/Users", r#"{"manager":"bulkId:nobody"}"#),
        post("b", "/Users", r#"{"userName":"bad"}"#),
        post("c", "/Users", r#"{"manager":"bulkId:b"}"#),
    );
    let (steps, response) = execute(&operations, "");
    assert_eq!(steps, [r#"create User {"userName":"bad"}"#]);
    assert_eq!(statuses(&response), ["400", "409", "409"]);
    let text = written(&response);
    assert!(text.contains(r#""scimType":"uniqueness""#), "{text}");
    assert!(
        text.contains(r#""response":{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"]"#)
    );
}

#[test]
fn after_too_many_failures_the_rest_is_not_executed() {
    let one = |name: &str, user: &str| post(name, "/Users", &format!(r#"{{"u":"{user}"}}"#));
    let operations =
        [one("a", "x"), one("b", "bad"), one("c", "y"), one("d", "bad"), one("e", "z")];
    let (steps, response) = execute(&operations.join(","), r#""failOnErrors":2,"#);
    assert_eq!(steps.len(), 4);
    assert_eq!(statuses(&response), ["201", "409", "201", "409"]);
    let (steps, _) = execute(&operations.join(","), r#""failOnErrors":1,"#);
    assert_eq!(steps.len(), 2);
    for without_end in ["", r#""failOnErrors":0,"#] {
        assert_eq!(execute(&operations.join(","), without_end).0.len(), 5);
    }
}

#[test]
fn an_operation_with_an_invalid_path_fails_alone() {
    let operations = r#"{"method":"PUT","path":"/Users","data":{}},
        {"method":"POST","bulkId":"a","path":"/Users/x","data":{}},
        {"method":"DELETE","path":"/Devices/x"},{"method":"DELETE","path":"/Users/x/y"},
        {"method":"DELETE","path":"/Users/"},{"method":"GET","path":"/Users/x"},
        {"method":"DELETE","path":"/Users/x"}"#;
    let (steps, response) = execute(operations, "");
    assert_eq!(steps, ["delete x"]);
    assert_eq!(statuses(&response), ["405", "405", "404", "404", "405", "405", "204"]);
}

#[test]
fn an_operation_whose_path_has_a_query_fails_alone() {
    let operations = format!(
        r#"{},{{"method":"PATCH","path":"/Users/x?attributes=title","data":{{}}}},
        {{"method":"DELETE","path":"/Users/bulkId:a?x"}},{{"method":"DELETE","path":"/Users/x"}}"#,
        post("a", "/Users?attributes=title", "{}")
    );
    let (steps, response) = execute(&operations, "");
    assert_eq!(steps, ["delete x"]);
    assert_eq!(statuses(&response), ["400", "400", "400", "204"]);
    assert_eq!(written(&response).matches("takes no query").count(), 3);
}

#[test]
fn a_malformed_request_executes_nothing() {
    for operations in [
        "",
        "7",
        "{}",
        r#"{"method":"QUERY","path":"/Users"}"#,
        r#"{"method":"DELETE"}"#,
        r#"{"method":"DELETE","path":7}"#,
        r#"{"method":"PUT","path":"/Users/x"}"#,
        r#"{"method":"POST","path":"/Users","data":{}}"#,
        r#"{"method":"POST","bulkId":"","path":"/Users","data":{}}"#,
        &format!("{0},{0}", post("a", "/Users", "{}")),
        &post(&"x".repeat(257), "/Users", "{}"),
    ] {
        let error = request(operations, "").expect_err(operations);
        assert_eq!(error.scim_type, Some(ScimType::InvalidSyntax), "{operations}");
    }
    for more in [r#""failOnErrors":-1,"#, r#""failOnErrors":"1","#] {
        assert!(request(r#"{"method":"DELETE","path":"/Users/x"}"#, more).is_err(), "{more}");
    }
    let without_urn = r#"{"Operations":[{"method":"POST","path":"/Users","data":{}}]}"#;
    assert!(read(tree(without_urn), Strictness::Strict).is_err());
    assert!(read(tree(without_urn), Strictness::Tolerant).is_ok());
}

#[test]
fn too_many_operations_are_rejected() {
    let operations = vec![r#"{"method":"DELETE","path":"/Users/x"}"#; 1001].join(",");
    let error = request(&operations, "").expect_err("too many");
    assert_eq!((error.status, error.scim_type), (413, None));
    assert!(error.detail.contains("1000") && error.detail.contains("maxOperations"));
}
