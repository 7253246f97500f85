//! CSV beside creation: patches, deletions, dry runs, corrected results, and the form of exports.

use serde_json::{Value, json};

use super::{
    csv::{CSV, file, import, names, parsed, table},
    results_of, users,
};
use crate::service::{Backend, Service, path};

fn id(user: &Value) -> &str {
    user["id"].as_str().expect("an id")
}

async fn with_users(backend: &Backend) -> (Service, Vec<Value>) {
    let service = backend.open().await;
    let mut users = Vec::new();
    for name in ["ada", "grace", "hedy"] {
        users.push(service.user(json!({"username": name, "nickname": "N"})).await);
    }
    (service, users)
}

/// The results of a response that is no import: line, status, and the version or the code.
fn short(text: &str) -> Vec<String> {
    let lines = text.lines().map(super::read);
    lines
        .map(|line| match line["problem"]["code"].as_str() {
            _ if line.get("done").is_some() => line.to_string(),
            Some(code) => format!("{} {} {code}", line["line"], line["status"]),
            None => format!("{} {} {}", line["line"], line["status"], line["version"]),
        })
        .collect()
}

/// Three rows of which the middle one has a version that the user no longer has.
fn versioned(users: &[Value], last: &str) -> String {
    let [ada, grace, hedy] = users else { panic!("{users:?}") };
    let (ada, grace, hedy) = (id(ada), id(grace), id(hedy));
    format!("id,version,{last}\r\n{ada},1,\r\n{grace},7,\r\n{hedy},,\r\nx,,\r\n,,\r\n")
}

pub(crate) async fn each_row_patches_the_user_that_it_names(backend: Backend) {
    let (service, all) = with_users(&backend).await;
    let text = versioned(&all, "title").replace(",\r\n", ",\"Dr.\"\r\n");
    let dry = file(&service, "PATCH", "?dry_run=true", text.clone()).send().await.expect(200);
    let first = json!({"columns": [{"column": "id", "member": "id"},
        {"column": "version", "member": "version"}, {"column": "title", "member": "title"}]});
    assert_eq!(super::read(dry.text().lines().next().expect("a line")), first);
    assert_eq!(users(super::export(&service, "?filter=title+pr").await), Vec::<Value>::new());
    let reply = file(&service, "PATCH", "", text.clone()).send().await.expect(200);
    let done = json!({"done": true, "lines": 5, "patched": 2, "unchanged": 0, "failed": 3});
    let expected = [
        "2 200 2",
        "3 412 version-mismatch",
        "4 200 2",
        "5 422 invalid-user",
        "6 422 invalid-user",
        &done.to_string(),
    ];
    assert_eq!(short(reply.text()), expected);
    let ada = service.get(&path(&all[0])).await.expect(200).json();
    // An empty cell leaves the member alone.
    assert_eq!((&ada["title"], &ada["nickname"]), (&json!("Dr."), &json!("N")));
    let rows = table(&service, "PATCH", "", text).await;
    let short: Vec<String> = rows[1..]
        .iter()
        .map(|row| format!("{} {} {} {}", row[5], row[3], row[4], row[6]))
        .collect();
    let expected = [
        "2 412 version-mismatch ",
        "3 412 version-mismatch ",
        "4 200  ",
        "5 422 invalid-value id",
        "6 422 required id",
    ];
    assert_eq!(short, expected);
    let twice = format!("id,title\n{},A\n", id(&all[0]));
    let by_query = file(&service, "PATCH", "?username=ada&confirm=1", twice).send().await;
    let faults = by_query.refused(400, "invalid-query").faults();
    assert!(faults.iter().all(|(_, code)| code == "conflicting-parameter"), "{faults:?}");
}

pub(crate) async fn each_row_deletes_the_user_that_it_names(backend: Backend) {
    let (service, all) = with_users(&backend).await;
    let text = versioned(&all, "Note");
    let unknown = file(&service, "DELETE", "", text.clone()).send().await;
    unknown.refused(422, "invalid-columns");
    let query = "?map=Note:&dry_run=true";
    let dry = file(&service, "DELETE", query, text.clone()).send().await.expect(200);
    let columns = super::read(dry.text().lines().next().expect("a line"));
    assert_eq!(columns["columns"][2], json!({"column": "Note", "member": null}));
    assert_eq!(names(&service).await.len(), 3);
    let rows = table(&service, "DELETE", "?map=Note:", text).await;
    let results: Vec<String> =
        rows[1..].iter().map(|row| format!("{} {} {}", row[5], row[3], row[4])).collect();
    let expected =
        ["2 204 ", "3 412 version-mismatch", "4 204 ", "5 422 invalid-value", "6 422 required"];
    assert_eq!(results, expected);
    assert_eq!(names(&service).await, ["grace"]);
    // A row has nothing but the user and its version.
    let more = format!("id,title\n{},Dr.\n", id(&all[1]));
    let more = file(&service, "DELETE", "", more).send().await.expect(200);
    let expected = json!({"done": true, "lines": 1, "deleted": 0, "failed": 1}).to_string();
    assert_eq!(short(more.text()), ["2 422 invalid-user", &expected]);
    let last = format!("id\n{}\n", id(&all[1]));
    let last = file(&service, "DELETE", "", last).send().await.expect(200);
    let expected = json!({"done": true, "lines": 1, "deleted": 1, "failed": 0}).to_string();
    assert_eq!(short(last.text()), ["2 204 2", &expected]);
}

pub(crate) async fn a_dry_run_of_csv_stores_nothing(backend: Backend) {
    let service = backend.open().await;
    let text = "userName,E-Mail\nada,a@x.org\nben,A@x.org\n";
    let query = "?dry_run=true&map=E-Mail:email";
    let reply = import(&service, query, text).await.expect(200);
    assert_eq!(reply.header("dry-run"), "true");
    let lines: Vec<Value> = reply.text().lines().map(super::read).collect();
    let columns = json!({"columns": [{"column": "userName", "member": "username"},
        {"column": "E-Mail", "member": "email"}]});
    assert_eq!((lines.len(), &lines[0]), (4, &columns));
    assert_eq!((&lines[1]["status"], &lines[2]["status"]), (&json!(201), &json!(409)));
    assert_eq!(lines[2]["problem"]["errors"][0]["column"], "E-Mail");
    let rows = table(&service, "POST", query, text).await;
    let statuses: Vec<&str> = rows.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(statuses, ["status", "201", "409"]);
    assert_eq!(service.head().await.position, 0);
}

/// Rows as a file.
fn written(rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
    let row = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\r\n";
    rows.iter().map(row).collect()
}

pub(crate) async fn a_table_of_results_can_be_corrected_and_sent_again(backend: Backend) {
    let service = backend.open().await;
    // A delimiter that would not be recognised is named again.
    let text = "sep=|\nusername|email\neve|bad,;\n";
    let reply = file(&service, "POST", "", text).header("accept", CSV).send().await.expect(200);
    let again = reply.text().to_owned();
    assert!(again.starts_with("sep=|\r\nusername|email|status|"), "{again}");
    let reply =
        file(&service, "POST", "", again.as_str()).header("accept", CSV).send().await.expect(200);
    assert_eq!(reply.text(), again);
    let text = "Login;email;title;phone_number;nickname\r\n\
        ada;bad;'=1+1;'+1 22;\"x;\"\"y\"\"\"\r\nben;b@x.org;''=1;+1 23;'\r\ncyd;worse;-;;''n\r\n";
    let query = "?map=Login:username";
    let reply = file(&service, "POST", query, text).header("accept", CSV).send().await.expect(200);
    // The delimiter is that of the file.
    let mut rows = parsed(reply.text(), ';');
    let statuses: Vec<&str> = rows.iter().map(|row| row[5].as_str()).collect();
    assert_eq!(statuses, ["status", "422", "201", "422"]);
    let header = [
        "Login",
        "email",
        "title",
        "phone_number",
        "nickname",
        "status",
        "code",
        "line",
        "column",
        "detail",
    ];
    assert_eq!(rows[0], header);
    // One of two is corrected; the table of its results has the same columns.
    rows.retain(|row| row[5] != "201");
    rows[1][1] = String::from("a@x.org");
    let mut rows = table(&service, "POST", query, written(&rows)).await;
    assert_eq!(rows[0], header);
    let statuses: Vec<&str> = rows.iter().map(|row| row[5].as_str()).collect();
    assert_eq!(statuses, ["status", "201", "422"]);
    rows.remove(1);
    rows[1][1] = String::new();
    let results = results_of(import(&service, query, written(&rows)).await);
    assert_eq!(results[0]["status"], 201, "{results:?}");
    let stored = users(super::export(&service, "").await);
    let members = ["username", "title", "phone_number", "nickname"];
    let values: Vec<[&str; 4]> = stored
        .iter()
        .map(|user| members.map(|name| user[name].as_str().unwrap_or_default()))
        .collect();
    // However often they were sent, the values are those of the first file.
    let expected = [
        ["ben", "'=1", "+1 23", "'"],
        ["ada", "=1+1", "+1 22", "x;\"y\""],
        ["cyd", "-", "", "''n"],
    ];
    assert_eq!(values, expected);
}

pub(crate) async fn an_export_has_a_column_for_each_member(backend: Backend) {
    let service = backend.open().await;
    let schema = json!({"attributes": [{"name": "badge", "type": "string"},
        {"name": "level", "type": "integer"}]});
    let odd = service.user(json!({"username": "odd", "attributes": {"level": "high"}})).await;
    service.request("PUT", "/schema").json(&schema).send().await.expect(200);
    let ada = service
        .user(json!({"username": "ada", "name": "=Ada, \"King\"", "email": "a@x.org",
            "emails": [{"value": "a@x.org", "primary": true}],
            "phone_numbers": [{"value": "+1 22", "type": "work", "primary": true}],
            "attributes": {"badge": "007", "level": 7, "deep": {"a": [1]}}}))
        .await;
    let ask = async |query: &str| {
        let target = format!("/bulk/users{query}");
        let reply = service.request("GET", &target).header("accept", CSV).send().await.expect(200);
        assert_eq!(reply.header("content-type"), "text/csv; charset=utf-8; header=present");
        assert_eq!(reply.header("vary"), "Accept, Accept-Encoding");
        assert_eq!(reply.header("cache-control"), "private, no-cache");
        assert!(reply.header("roster-position").ends_with("-3"));
        reply
    };
    let all = parsed(ask("").await.text(), ',');
    let schema = service.get("/schema").await.expect(200).json();
    let members = schema["members"].as_array().expect("members").iter();
    let mut header: Vec<String> =
        members.map(|member| member["name"].as_str().expect("a name").to_owned()).collect();
    let last = header.iter().position(|name| name == "attributes").expect("attributes");
    let after = header.split_off(last + 1);
    header.extend(["badge", "level"].map(|name| format!("attributes.{name}")));
    header.extend(after);
    assert_eq!(all[0], header);
    let cell = |row: usize, name: &str| {
        let column = header.iter().position(|known| known == name).expect("a column");
        all[row][column].as_str()
    };
    assert_eq!((all.len(), cell(1, "id"), cell(2, "id")), (3, id(&odd), id(&ada)));
    for (name, value) in [
        ("version", "1"),
        ("username", "ada"),
        ("name", "'=Ada, \"King\""),
        ("email", "a@x.org"),
        // The short form says it all.
        ("emails", ""),
        ("phone_number", "'+1 22"),
        ("phone_numbers", "[{\"value\":\"+1 22\",\"type\":\"work\",\"primary\":true}]"),
        ("title", ""),
        ("attributes", "{\"deep\":{\"a\":[1]}}"),
        ("attributes.badge", "007"),
        ("attributes.level", "7"),
    ] {
        assert_eq!(cell(2, name), value, "{name}");
    }
    // A value that was stored before its declaration keeps its type.
    assert_eq!((cell(1, "attributes"), cell(1, "attributes.level")), ("{\"level\":\"high\"}", ""));
    let some = ask("?fields=email,username&username=ada").await;
    let expected = format!("id,version,username,email\r\n{},1,ada,a@x.org\r\n", id(&ada));
    assert_eq!(some.text(), expected);
    let limited = parsed(ask("?fields=attributes&limit=1").await.text(), ',');
    let header = ["id", "version", "attributes", "attributes.badge", "attributes.level"];
    assert_eq!((limited.len(), &limited[0][..]), (2, &header.map(str::to_owned)[..]));
    let nobody = ask("?fields=username&status=suspended").await;
    assert_eq!(nobody.text(), "id,version,username\r\n");
    let head = service.request("HEAD", "/bulk/users").header("accept", CSV).send().await;
    let head = head.expect(200);
    assert_eq!(head.header("content-type"), "text/csv; charset=utf-8; header=present");
    for accept in ["text/*", "text/html, text/csv", "application/x-ndjson;q=0.1, text/csv;q=0.2"] {
        let request = service.request("GET", "/bulk/users?limit=1").header("accept", accept);
        let reply = request.send().await.expect(200);
        assert!(reply.header("content-type").starts_with("text/csv;"), "{accept}");
    }
    for target in ["/bulk/groups", "/bulk/deleted-users", "/users"] {
        let other = service.request("GET", target).header("accept", CSV).send().await;
        other.refused(406, "not-acceptable");
    }
}
