//! Users that leave as CSV and come back are the same.

use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use roster_core::json::write_json;
use roster_testkit::arbitrary::person;
use serde_json::{Value, json};

use super::{
    csv::{CSV, import, parsed},
    export, results_of, users,
};
use crate::service::{Backend, Service};

/// Texts that a spreadsheet, a splitter or a careless reader would change.
const TEXTS: [&str; 27] = [
    "=1+1",
    "+1",
    "-1",
    "@ada",
    "'=1",
    "''+x",
    "'",
    "''",
    "'plain",
    "\tindented",
    "\r",
    "\n",
    "\n=1+1",
    "a\r\nb",
    "=\"a\"\r\n,;\t",
    "\"",
    "\"quoted\"",
    "a,b;c\td",
    " leading",
    "trailing ",
    "true",
    "007",
    "1e5",
    "[1]",
    "{\"a\":1}",
    "\u{feff}marked",
    "NULL",
];

/// The users with these texts in many members.
fn people() -> Vec<Value> {
    let mut people = vec![
        json!({"username": "full", "status": "suspended", "external_id": "=E 1",
            "name": "-Ada \"Countess\" King,", "given_name": "'Ada", "title": "+a\\b;",
            "email": "g@x.example", "email_verified": true,
            "emails": [{"value": "g@x.example", "type": "work", "primary": true, "display": "=G"},
                {"value": "h@b\u{fc}cher.example", "type": "home"}],
            "phone_numbers": [{"value": "+1 22", "type": "mobile"}, {"value": "33"}],
            "photos": [{"value": "https://x.example/a.png"}],
            "addresses": [{"formatted": "1 Way\r\nTown", "country": "FR", "primary": true},
                {"street_address": "2, \"Way\"", "locality": "@Town", "postal_code": "012"},
                {"region": "'"}],
            "roles": [{"value": "admin"}, {"value": "=x"}],
            "manager": {"id": "17", "display_name": "=M"},
            "locale": "fr-FR", "zoneinfo": "Europe/Paris",
            "attributes": {"badge": "=007", "level": -7, "share": 1.5, "remote": false,
                "since": "2026-01-02T03:04:05Z", "tags": ["a,b", "\"", "\r\n"],
                "n": 1e2, "big": 9_007_199_254_740_993_i64, "deep": {"a": [[1], {}], "": null}}}),
        json!({"email": "plain@x.example"}),
        json!({"username": "empty", "attributes": {"badge": "", "tags": [], "x": "", "y": {}}}),
    ];
    for (number, text) in TEXTS.iter().enumerate() {
        people.push(json!({"username": format!("t{number}"), "attributes":
            {"badge": text, "free": text, "tags": [text, text], "list": [text]}}));
        for name in ["name", "nickname", "title", "external_id", "department"] {
            people.push(json!({"username": format!("t{number} {name}"), name: text}));
        }
        people.push(json!({"username": text}));
        let address = json!([{"formatted": text, "type": "home"}, {"locality": text}]);
        people.push(json!({"username": format!("t{number} address"), "addresses": address}));
    }
    people
}

async fn declare(service: &Service) {
    let schema = json!({"attributes": [
        {"name": "badge", "type": "string"}, {"name": "level", "type": "integer"},
        {"name": "share", "type": "number"}, {"name": "remote", "type": "boolean"},
        {"name": "since", "type": "date_time"},
        {"name": "tags", "type": "string", "multi_valued": true},
    ]});
    service.request("PUT", "/schema").json(&schema).send().await.expect(200);
}

/// All users, without the members that an import sets itself.
async fn everybody(service: &Service) -> Vec<Value> {
    let mut all = users(export(service, "").await);
    for user in &mut all {
        let user = user.as_object_mut().expect("an object");
        for name in ["version", "created_at", "updated_at"] {
            assert!(user.remove(name).is_some(), "{name}");
        }
    }
    all
}

async fn rows(service: &Service, query: &str) -> String {
    let target = format!("/bulk/users{query}");
    let reply = service.request("GET", &target).header("accept", CSV).send().await.expect(200);
    reply.text().to_owned()
}

/// A service with the people of this file and random ones, as far as they are valid.
async fn filled(backend: &Backend) -> Service {
    let service = backend.open().await;
    declare(&service).await;
    let mut body: Vec<u8> = super::lines(&people()).into_bytes();
    let mut runner = TestRunner::deterministic();
    for number in 0..250 {
        let tree = person(number).new_tree(&mut runner).expect("a body").current();
        write_json(&mut body, &tree);
        body.push(b'\n');
    }
    let results = results_of(super::import(&service, "", body).await);
    for result in results.iter().take(3) {
        assert_eq!(result["status"], 201, "{result}");
    }
    let created = results.iter().filter(|one| one["status"] == 201).count();
    assert!(created > 250, "most of them are valid: {created} of {}", results.len());
    service
}

pub(crate) async fn users_that_leave_as_csv_come_back_unchanged(backend: Backend) {
    let (service, other) = (filled(&backend).await, backend.open().await);
    declare(&other).await;
    let text = rows(&service, "").await;
    let results = results_of(import(&other, "?keep_ids=true", text.clone()).await);
    for result in &results {
        assert_eq!(result["status"], 201, "{result}");
    }
    let (before, after) = (everybody(&service).await, everybody(&other).await);
    assert_eq!((before.len(), after.len()), (results.len(), results.len()));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    // Nothing in the file would be executed.
    let table = parsed(&text, ',');
    assert!(table.iter().all(|row| row.len() == table[0].len()));
    let begins = |cell: &String| cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    assert!(!table.iter().flatten().any(begins));
    // The same file replaces nothing.
    let again = results_of(import(&service, "?on_conflict=replace", text).await);
    let versions = users(export(&service, "").await);
    for (result, user) in again.iter().zip(&versions) {
        let results = (&result["status"], &result["id"]);
        assert_eq!(results, (&json!(200), &user["id"]), "{result}");
    }
    assert_eq!(everybody(&service).await, before);
}

pub(crate) async fn a_file_can_be_written_by_another_program(backend: Backend) {
    let (service, other) = (filled(&backend).await, backend.open().await);
    declare(&other).await;
    // Semicolons, every cell in quotation marks, LF, and the columns from right to left.
    let text = rows(&service, "").await;
    let mut file = String::from("\u{feff}");
    for row in parsed(&text, ',') {
        let cell = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let cells: Vec<String> = row.iter().rev().map(cell).collect();
        file += &(cells.join(";") + "\n");
    }
    for result in results_of(import(&other, "?keep_ids=true", file).await) {
        assert_eq!(result["status"], 201, "{result}");
    }
    let (before, after) = (everybody(&service).await, everybody(&other).await);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
}
