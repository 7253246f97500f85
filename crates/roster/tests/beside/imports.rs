//! `roster import`: a new store from a file, the same as from requests to a service.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use roster_testkit::process::Process;
use serde_json::{Value, json};

use super::process::{roster, serve};

/// Lines for `roster import` and for a request. The last five are refused.
fn lines() -> String {
    let users = (0..300).map(|n| {
        let name = ["Ada Lovelace", "Grace Hopper", "Åsa Öberg", "李小龙"][n % 4];
        let mut user = json!({
            "id": format!("01a1fcd1-f719-710b-a55d-{:012x}", n + 4096 * (n / 150)),
            "username": format!("User{}", n * 7919 % 1000),
            "name": name,
            "family_name": name.split(' ').next_back(),
            "status": if n % 5 == 0 { "suspended" } else { "active" },
        });
        if n % 3 == 0 {
            let emails = json!([
                {"value": format!("u{n}@example.com"), "primary": true},
                {"value": format!("other{n}@example.org")},
            ]);
            user["emails"] = emails;
            user["phone_numbers"] = json!([{"value": format!("+4930{n:06}")}]);
            user["external_id"] = json!(format!("ext{}", n / 6));
            user["department"] = json!("Analysis");
        }
        if n % 7 == 0 {
            user["expires_at"] = json!(format!("2099-01-{:02}T00:00:00Z", n % 28 + 1));
        }
        user.to_string()
    });
    let id = "01a1fcd1-f719-710b-a55d-0000000000";
    let refused = [
        format!(r#"{{"id":"{id}f0","username":"USER0"}}"#),
        format!(r#"{{"id":"{id}f1","username":"another","email":"U0@example.com"}}"#),
        format!(r#"{{"id":"{id}05","username":"third"}}"#),
        format!(r#"{{"id":"{id}f3","username":"fourth","emial":"t@example.com"}}"#),
        r#"{"username": "#.to_owned(),
    ];
    let lines: Vec<String> = users.chain(refused).collect();
    // A blank line has a number and no result.
    lines.join("\n").replacen('\n', "\n\n", 1)
}

/// Without what depends on the time of the import.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            members.retain(|name, _| !matches!(&**name, "created_at" | "updated_at"));
            members.values_mut().for_each(|value| *value = timeless(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    value
}

/// What lists of each order, lookups, filters and searches return.
fn reads(service: &Process) -> Vec<(String, Value)> {
    let queries = [
        "/users?limit=500",
        "/users?limit=500&sort=username",
        "/users?limit=500&sort=-email",
        "/users?limit=500&sort=name",
        "/users?limit=500&sort=family_name",
        "/users?limit=500&sort=expires_at",
        "/users?status=suspended&limit=500",
        "/users?username=user919",
        "/users?email=u3@example.com",
        "/users?filter=emails.value%20eq%20%22other3@example.org%22",
        "/users?phone_number=%2B4930000003",
        "/users?external_id=ext5",
        "/users?q=Hopper&limit=500",
        "/users?q=%C3%B6berg&limit=500",
        "/users?filter=expires_at%20gt%20%222099-01-10T00:00:00Z%22&limit=500",
        "/users?filter=department%20eq%20%22Analysis%22&limit=500",
        "/users?limit=1&count=true",
        "/scim/v2/Users?filter=userName%20eq%20%22user919%22",
    ];
    let read = |query: &str| {
        let answer = service.get(query);
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        let found = answer.body["totalResults"].as_u64().unwrap_or_default();
        let items = answer.body["items"].as_array().map_or(0, Vec::len);
        assert!(found > 0 || items > 0, "{query} finds nobody");
        let mut body = timeless(answer.body);
        for member in ["next_cursor", "schemas", "Resources"] {
            if let Some(members) = body.as_object_mut() {
                members.remove(member);
            }
        }
        (query.to_owned(), body)
    };
    queries.into_iter().map(read).collect()
}

/// Starts an import from stdin that does not end.
fn unfinished(place: &Path, data: &str) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(["import", "--data", data, "-"]).current_dir(place).env_clear();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let input = child.stdin.as_mut().unwrap();
    // More than one chunk, so that the store has users.
    for n in 0..20_000 {
        writeln!(input, r#"{{"username":"user{n}"}}"#).unwrap();
    }
    child
}

#[test]
fn an_import_makes_the_store_that_a_request_makes() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("people.ndjson"), lines()).unwrap();
    let imported = roster(place, "import --data new --keep-ids people.ndjson");
    assert_eq!(imported.status, Some(7), "{imported:?}");
    let end = "new: 300 users; 5 lines were refused, see their results\n";
    assert!(imported.err.ends_with(end), "{imported:?}");
    let results = imported.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused: Vec<_> =
        results.map(|result| (result["line"].clone(), result["problem"]["code"].clone())).collect();
    let codes = [
        (302, "username-taken"),
        (303, "email-taken"),
        (304, "id-taken"),
        (305, "invalid-user"),
        (306, "malformed-json"),
    ];
    assert_eq!(refused, codes.map(|(line, code)| (json!(line), json!(code))));
    let told = roster(place, "check --data new").success();
    assert!(told.ends_with("all is well\n"), "{told}");

    let service = serve(place, "served");
    let sent = service.ask("POST", "/bulk/users?keep_ids=true", &lines());
    assert_eq!(sent.text.matches("\"status\":201").count(), 300, "{}", sent.text);
    let new = serve(place, "new");
    assert_eq!(reads(&new), reads(&service));
    let log = |service: &Process| service.get("/events?limit=1000").body["items"].clone();
    assert_eq!(log(&new).as_array().map(Vec::len), Some(300));
    let user = "/users/01a1fcd1-f719-710b-a55d-000000000003/events";
    assert_eq!(new.get(user).body["items"].as_array().map(Vec::len), Some(1));
    // The service writes to it as to any other.
    new.ask("POST", "/users", r#"{"username":"user0"}"#).must_be(409, "username-taken");
    new.create(r#"{"username":"later","name":"Ada King"}"#);
    assert_eq!(new.ask("DELETE", "/users/01a1fcd1-f719-710b-a55d-000000000003", "").status, 204);
    assert_eq!(new.get("/users?q=king").body["items"].as_array().map(Vec::len), Some(1));
    new.stop();
    service.stop();
    let told = roster(place, "check --data new").success();
    assert!(told.ends_with("all is well\n"), "{told}");
}

#[test]
fn an_import_reads_csv_and_maps_columns() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let rows = "id,Login,Mail,Shoes\n7,ada,ada@example.com,38\n8,grace,grace@example.com,40\n";
    fs::write(place.join("people.CSV"), rows).unwrap();
    let refused = roster(place, "import --data new people.CSV --map Login:username");
    assert_eq!((refused.status, &*refused.out), (Some(1), ""), "{refused:?}");
    assert!(refused.err.contains("\n  Shoes: --map COLUMN:MEMBER"), "{refused:?}");
    let words = "import --data new people.CSV --map Login:username --map Mail:email --map Shoes:";
    let imported = roster(place, words);
    assert_eq!((imported.status, &*imported.out), (Some(0), ""), "{imported:?}");
    let end = "note: ids that are not kept: 2; --keep-ids keeps them, --map id:external_id stores \
               them\nnew: 2 users\n";
    assert!(imported.err.ends_with(end), "{imported:?}");
    let service = serve(place, "new");
    let users = service.get("/users?email=grace@example.com").body;
    assert_eq!(users["items"][0]["username"], "grace");
    service.stop();
}

#[test]
fn settings_for_callers_of_a_service_do_not_matter() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("people.ndjson"), "{\"username\":\"ada\"}\n").unwrap();
    let settings = "first_key_file = \"key\"\nrequire_key = true\nrate_limit_per_s = 1\n\
                    jwt_issuer = \"https://id.example.com\"\njwt_audience = \"roster\"\n\
                    base_url = \"https://directory.example.com/v1\"\n";
    fs::write(place.join("roster.toml"), settings).unwrap();
    let imported = roster(place, "import --data new --config roster.toml people.ndjson");
    assert_eq!((imported.status, &*imported.out), (Some(0), ""), "{imported:?}");
    assert!(!place.join("key").exists());
}

#[test]
fn a_disk_without_room_leaves_no_database() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let people = (0..20_000).map(|n| format!("{{\"username\":\"user{n}\"}}\n"));
    fs::write(place.join("people.ndjson"), people.collect::<String>()).unwrap();
    // Files of at most 1 MiB.
    let script = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" import --data new people.ndjson";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_roster")]);
    let output = command.current_dir(place).env_clear().output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.ends_with("a line could not be stored, see its result: no database was made\n"),
        "{err}"
    );
    assert!(out.contains("\"status\":50"), "{out}");
    assert!(!place.join("new/roster.db").exists() && !place.join("new/loading").exists());
}

#[test]
fn what_cannot_be_imported_leaves_no_database() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("bad.ndjson"), "{\"emial\":\"a@example.com\"}\n").unwrap();
    fs::write(place.join("empty.ndjson"), "").unwrap();
    fs::write(place.join("bad.csv"), "Login\nada\n").unwrap();
    let refusals = [
        ("bad.ndjson", "no user could be created, so there is no new database"),
        ("empty.ndjson", "no user could be created, so there is no new database"),
        ("bad.csv", "Login"),
        ("none.ndjson", "none.ndjson cannot be read: No such file"),
        (".", ". is a directory"),
    ];
    for (file, text) in refusals {
        let said = roster(place, &format!("import --data new {file}"));
        assert_eq!(said.status, Some(1), "{file}: {said:?}");
        assert!(said.err.contains(text), "{file}: {said:?}");
        assert!(!place.join("new/roster.db").exists(), "{file}");
        assert!(!place.join("new/loading").exists(), "{file}");
    }
    serve(place, "served").stop();
    let before = fs::read(place.join("served/roster.db")).unwrap();
    let said = roster(place, "import --data served bad.ndjson").failure(1);
    assert!(said.contains("holds a database already: name another directory"), "{said}");
    assert_eq!(fs::read(place.join("served/roster.db")).unwrap(), before);
    // Without a directory a service is asked.
    let said = roster(place, "import bad.ndjson --url 127.0.0.1:1").failure(8);
    assert!(said.contains("127.0.0.1:1 cannot be reached"), "{said}");
}

#[test]
fn an_import_that_is_killed_leaves_no_database_and_the_next_one_begins_again() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("people.ndjson"), lines()).unwrap();
    for wait in [0, 50, 200, 400] {
        let mut killed = unfinished(place, "new");
        thread::sleep(Duration::from_millis(wait));
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(!place.join("new/roster.db").exists());
    }
    let mut running = unfinished(place, "new");
    while !place.join("new/loading/roster.db").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    let said = roster(place, "import --data new people.ndjson").failure(1);
    assert!(said.contains("another process holds"), "{said}");
    running.kill().unwrap();
    running.wait().unwrap();
    let imported = roster(place, "import --data new --keep-ids people.ndjson");
    assert_eq!(imported.status, Some(7), "{imported:?}");
    assert!(!place.join("new/loading").exists());
    let service = serve(place, "new");
    let count = service.get("/users?limit=1&count=true").body;
    assert_eq!(count["total"], 300, "{count}");
    service.stop();
}
