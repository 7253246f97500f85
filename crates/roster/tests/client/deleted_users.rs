//! `roster deleted-users`.

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::{Shell, rows};

over_each_engine! {
    deleted_users_are_found_by_what_they_were,
    deleted_users_need_their_scopes,
}

fn deleted_users_are_found_by_what_they_were(engine: Engine) {
    let shell = Shell::new(engine);
    assert!(shell.run(&["deleted-users", "list"]).err.contains("no deleted users"));
    for name in ["ada", "bob", "ada"] {
        let email = format!("email={name}@example.com");
        shell.ok(&["users", "create", &format!("username={name}"), &email]);
        shell.ok(&["users", "delete", name]);
    }
    let names = |order: &str| {
        let listed = ["deleted", "ls", "--sort", order, "--columns", "username", "-o", "csv"];
        shell.ok(&listed)
    };
    assert_eq!(names("deleted_at"), "username\nada\nbob\nada\n");
    let newest = ["deleted-users", "list", "--sort", "-deleted_at", "--filter", "email sw \"b\""];
    assert_eq!(rows(&shell.ok(&newest)).len(), 2);
    let limited = shell.run(&["deleted-users", "list", "--limit", "2"]);
    assert!(limited.err.contains("there are more deleted users"), "{limited:?}");
    let filter = r#"username eq "bob""#;
    let listed = shell.ok(&["deleted-users", "list", "--filter", filter]);
    assert_eq!((rows(&listed).len(), rows(&listed)[1][0]), (2, "bob"));
    let bob = shell.run(&["deleted-users", "get", "bob", "-o", "json"]).json();
    assert!(bob["deleted_at"].is_string() && bob["purge_at"].is_string(), "{bob}");
    for name in ["BOB@example.com", bob["id"].as_str().unwrap()] {
        let same = shell.run(&["deleted-users", "get", name, "-o", "json"]).json();
        assert_eq!(same["username"], json!("bob"), "{name}");
    }
    shell.run(&["deleted-users", "get", "ada"]).failed(2, &["2 deleted users", "by its id"]);
    shell.run(&["deleted-users", "get", "cy"]).failed(5, &["no deleted user is called cy"]);
    shell.run(&["deleted-users", "list", "--sort", "username"]).failed(2, &["--sort"]);
    shell.service.stop();
}

fn deleted_users_need_their_scopes(engine: Engine) {
    let shell = Shell::new(engine);
    shell.ok(&["users", "create", "username=ada"]);
    shell.ok(&["users", "delete", "ada"]);
    shell.needs("users:read,users:write", &["deleted-users", "list"]);
    shell.needs("users:read,users:write", &["deleted-users", "get", "ada"]);
    shell.operate(&["tenants", "create", "acme"]).succeeded();
    let below = shell.operate(&["deleted-users", "list", "--tenant", "acme"]);
    assert!(below.err.contains("no deleted users"), "{below:?}");
    shell.service.stop();
}
