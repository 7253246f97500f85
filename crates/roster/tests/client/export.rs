//! `roster export`.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    thread,
};

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;

use super::{Shell, run};

over_each_engine! {
    records_are_exported_into_a_file,
    an_export_may_be_longer_than_a_request_may_ask_for,
    what_was_exported_can_be_imported,
    exporting_needs_its_scope,
}

fn people(shell: &Shell) {
    shell.ok(&[
        "users",
        "create",
        "username=ada",
        "email=ada@example.com",
        "addresses:=[{\"formatted\":\"1 Way\\nTown\"}]",
    ]);
    shell.ok(&["users", "create", "username=bob", "name==1+1"]);
}

fn records_are_exported_into_a_file(engine: Engine) {
    let shell = Shell::new(engine);
    people(&shell);
    let path = |name: &str| shell.home.path().join(name);
    let ran = shell.run(&["export", "all.csv", "--fields", "username,name,addresses"]);
    assert!(ran.err.contains("all.csv: 2 users") && ran.err.contains("--after"), "{ran:?}");
    ran.succeeded();
    let text = fs::read_to_string(path("all.csv")).unwrap();
    assert!(
        text.starts_with("id,version,username,name,addresses\r\n") && text.contains("'=1+1"),
        "{text}"
    );
    assert_eq!(fs::metadata(path("all.csv")).unwrap().permissions().mode() & 0o777, 0o600);
    shell.run(&["export", "all.csv"]).failed(2, &["all.csv exists", "--force"]);
    assert_eq!(fs::read_to_string(path("all.csv")).unwrap(), text);
    let forced = ["export", "all.csv", "--force", "--bom", "--filter", "username eq \"ada\""];
    assert!(shell.run(&forced).err.contains("all.csv: 1 user\n"));
    assert!(fs::read_to_string(path("all.csv")).unwrap().starts_with("\u{feff}id,"));
    let lines = shell.ok(&["export", "--fields", "username", "--limit", "1"]);
    assert!(lines.starts_with('{') && lines.lines().count() == 1, "{lines}");
    assert_eq!(shell.ok(&["export", "-", "--csv"]).lines().count(), 3);
    for (what, count) in [("groups", 0), ("deleted-users", 0), ("users", 2)] {
        assert_eq!(shell.ok(&["export", "--what", what]).lines().count(), count, "{what}");
    }
    for (arguments, word) in [
        (&["all.txt"][..], "--csv or --ndjson"),
        (&["groups.csv", "--what", "groups"], "as NDJSON only"),
        (&["--bom"], "--bom is for CSV"),
        (&[".", "--csv"], "is no file"),
        (&["new.csv", "--filter", "x eq"], "--filter: "),
    ] {
        shell.run(&[&["export"], arguments].concat()).failed(2, &[word]);
    }
    shell.run(&["export", "none/new.csv"]).failed(1, &["cannot be written"]);
    let left: Vec<_> = fs::read_dir(shell.home.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    shell.service.stop();
}

fn an_export_may_be_longer_than_a_request_may_ask_for(engine: Engine) {
    let shell = Shell::new(engine);
    let lines: Vec<_> = (0..1100).map(|n| format!("{{\"username\":\"n{n}\"}}\n")).collect();
    shell.service.ask("POST", "/bulk/users", &lines.concat());
    let names = ["export", "--fields", "username", "--limit"];
    for (limit, further, count) in [
        ("1000", "--ndjson", 1000),
        ("1001", "--ndjson", 1001),
        ("1001", "--csv", 1002),
        ("5000", "--ndjson", 1100),
    ] {
        let text = shell.ok(&[&names[..], &[limit, further]].concat());
        assert_eq!(text.lines().count(), count, "{limit} {further}");
    }
    let ran = shell.run(&["export", "some.csv", "--limit", "1050"]);
    assert!(ran.err.contains("some.csv: 1050 users\n"), "{ran:?}");
    shell.service.stop();
}

fn what_was_exported_can_be_imported(engine: Engine) {
    let (shell, other) = (Shell::new(engine), Shell::new(engine));
    people(&shell);
    for name in ["all.csv", "all.ndjson"] {
        shell.ok(&["export", name]);
        let file = shell.home.path().join(name);
        let arguments =
            ["import", file.to_str().unwrap(), "--on-conflict", "replace", "--keep-ids"];
        let ran = run(other.command(&arguments).env("ROSTER_URL", other.url()), "");
        ran.succeeded();
        let fields = ["export", "--fields", "username,email,name,addresses"];
        assert_eq!(other.ok(&fields), shell.ok(&fields), "{name}");
    }
    shell.service.stop();
    other.service.stop();
}

fn exporting_needs_its_scope(engine: Engine) {
    let shell = Shell::new(engine);
    shell.needs("users:read", &["export", "all.csv"]);
    shell.service.stop();
}

/// A service whose responses break off.
#[test]
fn an_export_that_breaks_off_leaves_no_file() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = thread::spawn(move || {
        let mut served = 0;
        for connection in listener.incoming().take(5) {
            let mut connection = connection.unwrap();
            let mut head = [0; 4096];
            assert!(connection.read(&mut head).unwrap() > 0);
            let response = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\
                            transfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n";
            connection.write_all(response.as_bytes()).unwrap();
            served += 1;
        }
        served
    });
    let home = tempfile::tempdir().unwrap();
    let export = |name: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_roster"));
        command.args(["export", name, "--url", &address]).env_clear().env("HOME", home.path());
        run(command.current_dir(home.path()), "")
    };
    export("all.ndjson").failed(8, &["broke off", "beginning again in 4 s", "was not written"]);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    let ran = export("-");
    assert_eq!((ran.status, ran.err.contains("the output is incomplete")), (8, true), "{ran:?}");
    assert_eq!(served.join().unwrap(), 5);
}
