//! Input that the commands cannot use, and servers that are no Roster.

use std::{
    fs,
    io::{Read as _, Write as _, pipe},
    net::TcpListener,
    process::Stdio,
    thread,
};

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;

use super::{Shell, run};

over_each_engine! {
    json_that_the_service_would_change_is_an_error,
    one_of_several_that_fails_says_what_is_left,
    a_secret_in_the_wrong_place_is_not_shown,
    a_secret_that_nobody_reads_is_an_error,
    a_script_that_nobody_reads_is_no_error,
    an_input_is_not_overwritten_by_its_faults,
    a_server_that_is_no_roster_is_recognised,
    a_member_that_only_the_service_writes_is_an_error,
}

/// They are those of the description that are read-only.
fn a_member_that_only_the_service_writes_is_an_error(engine: Engine) {
    let shell = Shell::new(engine);
    let description = shell.service.get("/openapi.json").body;
    for (command, schema) in
        [("users", "User"), ("groups", "Group"), ("tenants", "Tenant"), ("webhooks", "Webhook")]
    {
        let properties = &description["components"]["schemas"][schema]["properties"];
        let properties = properties.as_object().unwrap().iter();
        let read_only = properties.filter(|(_, property)| property["readOnly"] == true);
        // A create says that it ignores an id.
        let names: Vec<_> = read_only.map(|(name, _)| name).filter(|name| *name != "id").collect();
        assert!(names.len() > 1, "{schema}");
        for name in names {
            let set = [command, "set", "anything", &format!("{name}:=null")];
            shell.run(&set).failed(2, &["only the service writes this member"]);
        }
    }
    shell.service.stop();
}

fn json_that_the_service_would_change_is_an_error(engine: Engine) {
    let shell = Shell::new(engine);
    let large = "attributes.badge:=12345678901234567890123";
    shell.run(&["users", "create", "username=ada", large]).failed(2, &["64 bits"]);
    let file = shell.file("twice.json", r#"{"username":"ada","username":"grace"}"#);
    let create = ["users", "create", "-f", file.to_str().unwrap()];
    shell.run(&create).failed(2, &["same member twice"]);
    let id = "id=01a2267c-a27c-768c-be07-5f3210e996ff";
    let created = shell.run(&["users", "create", "username=ada", id]);
    assert!(created.err.contains("the id was ignored"), "{created:?}");
    let created = shell.run(&["users", "create", "username=grace", "version:=5"]);
    assert!(created.err.contains("the version was ignored"), "{created:?}");
    shell.service.stop();
}

fn one_of_several_that_fails_says_what_is_left(engine: Engine) {
    let shell = Shell::new(engine);
    for name in ["ada", "grace", "mary"] {
        shell.ok(&["users", "create", &format!("username={name}")]);
    }
    let taken = ["users", "set", "ada", "grace", "mary", "username=x"];
    let ran = shell.run(&taken);
    assert!(ran.status == 7 && ran.err.contains("not tried: mary"), "{ran:?}");
    shell.ok(&["users", "delete", "x", "grace", "--yes"]);
    shell.run(&["users", "restore", "x", "nobody", "grace"]).failed(5, &["nobody"]);
    shell.run(&["users", "get", "x"]).failed(5, &["x"]);
    shell.ok(&["users", "restore", "x", "grace"]);
    shell.service.stop();
}

fn a_secret_in_the_wrong_place_is_not_shown(engine: Engine) {
    let shell = Shell::new(engine);
    let mut command = shell.command(&["users", "list"]);
    let command = command.env("ROSTER_URL", shell.url()).env("ROSTER_KEY_FILE", "rst_a_SECRET");
    let ran = run(command, "");
    assert!(!ran.err.contains("SECRET") && ran.err.contains("is no key file"), "{ran:?}");
    let ran = run(&mut shell.command(&["login", "rst_a_SECRET"]), "");
    assert!(!ran.err.contains("SECRET") && ran.err.contains("a URL belongs"), "{ran:?}");
    assert_eq!(ran.status, 2, "{ran:?}");
    let mut command = shell.command(&["users", "list"]);
    let ran = run(command.env("ROSTER_URL", "http://u:SECRET@127.0.0.1:1"), "");
    assert!(!ran.err.contains("SECRET") && ran.err.contains("a password"), "{ran:?}");
    shell.service.stop();
}

fn a_secret_that_nobody_reads_is_an_error(engine: Engine) {
    let shell = Shell::new(engine);
    let create = ["keys", "create", "billing", "--scope", "users:read"];
    let mut command = shell.command(&create);
    let command = command
        .env("ROSTER_URL", shell.url())
        .env("ROSTER_KEY_FILE", shell.key_file("keys:admin,users:read"));
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(running.stdout.take());
    let ended = running.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(1) && said.contains("rotate it"), "{said}");
    shell.service.stop();
}

fn a_script_that_nobody_reads_is_no_error(engine: Engine) {
    let shell = Shell::new(engine);
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let ended = shell.command(&["completions", "bash"]).stdout(writer).output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
    shell.service.stop();
}

fn an_input_is_not_overwritten_by_its_faults(engine: Engine) {
    let shell = Shell::new(engine);
    let text = "username,email\nada,ada@example.com\nbad,bad\n";
    let file = shell.file("i.csv", text);
    let name = file.to_str().unwrap();
    let import = ["import", name, "--faults", name, "--restart"];
    shell.run(&import).failed(2, &["--faults names another file"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    shell.service.stop();
}

fn a_server_that_is_no_roster_is_recognised(engine: Engine) {
    let shell = Shell::new(engine);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            let mut head = [0; 4096];
            if client.read(&mut head).is_ok_and(|length| length > 0) {
                let body = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\
                            connection: close\r\n\r\n{}";
                client.write_all(body.as_bytes()).unwrap_or_default();
            }
        }
    });
    let kept = shell.file("b.csv", "precious");
    let export = ["export", kept.to_str().unwrap(), "--force", "--url", &url];
    run(&mut shell.command(&export), "").failed(8, &["does not respond like Roster"]);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "precious");
    let create = ["users", "create", "username=x", "--url", &url];
    run(&mut shell.command(&create), "").failed(8, &["does not respond like Roster"]);
    shell.service.stop();
}
