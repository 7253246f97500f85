//! `roster users`.

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::Shell;

over_each_engine! {
    users_are_created_changed_and_listed,
    a_list_follows_all_pages,
    users_need_their_scopes,
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
