//! Imports by `roster import` that break off, and how they go on.

use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::{self, sleep},
    time::Duration,
};

use roster_testkit::over_each_engine;
use roster_testkit::process::{Engine, Process};

use super::{Ran, Shell, import::csv_rows, run};

over_each_engine! {
    an_interrupted_import_goes_on,
    an_import_survives_the_end_of_the_service,
    an_import_of_a_file_that_grows_stops,
    an_import_goes_on_with_another_key,
}

/// A service that executes so many lines in a second.
fn slow(engine: Engine, lines: &str) -> Shell {
    Shell::serving(engine, &["--rate-limit-per-s", lines, "--rate-limit-burst", "10"])
}

/// The same service without a limit, at the same address.
fn quick(shell: &Shell) -> Process {
    let address = shell.service.address();
    let mut serve = shell.place.serve(env!("CARGO_BIN_EXE_roster"));
    let at = serve.get_args().position(|word| word == "127.0.0.1:0").unwrap();
    let mut words: Vec<_> = serve.get_args().map(ToOwned::to_owned).collect();
    words[at] = address.into();
    let mut command = Command::new(serve.get_program());
    command.args(words).current_dir(serve.get_current_dir().unwrap()).env_clear();
    serve = command;
    Process::start(&mut serve)
}

/// A file of large rows with line ends, every tenth without a valid address. What is sent cannot be
/// stopped, so there is more than a connection takes.
fn large(shell: &Shell, rows: usize) -> PathBuf {
    let cell = "x\n".repeat(20_000);
    let mut text = "username,email,pad\r\n".to_owned();
    for row in 0..rows {
        let sign = if row % 10 == 9 { " at " } else { "@" };
        write!(text, "u{row},u{row}{sign}example.com,\"{cell}\"\r\n").unwrap();
    }
    shell.file("large.csv", &text)
}

fn import(shell: &Shell, arguments: &[&str]) -> Child {
    let mut command = shell.command(&["import", "large.csv", "--map", "pad:"]);
    command.args(arguments).env("ROSTER_URL", shell.url());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

fn end(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The files in which imports are remembered.
pub(super) fn states(shell: &Shell) -> Vec<PathBuf> {
    let directory = shell.home.path().join(".local/state/roster/imports");
    fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// Checks that an import of the large file is complete and exact.
#[track_caller]
fn is_exact(shell: &Shell, address: &str, rows: usize) {
    let address = format!("http://{address}");
    let names = run(
        &mut shell.command(&[
            "users",
            "list",
            "--url",
            &address,
            "-o",
            "csv",
            "--columns",
            "username",
        ]),
        "",
    );
    let mut names: Vec<String> = names.succeeded().lines().skip(1).map(ToOwned::to_owned).collect();
    let mut expected: Vec<String> =
        (0..rows).filter(|row| row % 10 != 9).map(|row| format!("u{row}")).collect();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    let faults = fs::read_to_string(shell.home.path().join("large.faults.csv")).unwrap();
    let rows = csv_rows(faults.trim_start_matches('\u{feff}'));
    let lines: Vec<&str> = rows[1..].iter().map(|row| &*row[5]).collect();
    let lines_of_all = (0..names.len() + rows.len() - 1).map(|row| 2 + row * 20_001);
    let bad: Vec<String> = lines_of_all.skip(9).step_by(10).map(|line| line.to_string()).collect();
    assert_eq!(lines, bad);
    assert!(rows[1..].iter().all(|row| row[2].len() == 40_000 && row[1].contains(" at ")));
    assert!(states(shell).is_empty());
}

fn an_interrupted_import_goes_on(engine: Engine) {
    const ROWS: usize = 160;
    let mut shell = slow(engine, "20");
    large(&shell, ROWS);
    // The service has users of an import that ended before it noted any result.
    let mut early = import(&shell, &["--faults", "large.faults.csv"]);
    sleep(Duration::from_millis(400));
    early.kill().unwrap();
    early.wait().unwrap();
    end(import(&shell, &[])).failed(6, &["was interrupted before line 1", "--resume, or"]);
    // Lines that were sent still get their results.
    let first = import(&shell, &["--faults", "large.faults.csv", "--resume"]);
    sleep(Duration::from_secs(3));
    signal(&first, "INT");
    let next = "next: roster import large.csv --map pad: --faults large.faults.csv --resume";
    end(first).failed(130, &["are done", "large.csv: ", next]);
    let state = states(&shell).into_iter().find(|path| path.extension().unwrap() == "json");
    let state = state.unwrap();
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600);
    let parent = state.parent().unwrap();
    assert_eq!(fs::metadata(parent).unwrap().permissions().mode() & 0o777, 0o700);
    end(import(&shell, &[]))
        .failed(6, &["was interrupted before line", "--resume, or", "--restart"]);
    shell.run(&["import", "large.csv", "--resume"]).failed(2, &["--map pad: --resume"]);
    // A second signal ends it at once, and so does one that cannot be caught.
    let second = import(&shell, &["--resume"]);
    sleep(Duration::from_millis(600));
    signal(&second, "TERM");
    sleep(Duration::from_millis(50));
    signal(&second, "TERM");
    end(second).failed(130, &["going on at line", "--resume"]);
    let mut third = import(&shell, &["--resume"]);
    sleep(Duration::from_millis(600));
    third.kill().unwrap();
    third.wait().unwrap();
    // Another process over the same file is refused while one runs.
    let spool = fs::File::open(state.with_extension("faults")).unwrap();
    spool.lock().unwrap();
    for further in [&["--resume"][..], &["--restart"], &[]] {
        end(import(&shell, further)).failed(6, &["another process"]);
    }
    drop(spool);
    // A file that was changed since is another one.
    let path = shell.home.path().join("large.csv");
    let text = fs::read(&path).unwrap();
    touch(&path);
    end(import(&shell, &["--resume"])).failed(6, &["was changed since", "--restart"]);
    // With --restart, what the interrupted import created is no conflict.
    assert_eq!(fs::read(&path).unwrap(), text);
    shell.service.signal("KILL");
    shell.service.end();
    shell.service = quick(&shell);
    let failed = "144 created, 0 replaced, 0 skipped, 16 failed";
    end(import(&shell, &["--restart"])).failed(7, &[failed]);
    is_exact(&shell, shell.service.address(), ROWS);
    shell.service.stop();
}

/// Changes the time of a file.
fn touch(path: &Path) {
    let touched = Command::new("touch").args(["-d", "2020-01-01"]).arg(path).status();
    assert!(touched.unwrap().success());
}

fn an_import_survives_the_end_of_the_service(engine: Engine) {
    const ROWS: usize = 120;
    let mut shell = slow(engine, "20");
    large(&shell, ROWS);
    let running = import(&shell, &[]);
    sleep(Duration::from_millis(1200));
    shell.service.signal("KILL");
    shell.service.end();
    sleep(Duration::from_millis(1200));
    shell.service = quick(&shell);
    let ran = end(running);
    ran.failed(7, &["trying again in 1 s", "108 created, 0 replaced, 0 skipped, 12 failed"]);
    is_exact(&shell, shell.service.address(), ROWS);
    shell.service.stop();
}

fn an_import_of_a_file_that_grows_stops(engine: Engine) {
    let shell = slow(engine, "20");
    let path = large(&shell, 120);
    let running = import(&shell, &[]);
    sleep(Duration::from_millis(700));
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"late,").unwrap();
    end(running).failed(6, &["it became longer while it was read", "large.csv: ", "--restart"]);
    shell.service.stop();
}

fn an_import_goes_on_with_another_key(engine: Engine) {
    const ROWS: usize = 120;
    let mut shell = slow(engine, "20");
    large(&shell, ROWS);
    let operator = format!("Authorization: Bearer {}\r\n", shell.operator());
    let body = r#"{"name": "first", "scopes": ["users:write"]}"#;
    let first = shell.service.ask_with(&operator, "POST", "/keys", body).body;
    let file = shell.file("first", first["key"].as_str().unwrap());
    let running = import(&shell, &["--key-file", file.to_str().unwrap()]);
    sleep(Duration::from_millis(700));
    let path = format!("/keys/{}", first["id"].as_str().unwrap());
    assert_eq!(shell.service.ask_with(&operator, "DELETE", &path, "").status, 204);
    let login = "next: roster login URL stores a key";
    end(running).failed(3, &[login, "; then roster import large.csv --map pad: --key-file"]);
    end(import(&shell, &["--resume"])).failed(3, &[login]);
    let other = shell.key_file("users:write");
    shell.service.signal("KILL");
    shell.service.end();
    shell.service = quick(&shell);
    let key = ["--resume", "--key-file", other.to_str().unwrap()];
    end(import(&shell, &key)).failed(7, &["108 created, 0 replaced, 0 skipped, 12 failed"]);
    assert!(states(&shell).is_empty());
    shell.service.stop();
}

/// A service that refuses whole requests, and one whose responses break off.
#[test]
fn a_request_that_is_refused_has_stored_nothing() {
    let problem = |status: u16| {
        let body = format!(
            "{{\"type\":\"x\",\"title\":\"Not now\",\"status\":{status},\"code\":\"rate-limited\"}}"
        );
        format!(
            "HTTP/1.1 {status} Later\r\ncontent-type: application/problem+json\r\n\
             retry-after: 0\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let results = |length: usize, results: &str| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\
             content-length: {length}\r\n\r\n{results}"
        )
    };
    let broken = results(9, "");
    // The fate of a write is not known that the database does not answer.
    let line = "{\"line\":2,\"processed\":1,\"status\":503,\"problem\":{\"type\":\"x\",\
                \"title\":\"Unknown fate\",\"status\":503,\"code\":\"unavailable\"}}\n";
    let in_doubt = results(line.len(), line);
    let said = "the service may have stored users before it could say so";
    for (responses, told) in [
        (vec![problem(429); 6], None),
        (vec![problem(503); 6], None),
        ([vec![broken], vec![problem(429); 5]].concat(), Some(said)),
        ([vec![in_doubt], vec![problem(429); 5]].concat(), Some("--resume")),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = thread::spawn(move || {
            for response in responses {
                let mut connection = listener.accept().unwrap().0;
                let mut request = Vec::new();
                while !request.ends_with(b"0\r\n\r\n") {
                    let mut piece = [0; 4096];
                    let count = connection.read(&mut piece).unwrap();
                    request.extend_from_slice(&piece[..count]);
                }
                connection.write_all(response.as_bytes()).unwrap();
            }
        });
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("people.csv"), "username\nada\n").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
        command.args(["import", "people.csv", "--url", &url]).env_clear();
        let ran = run(command.env("HOME", home.path()).current_dir(home.path()), "");
        ran.failed(8, &["trying again in 0 s", "error: Not now"]);
        assert_eq!(ran.err.contains(said), told == Some(said), "{ran:?}");
        assert!(told.is_none_or(|told| ran.err.contains(told)), "{ran:?}");
        let kept = fs::read_dir(home.path().join(".local/state/roster/imports")).unwrap();
        assert_eq!(kept.count() > 0, told.is_some(), "{ran:?}");
        served.join().unwrap();
    }
}
