//! Logging in, and where a key goes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;

use super::{Shell, run};

over_each_engine! {
    a_login_is_remembered,
    a_key_is_kept_from_others,
}

fn a_login_is_remembered(engine: Engine) {
    let shell = Shell::new(engine);
    let port = format!(":{}", shell.service.address().rsplit_once(':').unwrap().1);
    let ran = run(&mut shell.command(&["login", &port]), "");
    assert!(ran.err.contains("the service is open"), "{ran:?}");
    assert_eq!(ran.succeeded(), "");
    let mut list = shell.command(&["users", "list"]);
    assert!(run(&mut list, "").err.contains("no users"));
    let key = shell.operator();
    run(&mut list, "").failed(3, &["roster login"]);
    // The key comes from stdin, and is shown nowhere.
    let ran = run(&mut shell.command(&["login", &port, "--key-file", "-"]), &key);
    assert!(ran.err.contains("as operator"), "{ran:?}");
    let whoami = run(&mut shell.command(&["whoami"]), "").succeeded();
    assert!(whoami.contains("operator") && !whoami.contains(&key), "{whoami}");
    run(&mut list, "").succeeded();
    // The tenant and the URL of a flag take precedence.
    run(&mut shell.command(&["users", "list", "--tenant", "acme"]), "").failed(5, &["tenant"]);
    run(&mut shell.command(&["users", "list", "--url", "127.0.0.1:1"]), "").failed(8, &[":1"]);
    run(&mut shell.command(&["users", "list", "--profile", "other"]), "")
        .failed(2, &["the profiles are 127.0.0.1:"]);
    flags_win_over_variables(&shell);
    run(&mut shell.command(&["logout"]), "").succeeded();
    run(&mut shell.command(&["logout"]), "").failed(5, &["not logged in"]);
    // What the environment names counts as a flag does.
    run(&mut shell.command(&["login"]), "").failed(2, &["roster login URL"]);
    let mut login = shell.command(&["login"]);
    let file = shell.file("key", &key);
    login.env("ROSTER_URL", shell.url()).env("ROSTER_KEY_FILE", &file);
    run(login.env("ROSTER_TENANT", "acme").env("ROSTER_PROFILE", "work"), "")
        .failed(5, &["no such tenant"]);
    run(login.env_remove("ROSTER_TENANT"), "").failed(0, &["profile work"]);
    for name in ["ROSTER_TENANT", "ROSTER_URL", "ROSTER_PROFILE"] {
        let mut list = shell.command(&["users", "list"]);
        list.env(name, OsStr::from_bytes(b"acm\xe9"));
        run(&mut list, "").failed(78, &[name, "UTF-8"]);
    }
    run(&mut shell.command(&["logout"]), "").succeeded();
    // Nobody is asked for a key of a service that is not there.
    run(&mut shell.command(&["login", "127.0.0.1:1"]), "").failed(8, &["cannot be reached"]);
    shell.run(&["users", "list"]).failed(3, &["roster login"]);
    shell.service.stop();
}

/// With a profile whose name is the address of the service.
fn flags_win_over_variables(shell: &Shell) {
    let profile = shell.service.address();
    let list = |variables: [(&str, &str); 2], flags: &[&str]| {
        let mut command = shell.command(&[&["users", "list"], flags].concat());
        run(command.envs(variables), "")
    };
    let nothing = ("ROSTER_KEY_FILE", "");
    let elsewhere = ("ROSTER_URL", "127.0.0.1:1");
    list([elsewhere, nothing], &["--profile", profile]).succeeded();
    let here = ("ROSTER_PROFILE", profile);
    list([here, nothing], &["--url", profile]).succeeded();
    list([here, nothing], &["--url", "127.0.0.1:1"]).failed(8, &["127.0.0.1:1"]);
    list([("ROSTER_PROFILE", "other"), nothing], &["--url", profile]).succeeded();
    // Two flags, or two variables, must not contradict each other.
    list([nothing; 2], &["--profile", profile, "--url", ":1"]).failed(2, &["is not that of"]);
    list([here, elsewhere], &[]).failed(2, &["is not that of"]);
}

fn a_key_is_kept_from_others(engine: Engine) {
    let shell = Shell::new(engine);
    let key = shell.operator();
    let login = ["login", &shell.url(), "--key-file", "-", "--profile", "here"];
    run(&mut shell.command(&login), "rst_wrong").failed(3, &[]);
    run(&mut shell.command(&login), "two words").failed(2, &["one key"]);
    run(&mut shell.command(&["login", &shell.url()]), "").failed(2, &["--key-file"]);
    let twice = ["login", &shell.url(), "--url", "http://127.0.0.1:9"];
    run(&mut shell.command(&twice), "").failed(2, &["cannot be used with"]);
    let ran = run(&mut shell.command(&login), &key);
    assert!(!format!("{ran:?}").contains(&key), "{ran:?}");
    let path = shell.home.path().join(".config/roster/profiles.toml");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    run(&mut shell.command(&["users", "list"]), "").failed(1, &["chmod 600"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    // The error for an invalid file does not show its content.
    fs::write(&path, format!("[profile.here]\nurl = 1\nkey = \"{key}\"\n")).unwrap();
    let ran = run(&mut shell.command(&["users", "list"]), "");
    assert!(ran.status == 1 && !ran.err.contains(&key), "{ran:?}");
    fs::remove_file(&path).unwrap();
    // No key goes over a network that is not encrypted.
    let file = shell.file("key", &key);
    let file = file.to_str().unwrap();
    let remote = ["users", "list", "--url", "http://192.0.2.1:9", "--key-file", file];
    run(&mut shell.command(&remote), "").failed(2, &["unencrypted", "https"]);
    let remote = ["login", "http://192.0.2.1:9", "--key-file", file];
    run(&mut shell.command(&remote), "").failed(2, &["unencrypted", "https"]);
    shell.service.stop();
}
