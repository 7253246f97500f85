//! `roster tenants`.

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::{Ran, Shell, rows, run};

over_each_engine! {
    tenants_come_and_go,
    tenants_need_a_key_for_all_tenants,
}

fn tenants_come_and_go(engine: Engine) {
    let shell = Shell::new(engine);
    let operate = |arguments: &[&str]| shell.operate(arguments);
    let ok = |arguments: &[&str]| shell.operate(arguments).succeeded();
    let dry = operate(&["tenants", "create", "acme", "--dry-run"]);
    assert!(dry.err.contains("nothing was created"), "{dry:?}");
    assert!(operate(&["tenants", "list"]).err.contains("no tenants"));
    let created = operate(&["tenant", "add", "acme", "display_name=Acme Ltd", "external_id=cus_7"]);
    assert!(created.err.contains("created tenant acme"), "{created:?}");
    assert!(created.err.contains("--tenant acme"), "{created:?}");
    ok(&["tenants", "create", "name=globex", "users_max=7"]);
    operate(&["tenants", "create", "acme"]).failed(6, &["name"]);
    operate(&["tenants", "create", "Acme"]).failed(2, &["name=Acme: "]);
    operate(&["tenants", "create", "x", "users_max=many"]).failed(2, &["users_max=many: write a"]);
    ok(&["users", "create", "username=ada", "--tenant", "globex"]);
    // Tenants are those of the service, whichever tenant is named.
    let listed = ok(&["tenants", "ls", "--tenant", "acme"]);
    assert_eq!(
        rows(&listed)[1..],
        [
            vec!["acme", "active", "0", "0", "Acme", "Ltd", "cus_7"],
            vec!["globex", "active", "1", "0"],
        ]
    );
    let one = ok(&["tenants", "list", "--external-id", "cus_7", "--columns", "name", "-o", "csv"]);
    assert_eq!(one, "name\nacme\n");
    let globex = operate(&["tenants", "get", "globex", "-o", "json"]);
    assert!(globex.err.contains("/tenants/globex/scim/v2\n"), "{globex:?}");
    let globex = globex.json();
    assert_eq!((&globex["users"], &globex["users_max"]), (&json!(1), &json!(7)));
    for form in ["table", "csv", "json"] {
        let misspelt = operate(&["tenants", "list", "--columns", "name,uesrs", "-o", form]);
        assert!(misspelt.err.contains("nothing shown here has uesrs"), "{misspelt:?}");
        let misspelt = operate(&["tenants", "get", "acme", "--columns", "uesrs", "-o", form]);
        assert!(misspelt.err.contains("nothing shown here has uesrs"), "{misspelt:?}");
    }

    let set = ["tenants", "set", "globex", "status=suspended", "users_max="];
    let dry = ok(&[&set[..], &["--dry-run"]].concat());
    let real = ok(&set);
    assert_eq!(dry, real);
    // The numbers of users, which a write does not return, are no change.
    assert_eq!(
        rows(&real),
        [
            vec!["globex:", "version", "1", "->", "2"],
            vec!["MEMBER", "BEFORE", "AFTER"],
            vec!["status", "active", "suspended"],
            vec!["users_max", "7", "(none)"],
        ]
    );
    let old = ["tenants", "set", "globex", "users_max=1", "--if-version", "1"];
    operate(&old).failed(6, &["version 2"]);
    operate(&["tenants", "set", "nobody", "users_max=1"]).failed(5, &["no tenant", "deleted"]);

    operate(&["tenants", "rm", "acme", "globex"]).failed(2, &["Delete acme, globex?"]);
    operate(&["tenants", "rm", "acme", "--if-version", "9", "--yes"]).failed(6, &["version 1"]);
    ok(&["tenants", "rm", "acme", "--dry-run"]);
    let gone = operate(&["tenants", "rm", "acme", "globex", "--yes"]);
    assert!(gone.err.contains("roster tenants restore acme globex"), "{gone:?}");
    assert_eq!(gone.succeeded().lines().count(), 2);
    let deleted = ok(&["tenants", "deleted", "--columns", "name,users", "-o", "csv"]);
    assert_eq!(deleted, "name,users\nacme,0\nglobex,1\n");
    purge_and_restore(&operate);
    shell.service.stop();
}

fn purge_and_restore(operate: &impl Fn(&[&str]) -> Ran) {
    let dry = operate(&["tenants", "restore", "globex", "--dry-run"]);
    assert!(dry.out.starts_with("would restore tenant globex, 1 users"), "{dry:?}");
    operate(&["tenants", "restore", "globex", "--if-version", "1"]).failed(6, &["version 3"]);
    let restored = operate(&["tenants", "restore", "globex"]).succeeded();
    assert!(restored.starts_with("restored tenant globex, 1 users"), "{restored}");
    operate(&["tenants", "restore", "globex"]).failed(5, &["no deleted tenant"]);
    operate(&["tenants", "purge", "globex", "--yes"]).failed(5, &["roster tenants deleted"]);
    operate(&["tenants", "delete", "globex", "--yes"]).succeeded();
    operate(&["tenants", "purge", "globex"])
        .failed(2, &["Purge globex (1 users, 0 deleted users, 0 groups)?", "lost forever"]);
    let dry = operate(&["tenants", "purge", "globex", "--dry-run"]);
    assert!(dry.out.starts_with("would purge tenant globex"), "{dry:?}");
    // One more was deleted at a lower version, and the third has another name for people.
    operate(&["tenants", "create", "initech"]).succeeded();
    operate(&["tenants", "delete", "initech", "--yes"]).succeeded();
    let all = ["initech", "globex", "acme", "--if-version"];
    let some = operate(&[&["tenants", "restore"], &all[..], &["2"]].concat());
    assert!(some.status == 7 && some.err.contains("not tried: acme"), "{some:?}");
    operate(&["tenants", "delete", "initech", "--yes"]).succeeded();
    let some = operate(&[&["tenants", "purge", "--yes"], &all[..], &["4"]].concat());
    assert!(some.status == 7 && some.err.contains("not tried: acme"), "{some:?}");
    let purged = operate(&["tenants", "purge", "globex", "--yes"]).succeeded();
    assert!(purged.starts_with("purged tenant globex, 1 users"), "{purged}");
    let names = operate(&["tenants", "deleted", "--columns", "name", "-o", "csv"]).succeeded();
    assert_eq!(names, "name\nacme\n");
}

fn tenants_need_a_key_for_all_tenants(engine: Engine) {
    let shell = Shell::new(engine);
    let all: [&[&str]; 9] = [
        &["tenants", "create", "acme"],
        &["tenants", "list"],
        &["tenants", "set", "acme", "users_max=1"],
        &["tenants", "delete", "acme", "--yes"],
        &["tenants", "deleted"],
        &["tenants", "restore", "acme"],
        &["tenants", "get", "acme"],
        &["tenants", "rm", "acme", "--yes"],
        &["tenants", "purge", "acme", "--yes"],
    ];
    // An open service has no operator.
    shell.run(all[1]).failed(4, &["--all-tenants"]);
    let create = ["keys", "create", "tenants", "--scope", "tenants:admin", "--all-tenants"];
    let least = shell.file("least", &shell.operate(&create).succeeded());
    let create = ["keys", "create", "others", "--all-tenants", "--scope", "keys:admin,users:read"];
    let others = shell.file("others", &shell.operate(&create).succeeded());
    for arguments in all {
        shell.run(arguments).failed(3, &["roster login"]);
        let unreachable = run(shell.command(arguments).env("ROSTER_URL", "127.0.0.1:1"), "");
        unreachable.failed(8, &["roster serve"]);
        let mut old = shell.command(arguments);
        old.env("ROSTER_URL", shell.url()).env("ROSTER_KEY_FILE", shell.expired_key());
        run(&mut old, "").failed(3, &["roster login"]);
        // A key of one tenant, whatever it permits there.
        shell.with(super::ALL, arguments).failed(4, &["all tenants"]);
        let with = |file| {
            let mut command = shell.command(arguments);
            run(command.env("ROSTER_URL", shell.url()).env("ROSTER_KEY_FILE", file), "")
        };
        with(&others).failed(4, &["tenants:admin"]);
        with(&least).succeeded();
    }
    shell.service.stop();
}
