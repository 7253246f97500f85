//! The built binary as an operator uses it: settings, exit statuses, start and stop.
//!
//! Every process that a test starts is stopped by that test. Of the machine's environment, the
//! binary gets only `PATH`.

#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]

use std::os::unix::{
    fs::{MetadataExt as _, PermissionsExt},
    process::CommandExt as _,
};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use roster_testkit::process::Process;

/// The binary without any `ROSTER_*` variable of the machine.
fn roster(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin");
    command
}

/// Exit status, stdout and stderr.
fn outcome(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    outcome(roster(arguments).output().unwrap())
}

#[test]
fn check_config_prints_each_value_with_its_origin() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("roster.toml");
    std::fs::write(&file, "# settings\nput_guard = true\nlog = \"warn\"\n").unwrap();
    let mut command =
        roster(&["check-config", "--listen", "localhost:9000", "--delete-guard", "--log=debug"]);
    command.env("ROSTER_CONFIG", &file).env("ROSTER_CACHE_ENTRIES", "7");
    let (status, out, err) = outcome(command.output().unwrap());
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let line = |key: &str| {
        let start = format!("{key} = ");
        let line = out.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("listen"), "\"127.0.0.1:9000\" # flag --listen");
    assert_eq!(line("delete_guard"), "true # flag --delete-guard");
    assert_eq!(line("log"), "\"debug\" # flag --log");
    assert_eq!(line("cache_entries"), "7 # environment ROSTER_CACHE_ENTRIES");
    assert_eq!(line("put_guard"), format!("true # file {}:2", file.display()));
    assert_eq!(line("hosts"), "[] # default");
}

#[test]
fn what_check_config_prints_can_be_kept_as_the_settings_file() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("roster.toml");
    let (_, first, _) = run(&["check-config", "--hosts", "a.example,b.example", "--workers", "3"]);
    std::fs::write(&file, &first).unwrap();
    let (status, second, _) = run(&["check-config", "--config", file.to_str().unwrap()]);
    assert_eq!(status, Some(0));
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split("  #").next().unwrap().trim().to_owned()).collect()
    };
    assert_eq!(values(&first), values(&second));
    assert_eq!(second.matches("# file ").count(), second.lines().count());
}

#[test]
fn a_misspelled_variable_is_an_error_of_the_commands_that_ask_a_service() {
    for arguments in [
        &["users", "list"][..],
        &["events"],
        &["whoami"],
        &["keys", "list"],
        &["import", "users.csv"],
    ] {
        let mut command = roster(arguments);
        command.env("ROSTER_TENNANT", "acme").env("ROSTER_URL", "http://127.0.0.1:1");
        let (status, out, err) = outcome(command.output().unwrap());
        assert_eq!((status, out.as_str()), (Some(78), ""), "{arguments:?}: {err}");
        assert!(err.contains("did you mean ROSTER_TENANT?"), "{err}");
    }
}

#[test]
fn a_command_line_that_lacks_or_misspells_something_ends_with_2() {
    for arguments in [
        &["policy", "set", "email-uniqueness", "nonee"][..],
        &["policy", "set", "email-uniquenes", "none"],
        &["migrate", "--from", "/nonexistent"],
        &["prepare"],
    ] {
        let (status, out, err) = run(arguments);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.starts_with("error: "), "{err}");
    }
}

#[test]
fn wrong_settings_end_with_78_and_are_all_named() {
    for command in ["check-config", "serve"] {
        let mut command = roster(&[command, "--workers", "x", "--config", "/nonexistent.toml"]);
        command.env("ROSTER_LISTENN", "1");
        let (status, out, err) = outcome(command.output().unwrap());
        assert_eq!((status, out.as_str()), (Some(78), ""));
        assert!(err.starts_with("error: 3 settings need attention:\n"), "{err}");
        assert!(err.contains("did you mean ROSTER_LISTEN?"), "{err}");
        assert!(err.contains("file /nonexistent.toml: cannot be read"), "{err}");
        assert!(err.contains("flag --workers: \"x\""), "{err}");
    }
}

#[test]
fn an_address_that_others_can_reach_is_refused_with_two_remedies() {
    let place = tempfile::tempdir().unwrap();
    let serve = || {
        let mut command = roster(&["serve"]);
        command.current_dir(&place).env("ROSTER_LISTEN", "0.0.0.0:0");
        command
    };
    let (status, out, err) = outcome(serve().output().unwrap());
    assert_eq!((status, out.as_str()), (Some(78), ""));
    assert!(err.contains("environment ROSTER_LISTEN: 0.0.0.0:0"), "{err}");
    assert!(err.contains("--listen 127.0.0.1:0"), "{err}");
    assert!(err.contains("roster keys create"), "{err}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn every_sign_of_another_machine_is_refused_without_a_key() {
    let place = tempfile::tempdir().unwrap();
    let flags = [
        ["--base-url", "https://directory.example.com"],
        ["--hosts", "directory.example.com:8443"],
        ["--trusted-proxies", "127.0.0.1"],
    ];
    for flag in flags {
        let mut command = roster(&["serve", "--listen", "127.0.0.1:0"]);
        let output = command.args(flag).current_dir(&place).output().unwrap();
        let (status, out, err) = outcome(output);
        assert_eq!((status, out.as_str()), (Some(78), ""), "{flag:?}");
        assert!(err.contains(&format!("flag {}: ", flag[0])), "{err}");
        for remedy in ["roster keys create", "first_key_file", "jwt_issuer", "require_key"] {
            assert!(err.contains(remedy), "{err}");
        }
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "nothing is left behind");
    }
    // Once the first key exists, the settings have their usual meaning.
    let key = place.path().join("key");
    let flags = [&flags.concat()[..], &["--first-key-file", key.to_str().unwrap()]].concat();
    let mut service = serve(place.path(), &flags);
    let line = "Callers with a key, from this machine, or through a proxy on it.";
    assert!(service.banner().contains(line), "{}", service.banner());
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
}

#[test]
fn an_open_service_says_who_can_reach_it() {
    let place = tempfile::tempdir().unwrap();
    let mut service = serve(place.path(), &[]);
    let line = "Anyone on this machine can read and change every user: no key exists.";
    assert!(service.banner().contains(line), "{}", service.banner());
    service.signal("TERM");
    let (status, log) = service.end();
    assert_eq!(status, Some(0));
    assert!(log.contains(line), "{log}");
}

#[test]
fn a_proxy_is_an_address_or_a_network() {
    for (value, words) in [
        ("proxy.example.com", "is not an address or a network"),
        ("10.0.0.1/8", "that is 10.0.0.0/8"),
        ("0.0.0.0/0", "holds every address"),
        ("::/0", "holds every address"),
        ("::ffff:10.0.0.0/104", "write a network of IPv4 addresses"),
        ("10.0.0.0/33", "is not an address or a network"),
        ("127.0.0.1,", "is not an address or a network"),
    ] {
        let (status, _, err) = run(&["check-config", "--trusted-proxies", value]);
        assert_eq!(status, Some(78), "{value}");
        assert!(err.contains(words), "{value}: {err}");
    }
    let good = "127.0.0.1,::1,10.0.0.0/8,2001:db8::/32,::ffff:192.0.2.1";
    let (status, out, _) = run(&["check-config", "--trusted-proxies", good]);
    assert_eq!(status, Some(0));
    let shown = r#"["127.0.0.1/32", "::1/128", "10.0.0.0/8", "2001:db8::/32", "192.0.2.1/32"]"#;
    assert!(out.contains(&format!("trusted_proxies = {shown}")), "{out}");
}

#[test]
fn an_issuer_is_told_wholly_or_not_at_all() {
    let outcome = |flags: &[&str]| run(&[&["check-config"], flags].concat());
    let two = "--jwt-issuer=a=https://a.example,b=https://b.example";
    let issuer = "--jwt-issuer=https://issuer.example.com";
    for (flags, words) in [
        (&[issuer][..], "--jwt-issuer: needs an audience: set jwt_audience"),
        (&["--jwt-audience=x"], "--jwt-audience: needs an issuer"),
        (&["--jwt-issuer=http://issuer.example.com"], "must start with https://"),
        (&["--jwt-algorithms=RS256,none"], "\"none\" is not one of RS256"),
        (&["--jwt-algorithms=HS256"], "\"HS256\" is not one of RS256"),
        (&[two, "--jwt-audience=a=x"], "--jwt-issuer: b needs an audience"),
        (&[two, "--jwt-audience=x,c=y"], "--jwt-audience: no issuer is named \"c\""),
        (&[two, "--jwt-audience=x", "--jwt-scope-prefix=c=y"], "no issuer is named \"c\""),
        (&["--jwt-issuer=https://a.example,https://b.example"], "write NAME=URL"),
    ] {
        let (status, _, err) = outcome(flags);
        assert_eq!(status, Some(78), "{flags:?}");
        assert!(err.contains(words), "{flags:?}: {err}");
    }
    assert_eq!(outcome(&[issuer, "--jwt-audience=x"]).0, Some(0));
    assert_eq!(
        outcome(&[two, "--jwt-audience=a=x,b=y", "--jwt-scope-claim=scope,b=scp"]).0,
        Some(0)
    );
}

#[test]
fn the_help_tells_of_every_setting() {
    let (status, out, _) = run(&["serve", "--help"]);
    assert_eq!(status, Some(0));
    for setting in roster::config::SETTINGS {
        assert!(out.contains(&format!("--{}", setting.flag)), "{}", setting.flag);
        assert!(out.contains(&format!("[env: {}]", setting.env)), "{}", setting.env);
    }
    assert!(out.contains("--dev"));
    let (status, _, err) = run(&["serve", "--lisen", "x"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("'--listen'"), "{err}");
}

#[test]
fn both_ways_to_ask_for_the_version_answer() {
    let version = concat!("roster ", env!("CARGO_PKG_VERSION"));
    let (status, out, _) = run(&["--version"]);
    assert_eq!((status, out.trim_end()), (Some(0), version));
    let (status, out, _) = run(&["version"]);
    assert_eq!(status, Some(0));
    assert!(out.starts_with(&format!("{version} (")), "{out}");
}

/// Starts the service on a free port and waits for its banner.
fn serve(place: &Path, arguments: &[&str]) -> Process {
    let mut command = roster(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(arguments).current_dir(place).env("TMPDIR", place).stderr(Stdio::piped());
    Process::start(&mut command)
}

#[test]
fn a_stop_signal_ends_the_service_with_success() {
    for signal in ["TERM", "INT"] {
        let place = tempfile::tempdir().unwrap();
        let mut service = serve(place.path(), &["--log-format", "json"]);
        assert!(!service.address().ends_with(":0"), "the banner names the real port");
        assert!(service.banner().contains(place.path().join("roster-data").to_str().unwrap()));
        let curl = format!("http://{}/users", service.address());
        assert!(service.banner().trim_end().ends_with(&curl), "{}", service.banner());
        service.signal(signal);
        let (status, log) = service.end();
        assert_eq!(status, Some(0), "{log}");
        for line in log.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let time = line.get("timestamp").and_then(serde_json::Value::as_str).unwrap();
            assert!(time.ends_with('Z'), "{time}");
        }
        assert!(place.path().join("roster-data").is_dir(), "the data stays");
    }
}

#[test]
fn a_trial_run_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let mut service = serve(place.path(), &["--dev"]);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1, "its temporary directory");
    service.signal("TERM");
    assert_eq!(service.end().0, Some(0));
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn a_port_in_use_is_named() {
    let place = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = roster(&["serve", "--listen", &address]);
    let (status, out, err) = outcome(command.current_dir(&place).output().unwrap());
    assert_eq!((status, out.as_str()), (Some(1), ""));
    let port = taken.local_addr().unwrap().port();
    assert!(err.contains(&format!("error: port {port} on 127.0.0.1 is in use")), "{err}");
    assert!(!err.contains("stopped"), "it never ran: {err}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_removed_lock_file_lets_no_second_process_in() {
    let place = tempfile::tempdir().unwrap();
    let service = serve(place.path(), &[]);
    std::fs::remove_file(place.path().join("roster-data/roster.lock")).unwrap();
    let mut second = roster(&["serve", "--listen", "127.0.0.1:0"]);
    let (status, _, err) = outcome(second.current_dir(&place).output().unwrap());
    assert_eq!(status, Some(1));
    assert!(err.contains("another process holds") && err.contains("roster.db"), "{err}");
    service.create(r#"{"username":"ada"}"#);
    // A takeover waits for the same locks.
    let mut second = roster(&["serve", "--listen", "127.0.0.1:0", "--takeover-wait-ms", "30000"]);
    let mut second = Process::spawn(second.current_dir(&place).stderr(Stdio::null()));
    std::thread::sleep(std::time::Duration::from_millis(300));
    service.create(r#"{"username":"ben"}"#);
    service.stop();
    second.listens();
    second.create(r#"{"username":"cyd"}"#);
    second.stop();
}

#[test]
fn a_directory_that_others_may_change_is_named() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("roster-data");
    std::fs::create_dir(&data).unwrap();
    for (mode, words) in [(0o777, "may replace files in"), (0o755, "may enter")] {
        std::fs::set_permissions(&data, PermissionsExt::from_mode(mode)).unwrap();
        let mut service = serve(place.path(), &[]);
        service.signal("TERM");
        let (status, log) = service.end();
        assert_eq!(status, Some(0));
        assert!(log.contains(words), "{log}");
        let create = ["keys", "create", "a", "--scope", "scim", "--data", data.to_str().unwrap()];
        let (_, _, err) = run(&create);
        assert!(err.contains(&format!("warning: others on this machine {words}")), "{err}");
    }
}

/// Runs this copy of the binary as a user without permissions, also if root runs this test.
fn run_as_other(binary: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(binary);
    command.args(arguments).env_clear();
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    outcome(command.output().unwrap())
}

#[test]
fn a_directory_that_may_not_be_read_is_not_an_absent_one() {
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(&place, PermissionsExt::from_mode(0o755)).unwrap();
    let data = place.path().join("data");
    let data = data.to_str().unwrap();
    let create = ["keys", "create", "a", "--scope", "scim", "--data", data];
    assert_eq!(run(&create).0, Some(0));
    // Copied by another process: no child of this one may have the copy open for writing.
    let binary = place.path().join("roster");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_roster")).arg(&binary).status();
    assert!(copied.unwrap().success());
    let file = place.path().join("data/roster.db");
    for (path, mode) in [(place.path().join("data"), 0o000), (file, 0o000)] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        for command in
            ["keys list", "keys revoke 3hGk9PzQ7a", "policy show", "check", "backup x.backup"]
        {
            let words: Vec<_> = command.split(' ').chain(["--data", data]).collect();
            let (status, _, err) = run_as_other(&binary, &words);
            assert_eq!(status, Some(1), "{command}");
            let named = err.contains(&format!("{data}/roster.db")) || err.contains(data);
            assert!(named && err.contains("Permission denied"), "{command}: {err}");
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_flag_for_the_port_leads_to_listen() {
    for arguments in [&["serve", "--port", "8081"][..], &["health", "--host=x"]] {
        let (status, _, err) = run(arguments);
        assert_eq!(status, Some(2));
        assert!(err.contains("use --listen ADDRESS:PORT"), "{err}");
    }
    let (_, _, err) = run(&["backup", "--port", "8081", "x"]);
    assert!(!err.contains("--listen"), "{err}");
}

#[test]
fn commands_on_a_directory_without_a_store_create_nothing() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("typo");
    for command in [
        "keys list",
        "keys rotate 3hGk9PzQ7a",
        "keys revoke 3hGk9PzQ7a",
        "policy show",
        "policy set email-uniqueness none",
        "check",
        "backup x.backup",
    ] {
        let words: Vec<_> = command.split(' ').chain(["--data", data.to_str().unwrap()]).collect();
        let (status, out, err) = run(&words);
        assert_eq!((status, out.as_str()), (Some(1), ""), "{command}");
        assert!(err.contains("no Roster database") || err.contains("holds no store"), "{err}");
        assert!(!data.exists(), "{command}");
    }
    // The first key may be created before the first start.
    let create = ["keys", "create", "a", "--scope", "scim", "--data", data.to_str().unwrap()];
    let (status, _, err) = run(&create);
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("a new data directory is created"), "{err}");
    assert_eq!(run(&["keys", "list", "--data", data.to_str().unwrap()]).0, Some(0));
}
