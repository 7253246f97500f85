//! A store to migrate, and the command that migrates it.

use std::path::{Path, PathBuf};
use std::process::Command;

use roster_testkit::postgres::Database;
use roster_testkit::process::{Answer, Engine, Place, Process};

/// The host name of every service, whatever its port.
const BASE_URL: &str = "http://directory.localhost";

/// The header of a request that may be repeated.
pub(crate) const ONCE: &str = "Idempotency-Key: \"first\"\r\n";
pub(crate) const ONCE_UNCHANGED: &str = "Idempotency-Key: \"second\"\r\n";

/// Exit status, stdout and stderr of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    /// The output of a command that must succeed.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.status, Some(0), "{self:?}");
        assert!(!self.err.contains("error"), "{self:?}");
        self.out
    }

    /// The error of a command that must fail.
    #[track_caller]
    pub(crate) fn failure(self) -> String {
        assert_eq!((self.status, self.out.as_str()), (Some(1), ""), "{self:?}");
        let (_, told) = self.err.split_once("error: ").unwrap();
        assert!(!told.contains("panicked") && told.lines().count() == 1, "{told}");
        told.trim_end().to_owned()
    }
}

/// A directory that a service of the SQLite engine has used.
pub(crate) struct Store {
    place: Place,
}

impl Store {
    /// A directory without users.
    pub(crate) fn empty() -> Self {
        Self { place: Place::new(Engine::Sqlite) }
    }

    /// A directory with every kind of data.
    pub(crate) fn filled() -> Self {
        let store = Self::empty();
        let service = store.serve();
        fill(&service);
        service.stop();
        store
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.place.path().join("roster-data")
    }

    /// A service on it.
    pub(crate) fn serve(&self) -> Process {
        start(self.place.serve(env!("CARGO_BIN_EXE_roster")))
    }

    /// Migrates it, in chunks of one or a few rows.
    pub(crate) fn migrate(&self, to: &str) -> Outcome {
        migrate(&self.directory(), to, &["--chunk-bytes", "2000"])
    }
}

/// Runs the command.
pub(crate) fn migrate(from: &Path, to: &str, more: &[&str]) -> Outcome {
    outcome(command(from).args(["--to", to]).args(more))
}

/// The command without a database.
pub(crate) fn command(from: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(["migrate", "--from"]).arg(from).env_clear();
    command
}

/// The result of a command.
pub(crate) fn outcome(command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A service on a database, in a directory.
pub(crate) fn serve(place: &Path, database: &Database) -> Process {
    start(serving(place, &database.url()))
}

/// The error of a service that must not start on a database.
pub(crate) fn refusal_to_serve(place: &Path, database: &Database) -> String {
    let output = serving(place, &database.url()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn serving(place: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--log",
        "error",
        "--allow-open",
        "--database",
        url,
    ]);
    command.current_dir(place).env_clear();
    command
}

fn start(mut command: Command) -> Process {
    Process::start(command.args(["--base-url", BASE_URL]))
}

fn fill(service: &Process) {
    for n in 0..40 {
        let user = format!(
            r#"{{"username":"user {n:02}","email":"U{n}@X.example","name":"Ada {n} Grün 李",
                "family_name":"Grün{}","phone_numbers":[{{"value":"+4{n}"}},{{"value":"+9{n}"}}],
                "emails":[{{"value":"U{n}@X.example","primary":true}},{{"value":"o{n}@b.example"}}],
                "attributes":{{"text":"{}"}}}}"#,
            n % 3,
            "\\t\\\" 🌻 ".repeat(n),
        );
        must(service.ask("POST", "/users", &user), 201);
    }
    let once = must(service.ask_with(ONCE, "POST", "/users", r#"{"username":"once"}"#), 201);
    let once = path(&once);
    must(service.ask_with(ONCE_UNCHANGED, "PATCH", &once, "{}"), 200);
    must(service.ask("POST", "/users", r#"{"email":"a@bare.example","external_id":"ff"}"#), 201);
    let users = service.ask("GET", "/users?limit=40", "").body;
    let path = |n: usize| format!("/users/{}", users["items"][n]["id"].as_str().unwrap());
    for n in 0..10 {
        let change = format!(r#"{{"status":"suspended","title":"Dr {n}"}}"#);
        must(service.ask("PATCH", &path(n), &change), 200);
    }
    for n in 5..12 {
        must(service.ask("DELETE", &path(n), ""), 204);
    }
    let deleted = |n| format!("/deleted-{}", path(n).trim_start_matches('/'));
    must(service.ask("POST", &format!("{}/restore", deleted(6)), ""), 200);
    must(service.ask("DELETE", &deleted(7), ""), 204);
}

/// The path of the user in a response.
pub(crate) fn path(answer: &Answer) -> String {
    format!("/users/{}", answer.body["id"].as_str().unwrap())
}

#[track_caller]
pub(crate) fn must(answer: Answer, status: u16) -> Answer {
    assert_eq!(answer.status, status, "{answer:?}");
    answer
}
