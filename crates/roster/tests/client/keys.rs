//! `roster keys` on a running service, and how it differs from the same on a store.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::{Value, json};

use super::{Shell, rows, run};

over_each_engine! {
    keys_of_a_service_are_made_rotated_and_revoked,
    a_key_goes_into_a_file,
    the_first_key_closes_the_service,
    keys_need_their_scopes,
    keys_of_a_tenant_work_there,
    a_store_or_a_service_is_named,
}

/// The key on stdout, which is all that is there.
#[track_caller]
fn key(out: &str) -> &str {
    let key = out.trim_end();
    assert!(key.starts_with("rst_") && !key.contains(char::is_whitespace), "{out}");
    key
}

/// The id of the key that a command says it created.
fn created_id(said: &str) -> &str {
    let (_, rest) = said.split_once("created key ").unwrap();
    rest.split_once(':').unwrap().0
}

fn users(shell: &Shell, key: &str) -> u16 {
    shell.service.ask_with(&format!("Authorization: Bearer {key}\r\n"), "GET", "/users", "").status
}

fn keys_of_a_service_are_made_rotated_and_revoked(engine: Engine) {
    let shell = Shell::new(engine);
    let operate = |arguments: &[&str]| shell.operate(arguments);
    let of_service = format!("in the service {}", shell.url());
    let create = ["keys", "create", "billing", "--scope", "events:read,users:read"];
    let dry = operate(&[&create[..], &["--dry-run"]].concat());
    assert!(dry.err.contains("would create a key: billing (users:read,events:read)"), "{dry:?}");
    assert_eq!(dry.succeeded(), "");
    let created = operate(&create);
    assert!(created.err.contains(&of_service), "{created:?}");
    let out = created.out.clone();
    let first = key(&out);
    assert!(!created.err.contains(first), "{created:?}");
    assert_eq!(users(&shell, first), 200);
    let listed = operate(&["key", "ls"]);
    assert!(listed.err.contains(&of_service), "{listed:?}");
    let listed = listed.succeeded();
    let id = first.split('_').nth(1).unwrap();
    let row = rows(&listed).into_iter().find(|row| row[0] == id).unwrap();
    assert_eq!(row[1..4], ["billing", "active", "users:read,events:read"]);
    assert!(!listed.contains("rst_"), "{listed}");

    for (days, end) in [("never", None), ("30", Some(()))] {
        let create = ["keys", "create", days, "--scope", "all", "--days", days, "-o", "json"];
        let made = operate(&create).json();
        assert_eq!(made["expires_at"].as_str().map(|_| ()), end, "{made}");
        assert_eq!(made["scopes"].as_array().unwrap().len(), 12);
    }
    let again = operate(&[&create[..], &["--dry-run"]].concat());
    assert!(again.err.contains(&format!("the key {id} has this name too")), "{again:?}");

    let dry = operate(&["keys", "rotate", "billing", "--dry-run"]);
    assert!(dry.err.contains(&format!("would give a new secret to key {id}")), "{dry:?}");
    let rotated = operate(&["keys", "rotate", "billing", "--overlap", "60"]);
    assert!(rotated.err.contains("the old secret is valid until 20"), "{rotated:?}");
    let out = rotated.succeeded();
    assert_eq!([first, key(&out)].map(|key| users(&shell, key)), [200, 200]);
    let out = operate(&["keys", "rotate", id, "--overlap", "0"]).succeeded();
    let last = key(&out);
    assert_eq!([first, last].map(|key| users(&shell, key)), [401, 200]);

    operate(&["keys", "revoke", "billing"]).failed(2, &["lose access at once", "--yes"]);
    let dry = operate(&["keys", "revoke", "billing", "--dry-run"]);
    assert!(dry.out.starts_with(&format!("would revoke {id}: billing")), "{dry:?}");
    operate(&["keys", "revoke", "billing", "nobody", "--yes"]).failed(5, &["nobody"]);
    assert_eq!(users(&shell, last), 200);
    let revoked = operate(&["keys", "rm", "billing", "-y"]).succeeded();
    assert_eq!((revoked, users(&shell, last)), (format!("{id} (billing) is revoked\n"), 401));
    assert_eq!(operate(&["keys", "revoke", id, "-o", "json"]).succeeded(), "");
    let again = operate(&["keys", "revoke", id]).succeeded();
    assert_eq!(again, format!("{id} (billing) was revoked before\n"));
    operate(&["keys", "rotate", "billing"]).failed(6, &["is revoked"]);
    // A key that revokes itself cannot revoke the others.
    let out = operate(&["keys", "create", "late", "--scope", "keys:admin"]).succeeded();
    for name in ["b", "c"] {
        operate(&["keys", "create", name, "--scope", "scim"]).succeeded();
    }
    let mut own = shell.command(&["keys", "revoke", "late", "b", "c", "--yes"]);
    own.env("ROSTER_URL", shell.url()).env("ROSTER_KEY_FILE", shell.file("late", &out));
    let some = run(&mut own, "");
    assert!(some.status == 7 && some.err.contains("not tried: c"), "{some:?}");

    for (arguments, why) in [
        (&["create", "x", "--scope", "users:reed"][..], "a similar value exists: 'users:read'"),
        (&["create", "", "--scope", "scim"], "say what the key is for"),
        (&["create", "a\u{7}b", "--scope", "scim"], "a\\u0007b: write it without"),
        (&["create", "x", "--scope", "scim", "--days", "0"], "not a number of days"),
        (&["create", "x"], "--scope"),
        (&["create", "x", "--scope", "scim", "--all-tenants", "--tenant", "a"], "--all-tenants"),
        (&["rotate", "x", "--overlap", "2592001"], "--overlap"),
    ] {
        operate(&[&["keys"], arguments].concat()).failed(2, &[why]);
    }
    shell.service.stop();
}

fn a_key_goes_into_a_file(engine: Engine) {
    let shell = Shell::new(engine);
    let operate = |arguments: &[&str]| shell.operate(arguments);
    let into_file = ["keys", "create", "billing", "--scope", "users:read", "--out", "new.key"];
    let created = operate(&into_file);
    assert!(
        created.err.contains("the key is in new.key, and is shown nowhere else"),
        "{created:?}"
    );
    let made = created_id(&created.err).to_owned();
    assert_eq!(created.succeeded(), "");
    let file = shell.home.path().join("new.key");
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(users(&shell, key(&fs::read_to_string(&file).unwrap())), 200);
    operate(&into_file).failed(2, &["new.key exists already"]);
    operate(&[&into_file[..5], &["--out", "-"]].concat()).failed(2, &["the key goes to stdout"]);
    operate(&[&into_file[..5], &["--out", "no/such/directory"]].concat())
        .failed(1, &["no/such/directory cannot be written"]);
    let rotate = ["keys", "rotate", &made, "--out", "next.key", "-o", "json"];
    let rotated = operate(&rotate).json();
    assert_eq!((&rotated["name"], rotated.get("key")), (&"billing".into(), None));
    let next = fs::read_to_string(file.with_file_name("next.key")).unwrap();
    assert_eq!(users(&shell, key(&next)), 200);
    operate(&["keys", "revoke", "billing", "--yes"]).succeeded();
    assert_eq!(users(&shell, key(&next)), 401);
    shell.service.stop();
}

fn the_first_key_closes_the_service(engine: Engine) {
    let shell = Shell::new(engine);
    assert!(shell.run(&["keys", "list"]).err.contains("no keys"));
    let create = ["keys", "create", "okta", "--scope", "scim"];
    shell.run(&[&create[..], &["--dry-run"]].concat()).succeeded();
    let first = shell.run(&create);
    for words in ["this first key closes the service", "it cannot create further keys"] {
        assert!(first.err.contains(words), "{first:?}");
    }
    key(&first.succeeded());
    shell.run(&create).failed(3, &["roster login"]);
    shell.service.stop();
}

fn keys_need_their_scopes(engine: Engine) {
    let shell = Shell::new(engine);
    let admin = "keys:admin";
    let create = ["keys", "create", "one", "--scope", "scim"];
    shell.needs(admin, &create);
    shell.needs(admin, &[&create[..], &["--dry-run"]].concat());
    shell.needs(admin, &["keys", "list"]);
    shell.needs(admin, &["keys", "rotate", "one"]);
    shell.needs(admin, &["keys", "revoke", "one", "--yes"]);
    // Only a key for all tenants creates another one.
    let operator = ["keys", "create", "op", "--scope", "scim", "--all-tenants"];
    shell.with(admin, &operator).failed(4, &["all tenants"]);
    shell.with(admin, &[&operator[..], &["--dry-run"]].concat()).failed(4, &["all tenants"]);
    shell.operate(&operator).succeeded();
    shell.service.stop();
}

fn keys_of_a_tenant_work_there(engine: Engine) {
    let shell = Shell::new(engine);
    shell.operate(&["tenants", "create", "acme"]).succeeded();
    let create = ["keys", "create", "okta", "--scope", "scim", "--tenant", "acme"];
    let out = shell.operate(&create).succeeded();
    let line = format!("Authorization: Bearer {}\r\n", key(&out));
    let status = |target: &str| shell.service.ask_with(&line, "GET", target, "").status;
    assert_eq!(status("/tenants/acme/scim/v2/Users"), 200);
    assert_eq!(status("/scim/v2/Users"), 403);
    let mut elsewhere = shell.command(&["users", "list"]);
    let okta = shell.file("okta", &out);
    elsewhere.env("ROSTER_URL", shell.url()).env("ROSTER_KEY_FILE", okta);
    run(&mut elsewhere, "").failed(4, &["next: --tenant NAME names the tenant"]);
    let names = |tenant: &[&str]| {
        let list = ["keys", "list", "--columns", "name", "-o", "csv"];
        shell.operate(&[&list[..], tenant].concat()).succeeded()
    };
    assert_eq!(names(&["--tenant", "acme"]), "name\nokta\n");
    assert!(!names(&[]).contains("okta"));
    shell.operate(&["keys", "revoke", "okta", "--tenant", "acme", "--yes"]).succeeded();
    assert_eq!(status("/tenants/acme/scim/v2/Users"), 401);
    shell.operate(&["keys", "list", "--tenant", "nobody"]).failed(5, &["tenant"]);
    shell.service.stop();
}

fn a_store_or_a_service_is_named(engine: Engine) {
    let shell = Shell::new(engine);
    let served = if let Some(database) = shell.place.database() {
        ["--database".to_owned(), database.url()]
    } else {
        let data = shell.place.path().join("roster-data");
        ["--data".to_owned(), data.to_str().unwrap().to_owned()]
    };
    let [flag, store] = served.each_ref().map(String::as_str);
    let place =
        if engine == Engine::Sqlite { "in the data directory " } else { "in the database " };
    let create = ["keys", "create", "one", "--scope", "scim", flag, store, "-o", "json"];
    let ran = run(&mut shell.command(&create), "");
    assert!(ran.err.contains(place), "{ran:?}");
    if engine == Engine::Sqlite {
        ran.failed(1, &["roster.lock", "roster login URL", "the same command"]);
        shell.operator();
    } else {
        let made: Value = ran.json();
        assert_eq!((&made["name"], &made["scopes"]), (&json!("one"), &json!(["scim"])));
    }
    // The store can be listed while the service runs. The flags take precedence over ROSTER_URL.
    let ran = shell.run(&["keys", "list", flag, store]);
    assert!(ran.err.contains(place) && ran.status == 0, "{ran:?}");
    shell.run(&["keys", "list", flag, store, "--url", ":1"]).failed(2, &["give one of both"]);
    // Without a service and a store that are named, it is the store in this directory.
    let ran = run(&mut shell.command(&["keys", "list"]), "");
    ran.failed(1, &["in the data directory ./roster-data"]);
    let ran = run(&mut shell.command(&["keys", "list", "--url", &shell.url()]), "");
    assert!(ran.err.contains("in the service "), "{ran:?}");
    shell.service.stop();
}
