//! The records of `roster-client`, compared with the OpenAPI description, and its retries.

use std::{
    fmt::Debug,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    process::Command,
    thread,
};

use futures_util::{StreamExt as _, TryStreamExt as _};
use roster_client::{
    Call, Caller, Client, Error, Event, Group, Key, Member, Method, Problem, Tenant, User, Webhook,
    Write,
};
use roster_testkit::process::Engine;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::runtime::Builder;

use super::Shell;

/// A value that a schema of the description allows, with all of its members.
fn sample(description: &Value, schema: &Value) -> Value {
    if let Some(place) = schema["$ref"].as_str() {
        let pointed = description.pointer(place.trim_start_matches('#')).unwrap();
        return sample(description, pointed);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|part| sample(description, part));
        let objects = parts.filter_map(|part| part.as_object().cloned());
        return objects.flatten().collect::<Map<_, _>>().into();
    }
    if let Some(members) = schema["properties"].as_object() {
        let members = members.iter().map(|(name, one)| (name.clone(), sample(description, one)));
        return members.collect::<Map<_, _>>().into();
    }
    if let Some(example) = schema.pointer("/examples/0").or_else(|| schema.pointer("/enum/0")) {
        return example.clone();
    }
    match schema["type"].as_str() {
        Some("array") => json!([sample(description, &schema["items"])]),
        Some("object") => json!({}),
        Some("boolean") => json!(true),
        Some("integer") => json!(7),
        _ => schema.get("const").cloned().unwrap_or_else(|| json!("text")),
    }
}

/// A record of the description is read without a member that the type lacks, and written back as
/// it was.
fn agrees<T: Debug + Serialize + DeserializeOwned>(description: &Value, schema: &str) {
    let schema = &description["components"]["schemas"][schema];
    let record = sample(description, schema);
    assert!(record.as_object().is_some_and(|record| record.len() > 1), "{record}");
    let read: T = serde_json::from_value(record.clone()).unwrap();
    let written = serde_json::to_value(&read).unwrap();
    assert_eq!(written, record);
    // What the type lacks would be in `other`.
    let shown = format!("{read:?}");
    assert_eq!(shown.matches("other: {}").count(), shown.matches("other: {").count(), "{shown}");
}

#[test]
fn the_records_are_those_of_the_description() {
    let shell = Shell::new(Engine::Sqlite);
    let description = shell.service.get("/openapi.json").body;
    agrees::<User>(&description, "User");
    agrees::<User>(&description, "DeletedUser");
    agrees::<Group>(&description, "Group");
    agrees::<Member>(&description, "Member");
    agrees::<Key>(&description, "KeyRevealed");
    agrees::<Tenant>(&description, "Tenant");
    agrees::<Webhook>(&description, "WebhookRevealed");
    agrees::<Event>(&description, "Event");
    agrees::<Caller>(&description, "Caller");
    shell.service.stop();
}

/// A server that gives these responses, one on each connection, and returns the requests.
fn server(responses: Vec<&'static str>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let mut requests = Vec::new();
        for response in responses {
            let (mut connection, _) = listener.accept().unwrap();
            let lines = BufReader::new(connection.try_clone().unwrap()).lines();
            let head = lines.map(Result::unwrap).take_while(|line| !line.is_empty());
            requests.push(head.collect::<Vec<_>>().join("\n"));
            connection.write_all(response.as_bytes()).unwrap();
        }
        requests
    });
    (url, serving)
}

const USER: &str = "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 124\r\n\r\n\
    {\"id\":\"01a1fb98-4b12-74db-aa79-777b1997ebb5\",\"version\":1,\"status\":\"active\",\
    \"username\":\"ada\",\"created_at\":\"\",\"updated_at\":\"\"}";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nConnection: close\r\n\
    Content-Type: application/problem+json\r\n\r\n{\"type\":\"\",\"title\":\"Busy\",\
    \"status\":503,\"code\":\"unavailable\",\"detail\":\"it may have happened\"}";

/// The request is sent again after a broken connection and a 503, with the same key; a request that
/// could happen twice is not.
#[test]
fn a_request_is_sent_again_only_if_that_is_safe() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (url, serving) = server(vec!["", BUSY, USER]);
    let client = Client::builder(&url).unwrap().build().unwrap();
    let created = runtime.block_on(client.users().create(&json!({"username": "ada"}))).unwrap();
    assert_eq!(created.username.as_deref(), Some("ada"));
    let requests = serving.join().unwrap();
    let key = |request: &str| {
        let line = request.lines().find(|line| line.starts_with("idempotency-key: \""));
        line.unwrap_or_else(|| panic!("{request}")).to_owned()
    };
    assert_eq!(requests.len(), 3);
    assert!(key(&requests[0]) == key(&requests[1]) && key(&requests[1]) == key(&requests[2]));
    // A key may be created by each attempt.
    let (url, serving) = server(vec![BUSY]);
    let client = Client::builder(&url).unwrap().credential("rst_secret").unwrap().build().unwrap();
    let refused = runtime.block_on(client.keys().create(&json!({"name": "x", "scopes": []})));
    let Err(Error::Problem(problem)) = refused else { panic!("{refused:?}") };
    let Problem { status, retry_after_s, .. } = *problem;
    assert_eq!((status, retry_after_s), (503, Some(0)));
    assert!(!format!("{client:?}").contains("secret"));
    assert!(serving.join().unwrap()[0].contains("authorization: Bearer rst_secret"));
    // A redirect is not followed: the key would go elsewhere.
    let moved = "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/users\r\nConnection: close\r\n\
                 Content-Length: 0\r\n\r\n";
    let (url, serving) = server(vec![moved]);
    let client = Client::builder(&url).unwrap().build().unwrap();
    let moved = runtime.block_on(client.users().delete("ada", &Write::default()));
    assert!(matches!(moved, Err(Error::Strange { .. })), "{moved:?}");
    serving.join().unwrap();
}

/// The end of the log is a position from the first response on, also if the connection then breaks
/// before an event comes.
#[test]
fn the_end_of_the_log_is_asked_for_once() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let page = "HTTP/1.1 200 OK\r\nConnection: close\r\nRoster-Position: 0123456789abcdef-7\r\n\
        Content-Type: application/json\r\n\r\n{\"items\":[],\"next_cursor\":null}";
    let over = "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\
        Content-Type: application/problem+json\r\n\r\n{\"type\":\"\",\"title\":\"No\",\
        \"status\":401,\"code\":\"unauthenticated\",\"detail\":\"no\"}";
    let (url, serving) = server(vec![page, "", over]);
    let client = Client::builder(&url).unwrap().build().unwrap();
    let mut events = Box::pin(client.follow(Some("latest"), &[]));
    let ended = runtime.block_on(events.next()).unwrap();
    assert!(matches!(ended, Err(Error::Problem(_))), "{ended:?}");
    let requests = serving.join().unwrap();
    let has = |part: &str| requests.iter().map(|it| it.contains(part)).collect::<Vec<_>>();
    assert_eq!(has("after=latest"), [true, false, false]);
    assert_eq!(has("after=0123456789abcdef-7"), [false, true, true]);
    // A wait could break off, and nobody would know the position.
    assert_eq!(has("wait="), [false, true, true]);
}

/// Without the position the same events would come again and again, as with a cursor.
#[test]
fn a_follower_without_a_position_ends() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let page = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"items\":[],\"next_cursor\":null}";
    let (url, serving) = server(vec![page]);
    let client = Client::builder(&url).unwrap().build().unwrap();
    let ended = runtime.block_on(Box::pin(client.follow(None, &[])).next());
    assert!(matches!(ended, Some(Err(Error::Strange { .. }))), "{ended:?}");
    let ended = runtime.block_on(Box::pin(client.follow(None, &[("cursor", "x")])).next());
    assert!(matches!(ended, Some(Err(Error::Request(_)))), "{ended:?}");
    assert_eq!(serving.join().unwrap().len(), 1);
}

/// A pause that is too long is the caller's decision.
#[test]
fn a_refusal_for_an_hour_is_returned_at_once() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let limited = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nConnection: close\r\n\
        Content-Type: application/problem+json\r\n\r\n{\"type\":\"\",\"title\":\"Slow\",\
        \"status\":429,\"code\":\"rate-limited\",\"detail\":\"wait\"}";
    let gone = "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\
        Content-Type: application/problem+json\r\nContent-Length: 70\r\n\r\n";
    let tried = "HTTP/1.1 204 No Content\r\nDry-Run: true\r\nConnection: close\r\n\r\n";
    let (url, serving) = server(vec![limited, gone, tried]);
    let client = Client::builder(&url).unwrap().build().unwrap();
    let refused = runtime.block_on(client.caller()).unwrap_err();
    assert_eq!(refused.problem().and_then(|problem| problem.retry_after_s), Some(3600));
    // The response to HEAD has no content.
    let refused = runtime.block_on(client.send(&Call::new(Method::HEAD, "users/x"))).unwrap_err();
    assert_eq!(refused.status(), Some(404), "{refused:?}");
    let write = Write { is_dry_run: true, ..Write::default() };
    let tried = runtime.block_on(client.users().patch("x", &json!({}), &write)).unwrap_err();
    assert!(tried.to_string().contains("the dry run found no error"), "{tried}");
    assert_eq!(serving.join().unwrap().len(), 3);
}

const CALLER: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"kind\":\"anonymous\",\
    \"actor\":\"anonymous\",\"scopes\":[],\"open\":true}";

/// The key would go to the proxy unencrypted, and the proxy cannot reach this machine.
#[test]
fn a_service_on_this_machine_is_asked_without_the_proxy_of_the_environment() {
    // Nobody listens there any more.
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy_url = format!("http://{proxy}");
    let (url, serving) = server(vec![CALLER]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(["whoami", "-o", "json", "--url", &url]).env_clear();
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
        command.env(name, &proxy_url);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(serving.join().unwrap()[0].starts_with("GET /caller "));
}

/// The same page again and again is no list.
#[test]
fn a_list_whose_next_page_is_the_same_page_fails() {
    let page = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\
        {\"items\":[],\"next_cursor\":\"same\"}";
    let (url, serving) = server(vec![page, page]);
    let client = Client::builder(&url).unwrap().build().unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let users = client.users();
    let all = runtime.block_on(users.list(&[]).try_collect::<Vec<_>>());
    assert!(matches!(all, Err(Error::Strange { .. })), "{all:?}");
    assert_eq!(serving.join().unwrap().len(), 2);
}
