//! `roster users`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::{Shell, rows};

over_each_engine! {
    users_are_created_changed_and_listed,
    a_list_follows_all_pages,
    users_need_their_scopes,
    a_user_is_deleted_restored_and_purged,
    a_user_is_replaced_by_a_file,
    a_history_shows_old_and_new_values,
    a_change_is_undone,
    a_request_that_changed_users_twice_is_undone,
    what_others_changed_since_is_not_undone,
    an_undo_restores_the_flag_of_an_address,
    a_tenant_has_users_events_and_imports_of_its_own,
}

fn users_are_created_changed_and_listed(engine: Engine) {
    let shell = Shell::new(engine);
    let ada = ["users", "create", "username=ada", "email=ada@example.com", "department=Engines"];
    let created = shell.run(&ada);
    assert!(created.err.contains("created user 01"), "{created:?}");
    created.succeeded();
    shell.run(&ada).failed(6, &["username=ada: choose another", "email=ada@example.com: "]);
    shell.run(&["users", "create", "ada@b.c"]).failed(2, &["email=ada@b.c"]);
    shell.run(&["users", "create", "username=x", "emial=y"]).failed(2, &["emial=y: did you mean"]);
    for name in ["ada", "ADA", "ada@example.com", "Ada@Example.com"] {
        let user = shell.run(&["users", "get", name, "-o", "json"]).json();
        assert_eq!((&user["username"], &user["version"]), (&json!("ada"), &json!(1)), "{name}");
        let id = user["id"].as_str().unwrap();
        assert_eq!(shell.run(&["users", "get", id, "-o", "json"]).json(), user);
    }
    shell.run(&["users", "get", "bob"]).failed(5, &["no user is called bob"]);
    let next = format!(
        "next: roster users list bob --url {0}; roster deleted-users list --url {0}",
        shell.url()
    );
    shell.run(&["users", "get", "bob", "--url", &shell.url()]).failed(5, &[&next]);
    let set = shell.ok(&["users", "set", "ada", "title=Dr", "department="]);
    let rows: Vec<Vec<&str>> = set.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["ada:", "version", "1", "->", "2"]);
    assert!(rows.contains(&vec!["department", "Engines", "(none)"]), "{set}");
    assert!(rows.contains(&vec!["title", "(none)", "Dr"]), "{set}");
    assert!(shell.ok(&["users", "set", "ada", "title=Dr"]).contains("nothing to change"));
    let dry = shell.run(&["users", "set", "ada", "title=Prof", "--dry-run"]);
    assert!(dry.err.contains("nothing was changed") && dry.out.contains("Prof"), "{dry:?}");
    let stale = shell.run(&["users", "set", "ada", "title=X", "--if-version", "1"]);
    stale.failed(6, &["version 2"]);
    shell.run(&["users", "set", "ada", "email=x"]).failed(2, &["email=x: write an address"]);
    let csv = shell.ok(&["users", "list", "-o", "csv", "--columns", "username,title,version"]);
    assert_eq!(csv, "username,title,version\nada,Dr,2\n");
    shell.service.stop();
}

/// (go-pagerduty#492, okta-cli-client#26, stormpath-cli#14)
fn a_list_follows_all_pages(engine: Engine) {
    let shell = Shell::new(engine);
    let lines: Vec<String> =
        (0..1234).map(|number| json!({"username": format!("u{number:04}")}).to_string()).collect();
    shell.service.ask("POST", "/bulk/users", &lines.join("\n"));
    let names = shell.ok(&["users", "list", "--sort", "username", "--columns", "username"]);
    let expected: Vec<String> = (0..1234).map(|number| format!("u{number:04}")).collect();
    let listed: Vec<&str> = names.lines().skip(1).collect();
    assert!(listed == expected, "{} users", listed.len());
    let all = shell.run(&["users", "list", "-o", "json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 1234);
    // A reader that has enough is no error (B2_Command_Line_Tool#1071, xan#759, diom#1285).
    let mut list = shell.command(&["users", "list", "-o", "ndjson"]);
    list.env("ROSTER_URL", shell.url()).stdout(Stdio::piped());
    let mut list = list.stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(list.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"id\""), "{first}");
    let ended = list.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(0), &b""[..]));
    let limited = shell.run(&["users", "list", "-o", "ndjson", "--limit", "501"]);
    assert_eq!(limited.out.lines().count(), 501);
    assert!(limited.err.contains("there are more users"), "{limited:?}");
    let none = shell.run(&["users", "list", "--filter", r#"username eq "nobody""#, "-o", "json"]);
    assert_eq!((&*none.out, none.err.contains("no users")), ("[]\n", true));
    shell.run(&["users", "list", "--filter", "username eq"]).failed(2, &["--filter: "]);
    shell.service.stop();
}

fn users_need_their_scopes(engine: Engine) {
    let shell = Shell::new(engine);
    shell.needs("users:write", &["users", "create", "username=ada"]);
    shell.needs("users:read", &["users", "list"]);
    shell.needs("users:read", &["users", "get", "ada"]);
    shell.needs("users:read,users:write", &["users", "set", "ada", "title=Dr"]);
    shell.service.stop();
}

fn a_user_is_deleted_restored_and_purged(engine: Engine) {
    let shell = Shell::new(engine);
    for name in ["ada", "grace", "mary"] {
        shell.ok(&["users", "create", &format!("username={name}")]);
    }
    let names = || shell.ok(&["users", "list", "--columns", "username", "--sort", "username"]);
    let dry = shell.run(&["users", "delete", "ada", "grace", "--dry-run"]);
    assert_eq!(dry.succeeded(), "ada: would be deleted\ngrace: would be deleted\n");
    // More than one needs an answer.
    shell
        .run(&["users", "delete", "ada", "grace"])
        .failed(2, &["Delete 2 users: ada, grace?", "--yes"]);
    shell.run(&["users", "delete", "ada", "nobody"]).failed(5, &["nobody"]);
    assert_eq!(names(), "USERNAME\nada\ngrace\nmary\n");
    let deleted = shell.run(&["users", "delete", "ada", "grace", "--yes"]);
    assert!(deleted.err.contains("--groups"), "{deleted:?}");
    assert_eq!(
        (deleted.succeeded(), names()),
        ("ada: deleted\ngrace: deleted\n".to_owned(), "USERNAME\nmary\n".to_owned(),)
    );
    assert_eq!(shell.ok(&["users", "restore", "ada", "ada"]), "ada: restored\n");
    shell.run(&["users", "restore", "ada"]).failed(5, &["no deleted user is called ada"]);
    shell.run(&["users", "purge", "grace"]).failed(2, &["Erase grace permanently", "--yes"]);
    assert_eq!(shell.ok(&["users", "purge", "grace", "--yes"]), "grace: purged\n");
    shell.run(&["users", "restore", "grace"]).failed(5, &[]);
    assert_eq!(names(), "USERNAME\nada\nmary\n");
    shell.service.stop();
}

fn a_user_is_replaced_by_a_file(engine: Engine) {
    let shell = Shell::new(engine);
    let file = shell.file("bob.json", r#"{"username":"bob","attributes":{"a":"1"}}"#);
    let create = ["users", "create", "-f", file.to_str().unwrap(), "attributes.b=2", "-o", "json"];
    assert_eq!(shell.run(&create).json()["attributes"], json!({"a": "1", "b": "2"}));
    shell.ok(&["users", "create", "username=ada", "title=Dr", "nickname=Ada"]);
    let record = shell.ok(&["users", "get", "ada", "-o", "json"]);
    let file = shell.file("ada.json", &record.replace("Dr", "Prof").replace("nickname", "name"));
    let file = file.to_str().unwrap();
    let replaced = shell.ok(&["users", "replace", "ada", "-f", file]);
    assert!(replaced.starts_with("ada: version 1 -> 2\n"), "{replaced}");
    // The version in the file is old now.
    shell.run(&["users", "replace", "ada", "-f", file]).failed(6, &["version 2"]);
    let user = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    assert_eq!((&user["title"], &user["name"]), (&json!("Prof"), &json!("Ada")));
    assert!(user.get("nickname").is_none());
    for text in ["", "[1]", "{\"username\":"] {
        let file = shell.file("wrong.json", text);
        let ran = shell.run(&["users", "replace", "ada", "-f", file.to_str().unwrap()]);
        ran.failed(2, &["wrong.json"]);
    }
    shell.service.stop();
}

fn a_history_shows_old_and_new_values(engine: Engine) {
    let shell = Shell::new(engine);
    shell.ok(&["users", "create", "username=ada", "department=Sales"]);
    shell.ok(&["users", "set", "ada", "department=Engines", "title=Dr"]);
    shell.ok(&["users", "set", "ada", "title="]);
    let all = ["users", "history", "ada", "-o", "csv", "--columns", "type,member,before,after"];
    assert_eq!(
        shell.ok(&all),
        "type,member,before,after\n\
         user.updated,title,Dr,\n\
         user.updated,title,,Dr\n\
         user.updated,department,Sales,Engines\n\
         user.created,status,,active\n\
         user.created,username,,ada\n\
         user.created,department,,Sales\n"
    );
    let one = [&all[..], &["--member", "department", "--limit", "1"]].concat();
    let one = shell.needs("users:read,events:read", &one);
    assert_eq!(one, "type,member,before,after\nuser.updated,department,Sales,Engines\n");
    // The log names a key by its id, and the caller may know its name.
    shell.operate(&["users", "set", "ada", "title=Dame"]).succeeded();
    let who = shell.operate(&["users", "history", "ada", "--member", "title", "--limit", "1"]);
    assert!(who.succeeded().contains("(operator)"));
    // A limit counts what is shown: the event of the create has three rows.
    let two = shell.operate(&["users", "history", "ada", "-o", "ndjson", "--limit", "6"]);
    assert_eq!(two.succeeded().lines().count(), 6);
    shell.run(&["users", "history", "ada", "--limit", "0"]).failed(2, &["1.."]);
    let user = shell.operate(&["users", "get", "ada", "-o", "json"]);
    let user: serde_json::Value = serde_json::from_str(&user.succeeded()).unwrap();
    shell.operate(&["users", "delete", "ada"]).succeeded();
    let ran = shell.operate(&["users", "history", "ada", "--limit", "1"]);
    assert!(ran.out.contains("user.deleted"), "{ran:?}");
    // Of a purged user the log has the changes without values.
    shell.operate(&["users", "purge", "ada", "--yes"]).succeeded();
    let id = user["id"].as_str().unwrap();
    let ran = shell.operate(&["users", "history", id, "--limit", "1"]);
    assert!(ran.out.contains("user.purged"), "{ran:?}");
    shell.operate(&["users", "history", "ada"]).failed(5, &["ada"]);
    shell.service.stop();
}

fn a_change_is_undone(engine: Engine) {
    let shell = Shell::new(engine);
    shell.ok(&["users", "create", "username=ada", "title=Dr", "email=ada@example.com"]);
    let before = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    let set = ["users", "set", "ada", "title=", "email=king@example.com", "attributes.team=core"];
    let url = shell.url();
    let ran = shell.run(&[&set[..], &["--url", &url]].concat());
    // It asks the same service.
    let id = before["id"].as_str().unwrap();
    let undo = format!("undo: roster undo {id} --if-version 2 --url {url}");
    assert!(ran.err.contains(&undo), "{ran:?}");
    let dry = shell.run(&["undo", "ada", "--dry-run"]);
    assert!(dry.out.contains("ada@example.com") && dry.err.contains("nothing was"), "{dry:?}");
    let other = ["undo", "ada", "--if-version", "1"];
    shell.run(&other).failed(6, &["ada was changed since version 1"]);
    shell.ok(&["undo", "ada", "--if-version", "2"]);
    let mut after = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    assert_eq!(after["version"], 3);
    after["version"] = json!(1);
    after["updated_at"] = before["updated_at"].clone();
    assert_eq!(after, before);
    // Parts of a member get their values of before, and new ones go.
    shell.ok(&["users", "set", "ada", "attributes.role=user", "manager:={\"id\":\"m1\"}"]);
    let before = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    let boss = r#"manager:={"id":"m2","display_name":"Boss"}"#;
    shell.ok(&["users", "set", "ada", "attributes.role=admin", "attributes.sudo:=true", boss]);
    shell.ok(&["undo", "ada"]);
    let after = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    for member in ["attributes", "manager"] {
        assert_eq!(after[member], before[member], "{member}");
    }
    // A deletion is undone with the groups, and what was done is no data for programs.
    shell.ok(&["groups", "create", "Core"]);
    shell.ok(&["groups", "members", "add", "Core", "ada"]);
    let deleted = shell.run(&["users", "delete", "ada", "-o", "json"]);
    assert!(deleted.err.contains("ada: deleted"), "{deleted:?}");
    assert_eq!(deleted.succeeded(), "");
    assert_eq!(shell.ok(&["undo", "ada"]), "ada: restored\n");
    let members = || shell.ok(&["groups", "members", "Core", "--columns", "username"]);
    assert_eq!(members(), "USERNAME\nada\n");
    shell.ok(&["users", "delete", "ada"]);
    shell.ok(&["users", "restore", "ada", "--groups"]);
    assert_eq!(members(), "USERNAME\nada\n");
    // The undo of a creation deletes the user.
    shell.ok(&["users", "create", "username=grace"]);
    shell.run(&["undo", "grace"]).failed(2, &["Delete grace", "--yes"]);
    assert_eq!(shell.ok(&["undo", "grace", "--yes"]), "grace: deleted\n");
    shell.run(&["undo", "nobody"]).failed(5, &["nobody"]);
    shell.needs("users:read,users:write,events:read", &["undo", "ada"]);
    shell.service.stop();
}

/// Changes users under one request id, and returns the command that undoes it.
fn changed_by_one_request(shell: &Shell, changes: &[(&str, &str)]) -> Vec<String> {
    let after = shell.run(&["events", "-o", "json", "--limit", "1"]).json();
    for (path, body) in changes {
        let answer = shell.service.ask_with("X-Request-Id: twice\r\n", "PATCH", path, body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let after = after[0]["id"].as_str().unwrap();
    ["undo", "--after", after, "--request", "twice", "--yes"].map(str::to_owned).to_vec()
}

fn a_request_that_changed_users_twice_is_undone(engine: Engine) {
    let shell = Shell::new(engine);
    let ada = shell.service.create(r#"{"username":"ada","title":"zero"}"#);
    let bob = shell.service.create(r#"{"username":"bob"}"#);
    let changes = [(&*ada, r#"{"title":"one","name":"Ada"}"#), (&*ada, r#"{"title":"two"}"#)];
    let undo = changed_by_one_request(&shell, &changes);
    let undo: Vec<&str> = undo.iter().map(String::as_str).collect();
    // A dry run shows the same as the undo.
    let dry = shell.run(&[&undo[..], &["--dry-run"]].concat()).succeeded();
    let done = shell.ok(&undo);
    assert_eq!(rows(&dry), rows(&done));
    for row in [
        ["ada:", "version", "3", "->", "4"].as_slice(),
        &["title", "two", "one"],
        &["ada:", "version", "4", "->", "5"],
        &["title", "one", "zero"],
        &["name", "Ada", "(none)"],
    ] {
        assert!(rows(&done).contains(&row.to_vec()), "{row:?}: {done}");
    }
    let ran = shell.run(&undo);
    assert_eq!((ran.status, &*ran.out), (7, ""), "{ran:?}");
    assert!(ran.err.contains("2 of 2 are undone already"), "{ran:?}");
    // One user took the name that another one gave up.
    let changes = [
        (&*ada, r#"{"username":"x"}"#),
        (&*bob, r#"{"username":"ada"}"#),
        (&*ada, r#"{"username":"bob"}"#),
    ];
    let undo = changed_by_one_request(&shell, &changes);
    shell.ok(&undo.iter().map(String::as_str).collect::<Vec<_>>());
    for (path, name) in [(&ada, "ada"), (&bob, "bob")] {
        assert_eq!(shell.service.get(path).body["username"], json!(name));
    }
    shell.service.stop();
}

fn what_others_changed_since_is_not_undone(engine: Engine) {
    let shell = Shell::new(engine);
    let ada = shell.service.create(r#"{"username":"ada","title":"zero"}"#);
    let changes = [(&*ada, r#"{"title":"one"}"#)];
    let undo = changed_by_one_request(&shell, &changes);
    shell.ok(&["users", "set", "ada", "title=other"]);
    changed_by_one_request(&shell, &[(&*ada, r#"{"title":"two"}"#)]);
    let undo: Vec<&str> = undo.iter().map(String::as_str).collect();
    let ran = shell.run(&undo);
    assert_eq!(ran.status, 7, "{ran:?}");
    assert!(rows(&ran.out).contains(&vec!["title", "two", "other"]), "{ran:?}");
    assert!(ran.err.contains("1 of 2 are undone already"), "{ran:?}");
    assert_eq!(shell.service.get(&ada).body["title"], json!("other"));
    shell.service.stop();
}

fn an_undo_restores_the_flag_of_an_address(engine: Engine) {
    let shell = Shell::new(engine);
    let get = || shell.run(&["users", "get", "ada", "-o", "json"]).json();
    let is_same = |change: &[&str]| {
        let before = get();
        shell.ok(&[&["users", "set", "ada"], change].concat());
        shell.ok(&["undo", "ada"]);
        let after = get();
        for member in ["email", "email_verified", "phone_number", "phone_number_verified"] {
            assert_eq!(after[member], before[member], "{member} {change:?}");
        }
    };
    shell.ok(&["users", "create", "username=ada"]);
    is_same(&["email=ada@example.com", "phone_number=+44 20 7946"]);
    shell.ok(&["users", "delete", "ada"]);
    let values = ["email=ada@example.com", "phone_number=+44 20 7946"];
    shell.ok(&[&["users", "create", "username=ada"], &values[..]].concat());
    let others = ["email=king@example.com", "phone_number=+44 20 7947"];
    for flag in ["null", "false", "true"] {
        let flags = ["email_verified", "phone_number_verified"].map(|name| (name, flag));
        let flags = flags.map(|(name, flag)| format!("{name}:={flag}"));
        shell.ok(&["users", "set", "ada", &flags[0], &flags[1]]);
        is_same(&["email=", "phone_number="]);
        is_same(&others);
        // The flags of before are those of after too.
        is_same(&[&others[..], &[&flags[0], &flags[1]]].concat());
    }
    shell.service.stop();
}

fn a_tenant_has_users_events_and_imports_of_its_own(engine: Engine) {
    let shell = Shell::new(engine);
    shell.operate(&["tenants", "create", "acme"]).succeeded();
    shell.operate(&["users", "create", "username=ada", "title=outside"]).succeeded();
    let inside = |arguments: &[&str]| shell.operate(&[arguments, &["--tenant", "acme"]].concat());
    inside(&["users", "create", "username=ada"]).succeeded();
    inside(&["users", "set", "ada", "title=Dr"]).succeeded();
    assert!(inside(&["users", "history", "ada", "--limit", "1"]).succeeded().contains("Dr"));
    inside(&["undo", "ada"]).succeeded();
    shell.file("people.csv", "username,email\ngrace,grace@example.com\nmary,mary\n");
    inside(&["import", "people.csv"]).failed(7, &["1 created", "1 failed", "line 3: email"]);
    let set = ["users", "suspend", "--filter", "username eq \"grace\"", "--yes"];
    assert_eq!(inside(&set).succeeded(), "changed 1 user\n");
    inside(&["export", "acme.csv", "--fields", "username,status"]).succeeded();
    let exported = fs::read_to_string(shell.home.path().join("acme.csv")).unwrap();
    let rows: Vec<&str> = exported.lines().skip(1).map(|row| row.split_at(37).1).collect();
    assert_eq!(rows, ["3,active,ada", "2,suspended,grace"]);
    let events = ["events", "-o", "csv", "--columns", "type,name", "--type", "user.*"];
    assert_eq!(
        inside(&events).succeeded(),
        "type,name\nuser.created,ada\nuser.updated,ada\nuser.updated,ada\n\
         user.created,grace\nuser.updated,grace\n"
    );
    inside(&["users", "delete", "ada", "grace", "--yes"]).succeeded();
    inside(&["users", "restore", "ada"]).succeeded();
    inside(&["users", "purge", "grace", "--yes"]).succeeded();
    assert!(inside(&["users", "list"]).succeeded().contains("ada"));
    let outside = shell.operate(&["users", "list", "-o", "csv", "--columns", "username,title"]);
    assert_eq!(outside.succeeded(), "username,title\nada,outside\n");
    // The key of a tenant reaches that tenant alone.
    let create = ["keys", "create", "of-acme", "--scope", "users:read"];
    let key = inside(&create).succeeded();
    let key = shell.file("acme.key", &key);
    let key = key.to_str().unwrap();
    let list = ["users", "list", "--key-file", key];
    shell.run(&list).failed(4, &[]);
    assert!(shell.ok(&[&list[..], &["--tenant", "acme"]].concat()).contains("ada"));
    shell.run(&[&list[..], &["--tenant", "globex"]].concat()).failed(5, &["roster tenants list"]);
    shell.service.stop();
}
