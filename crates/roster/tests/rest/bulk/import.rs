//! Imports: the result of each line.

use serde_json::{Value, json};

use super::{counted, export, import, on_conflict::outcomes, read, results_of, users};
use crate::{
    client::REQUEST_ID,
    service::{Backend, Service, Setup, path},
    transcript::Transcript,
};

/// The media types of the bodies of imports.
const TAKEN: &str = "application/x-ndjson, text/csv";

/// The result of a single request that creates a user.
async fn alone(service: &Service, line: &[u8]) -> (u16, Value) {
    let request = service.request("POST", "/users").body("application/json", line);
    let reply = request.send().await;
    // The result has the number of the line, so the error does not repeat it.
    let mut body = read(&reply.text().replace(" at line 1 column ", " at column "));
    body.as_object_mut().expect("an object").remove("request_id");
    (reply.status(), body)
}

/// Valid and invalid lines of every kind. The user named Ada must exist before.
pub(super) fn every_kind() -> Vec<Vec<u8>> {
    let certificates = vec![json!({"value": "A".repeat(8192)}); 7];
    let mut large = json!({"username": "large", "x509_certificates": certificates});
    // The largest possible line makes a record that is too large, because a record also has an id
    // and times.
    large["attributes"] = json!({"a": ""});
    large["attributes"]["a"] = json!("a".repeat(64 * 1024 - large.to_string().len()));
    let texts = [
        r#"{"username":"first","email":"first@x.org","name":"First","attributes":{"n":1e3}}"#,
        r#"{"username":"second""#,
        "username=second",
        r#"{"username":"second"} {}"#,
        "\u{feff}{\"username\":\"second\"}",
        r#"{"username":"second","username":"third"}"#,
        r#"{"username":"\ud800"}"#,
        r#"{"username":NaN}"#,
        r#"["second"]"#,
        "null",
        r#""second""#,
        "17",
        "{}",
        r#"{"name":"Nobody"}"#,
        r#"{"username":""}"#,
        r#"{"username":17}"#,
        r#"{"username":"a\u0000b"}"#,
        r#"{"username":"second","email":"second"}"#,
        r#"{"username":"second","nmae":"Second","emails":"second@x.org"}"#,
        r#"{"username":"second","password":"hunter2"}"#,
        r#"{"username":"second","email":"a@x.org","emails":[{"value":"b@x.org"}]}"#,
        r#"{"username":"ADA"}"#,
        r#"{"username":"second","email":"Ada@X.org"}"#,
        r#"{"username":"FIRST","email":"FIRST@x.org"}"#,
        r#"{"email":"first"}"#,
        r#"  {"username":"second","email":"second@x.org"}  "#,
        r#"{"id":"x","version":7,"created_at":"x","updated_at":null,"email":"third@x.org"}"#,
    ];
    let mut all: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    all.push(b"{\"username\":\"\xff\"}".to_vec());
    all.push(format!("{}{}", "[".repeat(65), "]".repeat(65)).into_bytes());
    all.push(large.to_string().into_bytes());
    all.push(br#"{"username":"last"}"#.to_vec());
    all
}

pub(crate) async fn a_line_has_the_result_of_a_single_request(backend: Backend) {
    let (one, other) = (backend.open().await, backend.open().await);
    let ada = json!({"username": "ada", "email": "ada@x.org"});
    let (mut created, mut refused) = (Vec::new(), 0);
    for service in [&one, &other] {
        service.user(ada.clone()).await;
    }
    let all = every_kind();
    let results = results_of(import(&one, "", all.join(&b'\n')).await);
    assert_eq!(results.len(), all.len());
    for (index, (line, result)) in all.iter().zip(&results).enumerate() {
        let text = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        assert_eq!(result["line"], index + 1);
        let (status, body) = alone(&other, line).await;
        assert_eq!(result["status"], status, "{text}: {result}");
        if status == 201 {
            let user = one.get(&path(result)).await.expect(200).json();
            created.push((user.clone(), body.clone()));
            let members = |user: &Value| {
                let mut members = user.clone();
                members.as_object_mut().expect("an object").remove("id");
                members
            };
            assert_eq!(members(&user), members(&body), "{text}");
        } else {
            assert_eq!(result["problem"], body, "{text}");
            refused += 1;
        }
    }
    assert_eq!((created.len(), refused), (4, all.len() - 4));
    assert_eq!(one.head().await.position, 5);
    assert_eq!(other.head().await.position, 5);
}

/// A rejected line in short: the status, the code, and the locations and codes of its errors.
fn named(result: &Value) -> String {
    let problem = &result["problem"];
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut short = format!("{} {}", result["status"], text(&problem["code"]));
    for fault in problem["errors"].as_array().map_or(&[][..], Vec::as_slice) {
        short += &format!(", {} {}", text(&fault["pointer"]), text(&fault["code"]));
    }
    short
}

pub(crate) async fn every_kind_of_bad_line_is_named(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada", "email": "ada@x.org"})).await;
    let results = results_of(import(&service, "", every_kind().join(&b'\n')).await);
    let refused: Vec<String> =
        results.iter().filter(|result| result["status"] != 201).map(named).collect();
    let mut expected = vec!["400 malformed-json"; 7];
    expected.extend(["422 invalid-user,  wrong-type"; 4]);
    expected.extend([
        "422 invalid-user, /username required",
        "422 invalid-user, /username required",
        "422 invalid-user, /username required",
        "422 invalid-user, /username wrong-type",
        "422 invalid-user, /username control-character",
        "422 invalid-user, /email invalid-email",
        "422 invalid-user, /nmae unknown-member, /emails wrong-type",
        "422 invalid-user, /password password-not-kept",
        "422 invalid-user, /email conflicting-short-form",
        "409 username-taken, /username username-taken",
        "409 email-taken, /email email-taken",
        "409 username-taken, /username username-taken, /email email-taken",
        "422 invalid-user, /email invalid-email",
        "400 malformed-json",
        "400 malformed-json",
        "422 invalid-user,  user-too-large",
    ]);
    assert_eq!(refused, expected);
    assert!(!results.iter().any(|result| result.to_string().contains("hunter2")));
}

pub(crate) async fn lines_end_in_every_usual_way(backend: Backend) {
    let rows: [(&str, &[u64]); 15] = [
        ("", &[]),
        ("\n", &[]),
        ("\r\n\r\n", &[]),
        ("A\n", &[1]),
        ("A", &[1]),
        ("A\nB", &[1, 2]),
        ("A\r\nB\r\n", &[1, 2]),
        ("A\r\nB", &[1, 2]),
        ("\nA\n\n\nB\n\n", &[2, 5]),
        ("\r\nA\r\n \t \r\nB", &[2, 4]),
        ("A\n   ", &[1]),
        ("  A  \nB\r", &[1, 2]),
        ("\u{feff}A\nB", &[1, 2]),
        ("\u{feff}\nA", &[2]),
        ("A\n\u{a0}\nB", &[1, 2, 3]),
    ];
    for (text, expected) in rows {
        let service = backend.open().await;
        let text = text.replace('A', r#"{"username":"a"}"#).replace('B', r#"{"username":"b"}"#);
        let results = results_of(import(&service, "", text.clone()).await);
        let numbers: Vec<u64> = results.iter().filter_map(|one| one["line"].as_u64()).collect();
        assert_eq!(numbers, expected, "{text:?}");
        let created = results.iter().filter(|one| one["status"] == 201).count();
        assert_eq!(created, text.matches("username").count(), "{text:?}");
    }
}

pub(crate) async fn a_line_has_at_most_64_kib_and_the_stream_any_length(backend: Backend) {
    let service = backend.open().await;
    let most = 64 * 1024;
    let padded = |name: &str, bytes: usize| {
        let user = json!({ "username": name }).to_string();
        format!("{user}{}", " ".repeat(bytes - user.len()))
    };
    let body = [
        padded("a", most),
        format!("{}\r", padded("b", most)),
        padded("c", most + 1),
        padded("d", 2 * 1024 * 1024),
        " ".repeat(most + 1),
        " ".repeat(most),
        padded("e", most),
    ];
    let results = results_of(import(&service, "", body.join("\n")).await);
    let statuses: Vec<(u64, u64)> = results
        .iter()
        .filter_map(|one| Some((one["line"].as_u64()?, one["status"].as_u64()?)))
        .collect();
    assert_eq!(statuses, [(1, 201), (2, 201), (3, 413), (4, 413), (5, 413), (7, 201)]);
    assert_eq!(results[2]["problem"]["code"], "body-too-large");
    assert!(results[2]["problem"]["detail"].as_str().is_some_and(|text| text.contains("65536")));
    assert_eq!(service.head().await.position, 3);
}

pub(crate) async fn results_come_in_the_order_of_many_lines(backend: Backend) {
    let service = backend.open().await;
    let line = |number: usize| match number % 7 {
        3 => "{".to_owned(),
        5 => json!({"username": format!("u{}", number - 1)}).to_string(),
        _ => json!({"username": format!("u{number}")}).to_string(),
    };
    let all: Vec<String> = (1..=900).map(line).collect();
    let results = results_of(import(&service, "", all.join("\n")).await);
    let expected = |number: usize| match number % 7 {
        3 => 400,
        5 => 409,
        _ => 201,
    };
    for (index, result) in results.iter().enumerate() {
        assert_eq!(
            (&result["line"], &result["status"]),
            (&json!(index + 1), &json!(expected(index + 1)))
        );
    }
    let ids: Vec<&Value> = results.iter().filter_map(|result| result.get("id")).collect();
    let kept = users(export(&service, "?fields=id").await);
    let kept_ids: Vec<&Value> = kept.iter().map(|user| &user["id"]).collect();
    assert_eq!(ids, kept_ids);
    // One event each, in the order of lines.
    let mut target = "/events?limit=1000".to_owned();
    let mut logged = Vec::new();
    for _ in 0..3 {
        let page = service.get(&target).await.expect(200).json();
        let items = page["items"].as_array().cloned().expect("items");
        assert!(items.iter().all(|event| event["requestid"] == REQUEST_ID));
        logged.extend(items.iter().map(|event| event["data"]["user"]["id"].clone()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        target = format!("/events?limit=1000&cursor={cursor}");
    }
    assert_eq!(logged.iter().collect::<Vec<_>>(), ids);
}

pub(crate) async fn a_line_alone_in_its_batch_keeps_its_order(backend: Backend) {
    // Two full batches, then one of a single line that depends on the line before it.
    for round in 0..8 {
        let service = backend.open().await;
        let line = |number: usize| json!({"username": format!("u{}", number.min(512))}).to_string();
        let all: Vec<String> = (1..=513).map(line).collect();
        let results = results_of(import(&service, "", all.join("\n")).await);
        let statuses = results.iter().map(|result| &result["status"]).collect::<Vec<_>>();
        assert_eq!(statuses[510..], [&json!(201), &json!(201), &json!(409)], "round {round}");
    }
}

pub(crate) async fn what_an_import_does_not_take_is_refused_before_its_first_line(
    backend: Backend,
) {
    let service = backend.open().await;
    let body = r#"{"username":"ada"}"#;
    let rows = [
        ("on_conflict=update", "on_conflict", "invalid-value"),
        ("on_conflict=", "on_conflict", "invalid-value"),
        ("on_conflict=SKIP", "on_conflict", "invalid-value"),
        ("dry_run=yes", "dry_run", "invalid-value"),
        ("dry_run=true&dry_run=true", "dry_run", "duplicate-parameter"),
        ("on_conflict=skip&on_conflict=skip", "on_conflict", "duplicate-parameter"),
        ("fields=id", "fields", "unknown-parameter"),
    ];
    for (query, parameter, code) in rows {
        let faults = import(&service, &format!("?{query}"), body).await;
        let faults = faults.refused(400, "invalid-query").faults();
        assert_eq!(faults, [(parameter.to_owned(), code.to_owned())], "{query}");
    }
    let both = import(&service, "?dry_run=1&on_conflict=1&x=1", body).await;
    assert_eq!(both.refused(400, "invalid-query").faults().len(), 3);
    let post = || service.request("POST", "/bulk/users");
    let utf16 = post().body("application/x-ndjson; charset=utf-16", body).send().await;
    assert_eq!(utf16.refused(415, "unsupported-media-type").header("accept"), TAKEN);
    let packed = post().header("content-encoding", "gzip").body(super::NDJSON, body).send().await;
    let packed = packed.refused(415, "unsupported-media-type");
    assert_eq!(packed.header("accept-encoding"), "identity");
    for accept in ["application/json", "text/*", "application/x-ndjson;q=0"] {
        let other = post().header("accept", accept).body(super::NDJSON, body).send().await;
        other.refused(406, "not-acceptable");
    }
    for other in ["application/ndjsonl", "application/json-lines", "application/json-seq"] {
        let other = post().body(other, body).send().await.refused(415, "unsupported-media-type");
        assert_eq!(other.header("accept"), TAKEN);
    }
    assert_eq!(service.head().await.position, 0);
    for (number, (media, accept)) in [
        ("application/x-ndjson; charset=utf-8", "*/*"),
        ("APPLICATION/X-NDJSON;Charset=\"UTF-8\"", "application/*;q=0.1"),
        ("application/x-ndjson", "application/x-ndjson, application/json"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({"username": format!("u{number}")}).to_string();
        let request = post().header("accept", accept).header("prefer", "return=minimal");
        let results = results_of(request.body(media, body).send().await);
        assert_eq!(outcomes(&results), ["201"], "{media}");
    }
}

pub(crate) async fn one_user_is_json_and_many_are_lines(backend: Backend) {
    let service = backend.open().await;
    let body = r#"{"username":"ada"}"#;
    for query in ["", "?on_conflict=skip", "?dry_run=true"] {
        for media_type in [
            super::NDJSON,
            "Application/X-NDJSON",
            "application/ndjson",
            "application/jsonl; charset=utf-8",
            "text/csv",
        ] {
            let one = service.request("POST", &format!("/users{query}")).body(media_type, body);
            let one = one.send().await.refused(415, "unsupported-media-type");
            assert_eq!(one.header("accept"), "application/json", "{media_type}");
            assert!(one.text().contains("POST /bulk/users"), "{media_type}: {}", one.text());
        }
        for media_type in ["application/json", "application/json; charset=utf-8", "text/plain"] {
            let target = format!("/bulk/users{query}");
            let many = service.request("POST", &target).body(media_type, body).send().await;
            let many = many.refused(415, "unsupported-media-type");
            assert_eq!(many.header("accept"), TAKEN, "{media_type}");
        }
        let bare = service.request("POST", &format!("/bulk/users{query}")).bytes(body);
        bare.send().await.refused(415, "unsupported-media-type");
    }
    assert_eq!(service.head().await.position, 0);
}

pub(crate) async fn results_below_a_base_path_link_to_its_pages(backend: Backend) {
    let base_url = "http://roster.test/v1";
    let service = backend.open_with(Setup { base_url, ..Setup::default() }).await;
    let request = service.request("POST", "/v1/bulk/users").body(super::NDJSON, "{}\n{\n");
    let results = results_of(request.send().await);
    for (result, code) in results.iter().zip(["invalid-user", "malformed-json"]) {
        assert_eq!(result["problem"]["type"], format!("{base_url}/problems/{code}"));
    }
    let request = service.get("/v1/bulk/users").await;
    assert_eq!(users(request), Vec::<Value>::new());
}

pub(crate) async fn responses_of_imports_and_exports(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let body = "{\"username\":\"ada\",\"email\":\"ada@x.org\"}\n\n{\"emial\":\"g@x.org\"}\n\
        {\"username\":\"ADA\"}\n{\"username\":\n";
    page.note("import", &import(&service, "", body).await);
    let body = "{\"username\":\"ada\",\"name\":\"Ada\"}\n{\"username\":\"grace\"}";
    page.note("import, dry", &import(&service, "?dry_run=true&on_conflict=skip", body).await);
    page.note("import, replacing", &import(&service, "?on_conflict=replace", body).await);
    page.note("import of nothing", &import(&service, "", "").await);
    let marked =
        service.request("POST", "/bulk/users?on_conflict=merge").header("idempotency-key", "k");
    page.note("import with a key", &marked.body(super::NDJSON, body).send().await);
    page.note("import, otherwise", &import(&service, "?on_conflict=update", body).await);
    page.note("export", &export(&service, "").await);
    page.note("export, cut", &export(&service, "?fields=name&filter=name+pr").await);
    page.note("export of nobody", &export(&service, "?status=suspended").await);
    page.note("export by pages", &export(&service, "?limit=5&sort=name&q=ada").await);
    let head = service.request("HEAD", "/bulk/users").send().await;
    page.note("export, head", &head);
    page.settle("bulk");
}

#[test]
fn a_miscounted_end_fails_the_suite() {
    let lines = vec![json!({"line": 1, "status": 201}), json!({"done": true, "lines": 2})];
    assert!(std::panic::catch_unwind(|| counted(lines)).is_err());
}

pub(crate) async fn a_line_of_an_export_with_a_script_for_a_url_is_rejected(backend: Backend) {
    let service = backend.open().await;
    let record = |url: &str| {
        json!({"id": "01a1f84a-963b-7c3e-9a41-5d2e8f604b17", "version": 3, "status": "active",
            "username": "ada", "profile": url, "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z"})
    };
    let scripts =
        ["javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "vbscript:x"];
    let lines: Vec<String> = scripts.iter().map(|url| record(url).to_string()).collect();
    for result in results_of(import(&service, "", lines.join("\n")).await) {
        assert_eq!(result["problem"]["errors"][0]["code"], "script-url", "{result}");
    }
    // Other invalid URLs were accepted from an identity provider, so an import takes them back.
    let line = format!("{}\n", record("ada.png"));
    assert_eq!(results_of(import(&service, "", line).await)[0]["status"], 201);
}
