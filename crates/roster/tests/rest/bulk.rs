//! `/bulk`: imports, exports, and changes of many users, one record per line.

pub(crate) mod change;
pub(crate) mod csv;
pub(crate) mod csv_names;
pub(crate) mod csv_reports;
pub(crate) mod csv_results;
pub(crate) mod csv_round_trip;
pub(crate) mod export;
pub(crate) mod export_types;
pub(crate) mod group_lines;
pub(crate) mod import;
pub(crate) mod intake;
pub(crate) mod on_conflict;
pub(crate) mod resume;
pub(crate) mod shut_out;
mod talk;

use serde_json::{Value, json};

use crate::{client::Reply, service::Service};

const NDJSON: &str = "application/x-ndjson";

/// Sends a complete stream of lines.
async fn import(service: &Service, query: &str, lines: impl Into<Vec<u8>>) -> Reply {
    let request = service.request("POST", &format!("/bulk/users{query}"));
    request.body(NDJSON, lines).send().await
}

/// Sends a complete stream of lines, for cases that are not about streams.
pub(crate) async fn import_lines(service: &Service, lines: String) -> Reply {
    import(service, "", lines).await
}

/// The results of a complete response. Checks the counts in its last line.
pub(crate) fn results_of(reply: Reply) -> Vec<Value> {
    let reply = reply.expect(200);
    assert_eq!(reply.header("content-type"), NDJSON);
    assert_eq!(reply.header("cache-control"), "private, no-cache");
    counted(reply.text().lines().map(read).collect())
}

/// Checks the last of these lines against the others, and removes it.
fn counted(mut lines: Vec<Value>) -> Vec<Value> {
    let done = lines.pop().expect("a last line");
    count_up(&lines);
    let count = |wanted: &dyn Fn(&Value) -> bool| lines.iter().filter(|line| wanted(line)).count();
    let expected = json!({
        "done": true,
        "lines": lines.len(),
        "created": count(&|line| line["status"] == 201),
        "replaced": count(&|line| line["status"] == 200 && line.get("skipped").is_none()),
        "skipped": count(&|line| line["skipped"] == true),
        "failed": count(&|line| line["status"].as_u64() >= Some(400)),
    });
    assert_eq!(done, expected);
    lines
}

/// Checks that each result says how many there are so far.
fn count_up(results: &[Value]) {
    for (number, result) in (1..).zip(results) {
        assert_eq!(result["processed"], number, "{result}");
    }
}

fn read(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|fault| panic!("{line}: {fault}"))
}

/// Users as lines.
fn lines(users: &[Value]) -> String {
    users.iter().flat_map(|user| [user.to_string(), "\n".to_owned()]).collect()
}

/// The whole collection as lines. They are the default, so `Accept` is left out.
async fn export(service: &Service, query: &str) -> Reply {
    service.get(&format!("/bulk/users{query}")).await
}

/// The users of a stream.
fn users(reply: Reply) -> Vec<Value> {
    let reply = reply.expect(200);
    assert_eq!(reply.header("content-type"), NDJSON);
    reply.text().lines().map(read).collect()
}
