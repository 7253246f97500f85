//! `roster schema`.

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::{Shell, rows, run};

over_each_engine! {
    declarations_are_added_changed_and_removed,
    a_schema_comes_from_a_file,
    values_that_users_share_are_told,
    the_schema_needs_its_scopes,
}

fn declarations_are_added_changed_and_removed(engine: Engine) {
    let shell = Shell::new(engine);
    assert!(shell.run(&["schema", "get"]).err.contains("version 1 of the schema declares no"));
    let set = [
        "schema",
        "set",
        "attributes.badge.type=string",
        "attributes.badge.unique=true",
        "attributes.tags=string",
        "indexed_members=department,title",
    ];
    let dry = shell.run(&[&set[..], &["--dry-run"]].concat());
    assert!(dry.err.contains("nothing was changed"), "{dry:?}");
    let real = shell.ok(&set);
    assert_eq!(dry.out, real);
    let changes = rows(&real);
    assert_eq!(changes[0], ["schema:", "version", "1", "->", "2"]);
    for change in [
        vec!["indexed_members", "(none)", "department,title"],
        vec!["attributes.badge.unique", "(none)", "true"],
        vec!["attributes.tags.type", "(none)", "string"],
    ] {
        assert!(changes.contains(&change), "{change:?}: {real}");
    }
    shell
        .run(&["users", "create", "username=ada", "attributes.badge:=7"])
        .failed(2, &["attributes.badge:=7: send a string"]);
    let listed = ["schema", "get", "--columns", "member,type,unique", "-o", "csv"];
    let rows = "department,string,\nattributes.badge,string,true\nattributes.tags,string,false\n";
    assert!(shell.ok(&listed).contains(rows), "{}", shell.ok(&listed));
    assert!(shell.ok(&["schema", "get", "--all"]).contains("username"));

    let change = ["schema", "set", "attributes.tags=", "attributes.badge.description=Its number"];
    shell.run(&[&change[..], &["--if-version", "1"]].concat()).failed(6, &["version 2"]);
    let schema = shell.run(&[&change[..], &["-o", "json"]].concat()).json();
    assert_eq!(schema["attributes"].as_array().unwrap().len(), 1);
    assert_eq!(schema["attributes"][0]["description"], json!("Its number"));
    assert!(shell.ok(&["schema", "set", "indexed_members=department,title"]).contains("nothing"));
    for (word, why) in [
        ("attributes.badge.type=text", "attributes.badge.type: send one of string"),
        ("attributes.badge.size=1", "attributes.badge.size: "),
        ("attributes.nobody=", "attributes.nobody is not declared"),
        ("badge=string", "roster schema set attributes.badge.type=string"),
        ("badge", "badge is no MEMBER=VALUE"),
        ("attributes.size", "roster schema set attributes.size.type=string declares size"),
    ] {
        shell.run(&["schema", "set", word]).failed(2, &[why]);
    }
    assert!(shell.run(&["schema", "get"]).err.contains("version 3"));
    shell.service.stop();
}

fn a_schema_comes_from_a_file(engine: Engine) {
    let shell = Shell::new(engine);
    shell.ok(&["schema", "set", "attributes.badge=string"]);
    let schema = shell.ok(&["schema", "get", "-o", "json"]);
    let same = shell.file("same.json", &schema);
    let same = same.to_str().unwrap();
    assert!(shell.ok(&["schema", "set", "-f", same]).contains("nothing to change"));
    let with = ["schema", "set", "-f", same, "attributes.badge.required=true"];
    assert!(shell.ok(&with).contains("attributes.badge.required"));
    // The file has the version of the schema that it was.
    shell.run(&with).failed(6, &["version 3", "remove version from the file"]);
    let mut command = shell.command(&["schema", "set", "-f", "-"]);
    let empty = run(command.env("ROSTER_URL", shell.url()), r#"{"attributes":[]}"#);
    assert!(empty.succeeded().contains("attributes.badge.type"));
    let wrong = shell.file("wrong.json", "[]");
    shell.run(&["schema", "set", "-f", wrong.to_str().unwrap()]).failed(2, &["one JSON object"]);
    shell.run(&["schema", "set", "-f", "absent.json"]).failed(2, &["absent.json: "]);
    shell.run(&["schema", "set"]).failed(2, &["MEMBER=VALUE"]);
    shell.service.stop();
}

fn values_that_users_share_are_told(engine: Engine) {
    let shell = Shell::new(engine);
    for name in ["ada", "grace"] {
        shell.ok(&["users", "create", &format!("username={name}"), "attributes.desk=7"]);
    }
    let set = ["schema", "set", "attributes.desk.type=string", "attributes.desk.unique=true"];
    let said = shell.run(&set).err;
    assert!(said.contains("attributes.desk is not unique yet"), "{said}");
    let said = shell.run(&["schema", "get"]).err;
    assert!(said.contains("users share values of it: ") && said.contains(" and "), "{said}");
    shell.service.stop();
}

fn the_schema_needs_its_scopes(engine: Engine) {
    let shell = Shell::new(engine);
    shell.needs("users:read", &["schema", "get"]);
    shell.needs("users:read,schema:write", &["schema", "set", "attributes.badge=string"]);
    shell.operate(&["tenants", "create", "acme"]).succeeded();
    let set = ["schema", "set", "attributes.team=string", "--tenant", "acme"];
    shell.operate(&set).succeeded();
    let of = |tenant: &[&str]| {
        shell.operate(&[&["schema", "get", "-o", "csv"], tenant].concat()).succeeded()
    };
    assert!(of(&["--tenant", "acme"]).contains("attributes.team"));
    assert!(!of(&[]).contains("attributes.team"));
    shell.service.stop();
}
