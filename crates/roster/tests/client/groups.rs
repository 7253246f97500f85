//! `roster groups`.

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::{Shell, rows};

over_each_engine! {
    groups_are_created_changed_and_deleted,
    members_join_and_leave,
    groups_need_their_scopes,
    groups_of_a_tenant_are_its_own,
}

fn groups_are_created_changed_and_deleted(engine: Engine) {
    let shell = Shell::new(engine);
    let dry = shell.run(&["groups", "create", "Core Team", "--dry-run"]);
    assert!(dry.out.contains("Core Team") && dry.err.contains("nothing was created"), "{dry:?}");
    assert_eq!(shell.ok(&["group", "ls", "-o", "json"]), "[]\n");
    let created = shell.run(&["groups", "create", "Core Team", "external_id=A-7"]);
    assert!(created.err.contains("created group 01"), "{created:?}");
    created.succeeded();
    shell.run(&["groups", "add", "CORE team"]).failed(6, &["display_name=CORE team: another"]);
    shell.ok(&["groups", "create", "display_name=Platform"]);
    let core = shell.run(&["groups", "get", "core team", "-o", "json"]).json();
    assert_eq!((&core["external_id"], &core["member_count"]), (&json!("A-7"), &json!(0)));
    let id = core["id"].as_str().unwrap();
    assert_eq!(shell.run(&["groups", "show", id, "-o", "json"]).json(), core);
    shell.run(&["groups", "get", "nobody"]).failed(5, &["no group is called nobody"]);

    let set = ["groups", "set", "core team", "display_name=Core", "external_id="];
    let dry = shell.ok(&[&set[..], &["--dry-run"]].concat());
    let real = shell.ok(&set);
    assert_eq!(dry, real);
    assert!(rows(&real).contains(&vec!["external_id", "A-7", "(none)"]), "{real}");
    shell
        .run(&["groups", "set", "Core", "external_id=B", "--if-version", "1"])
        .failed(6, &["version 2"]);
    shell.run(&["groups", "set", "Core"]).failed(2, &["no member is given"]);
    shell.run(&["groups", "set", "external_id=B"]).failed(2, &["no group is named"]);
    let listed = shell.ok(&["groups", "list", "--sort", "-display_name", "-o", "csv"]);
    let names: Vec<_> = listed.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(names, ["display_name", "Platform", "Core"]);
    let found = ["groups", "list", "plat", "--columns", "display_name,version", "-o", "csv"];
    assert_eq!(shell.ok(&found), "display_name,version\nPlatform,1\n");
    let filter = ["groups", "list", "--filter", r#"display_name sw "C""#, "--columns", "version"];
    assert_eq!(shell.ok(&filter), "VERSION\n2\n");

    shell.run(&["groups", "rm", "Core", "nobody", "--yes"]).failed(5, &["nobody"]);
    shell.run(&["groups", "rm", "Core", "Platform"]).failed(2, &["Delete 2 groups?", "--yes"]);
    shell.run(&["groups", "rm", "Core"]).failed(2, &["Nothing brings them back", "--yes"]);
    shell.run(&["groups", "rm", "Core", "--if-version", "1", "--yes"]).failed(6, &["version 2"]);
    shell.ok(&["groups", "rm", "Core", "Platform", "--dry-run"]);
    let deleted = shell.ok(&["groups", "rm", "Core", "Platform", "--yes"]);
    assert!(deleted.starts_with(&format!("deleted group {id} (Core)\n")), "{deleted}");
    assert!(shell.run(&["groups", "list"]).err.contains("no groups"));
    shell.service.stop();
}

fn members_join_and_leave(engine: Engine) {
    let shell = Shell::new(engine);
    for name in ["ada", "bob", "cy"] {
        let email = format!("email={name}@example.com");
        shell.ok(&["users", "create", &format!("username={name}"), &email]);
    }
    shell.ok(&["groups", "create", "Core"]);
    shell.ok(&["groups", "create", "All"]);
    let members = ["groups", "members", "all", "--columns", "type,username,display_name"];
    assert!(shell.run(&members).err.contains("All has no members"));
    // All names are found before the first change.
    shell.run(&["groups", "members", "add", "All", "ada", "nobody"]).failed(5, &["nobody"]);
    assert!(shell.run(&members).err.contains("All has no members"));
    let add = ["groups", "members", "add", "All", "ada", "BOB@example.com", "--group", "core"];
    let dry = shell.run(&[&add[..], &["--dry-run"]].concat());
    assert!(dry.err.contains("nothing was changed"), "{dry:?}");
    assert_eq!(dry.succeeded().matches("would add ").count(), 3);
    shell.run(&[&add[..], &["--if-version", "7"]].concat()).failed(6, &["version 1"]);
    // The version holds for the first change; the others follow it.
    let added = shell.ok(&[&add[..], &["--if-version", "1"]].concat());
    assert!(added.starts_with("added user ada (01"), "{added}");
    let again = shell.ok(&add);
    assert_eq!(again.matches("is a member already: ").count(), 3, "{again}");
    let listed = shell.ok(&members);
    assert_eq!(
        rows(&listed),
        [
            vec!["TYPE", "USERNAME", "DISPLAY_NAME"],
            vec!["user", "ada"],
            vec!["user", "bob"],
            vec!["group", "Core"]
        ]
    );
    let versions = ["groups", "members", "All", "--columns", "type,version", "-o", "csv"];
    assert_eq!(shell.ok(&versions), "type,version\nuser,1\nuser,1\ngroup,1\n");
    let some = shell.run(&["groups", "members", "list", "All", "--limit", "1", "-o", "json"]);
    assert!(some.err.contains("there are more members"), "{some:?}");
    let some = some.json();
    assert_eq!((&some[0]["username"], &some[0]["type"]), (&json!("ada"), &json!("user")));
    shell
        .run(&["groups", "members", "add", "Core", "--group", "All"])
        .failed(6, &["cannot belong to itself"]);
    shell.ok(&["groups", "create", "Late"]);
    let some = ["groups", "members", "add", "Core", "cy", "--group", "All", "--group", "Late"];
    let some = shell.run(&some);
    assert!(some.status == 7 && some.err.contains("not tried: Late"), "{some:?}");
    let of_ada = ["groups", "list", "--user", "ada", "--columns", "display_name,member_count"];
    assert_eq!(rows(&shell.ok(&of_ada))[1..], [vec!["All", "3"]]);

    let remove = ["groups", "members", "remove", "All", "bob", "cy"];
    let removed = shell.run(&remove);
    assert_eq!((removed.status, removed.out.lines().count()), (5, 1), "{removed:?}");
    assert!(removed.out.starts_with("removed user bob "), "{removed:?}");
    assert!(removed.err.contains("no member of All: cy"), "{removed:?}");
    let all = shell.run(&["groups", "members", "rm", "All", "ada", "-o", "json"]).json();
    assert_eq!(all["member_count"], json!(1));
    shell.run(&["groups", "members"]).failed(2, &["GROUP"]);
    shell.run(&["groups", "members", "add", "All"]).failed(2, &["USER"]);
    shell.service.stop();
}

fn groups_need_their_scopes(engine: Engine) {
    let shell = Shell::new(engine);
    shell.ok(&["users", "create", "username=ada"]);
    shell.needs("users:write", &["groups", "create", "Core"]);
    shell.needs("users:read", &["groups", "list"]);
    shell.needs("users:read", &["groups", "get", "Core"]);
    shell.needs("users:read", &["groups", "members", "Core"]);
    shell.needs("users:read,users:write", &["groups", "set", "Core", "external_id=A"]);
    shell.needs("users:read,users:write", &["groups", "members", "add", "Core", "ada"]);
    shell.needs("users:read,users:write", &["groups", "members", "remove", "Core", "ada"]);
    shell.needs("users:read,users:write", &["groups", "delete", "Core", "--yes"]);
    shell.service.stop();
}

fn groups_of_a_tenant_are_its_own(engine: Engine) {
    let shell = Shell::new(engine);
    shell.operate(&["tenants", "create", "acme"]).succeeded();
    shell.operate(&["users", "create", "username=ada", "--tenant", "acme"]).succeeded();
    shell.operate(&["groups", "create", "Core", "--tenant", "acme"]).succeeded();
    shell.operate(&["groups", "members", "add", "Core", "ada", "--tenant", "acme"]).succeeded();
    let members = shell.operate(&["groups", "members", "Core", "--tenant", "acme"]).succeeded();
    assert!(members.contains("ada"), "{members}");
    shell.operate(&["groups", "get", "Core"]).failed(5, &["no group"]);
    shell.operate(&["groups", "delete", "Core", "--yes", "--tenant", "acme"]).succeeded();
    shell.service.stop();
}
