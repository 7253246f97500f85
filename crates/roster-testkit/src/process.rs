//! A service in a separate process, for tests of the built binary over each engine.
//!
//! The service accepts requests once it is created, and stops with the test. Its store is created
//! for the test and removed with it. This module contains no specific requests.

#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "this is how a test fails")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::postgres::{Cluster, Database};

/// Makes a test of each function for each engine, so that a failure names both:
/// `over_each_engine! { case, other_case }` with `fn case(engine: Engine)` beside it.
#[macro_export]
macro_rules! over_each_engine {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[test]
                fn $case() {
                    super::$case($crate::process::Engine::Sqlite);
                }
            )*
        }

        mod postgres {
            $(
                #[test]
                fn $case() {
                    super::$case($crate::process::Engine::Postgres);
                }
            )*
        }
    };
}

/// The storage engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file in the data directory.
    Sqlite,
    /// A database of the tests' PostgreSQL.
    Postgres,
}

/// An empty directory and, for PostgreSQL, an empty database.
#[derive(Debug)]
pub struct Place {
    directory: TempDir,
    database: Option<Database>,
}

/// The binary that `cargo build --workspace` made, for the example of a crate that cannot name it.
#[must_use]
pub fn built() -> String {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        std::path::PathBuf::from,
    );
    let binary = target.join("debug/roster");
    assert!(binary.exists(), "cargo build --workspace makes {}", binary.display());
    binary.display().to_string()
}

/// The maximum wait for a response, for an expected state, and for the end of a process.
const PATIENCE: Duration = Duration::from_secs(30);

/// A response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Status line and header fields, as received.
    pub head: String,
    /// The body, as received.
    pub text: String,
    /// The body parsed as JSON; null if it is not JSON.
    pub body: Value,
}

/// A running service.
#[derive(Debug)]
pub struct Process {
    child: Child,
    banner: String,
    address: String,
}

impl Place {
    /// Creates a place for this engine.
    pub fn new(engine: Engine) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Cluster::shared().database()),
        };
        Self { directory, database }
    }

    /// The database, if there is one.
    pub const fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The directory, in which services run.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The command that serves this place on a free loopback port, with an empty environment.
    pub fn serve(&self, binary: &str) -> Command {
        self.serve_telling(binary, "error")
    }

    /// The same, with a log of this level.
    pub fn serve_telling(&self, binary: &str, level: &str) -> Command {
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", level]);
        if let Some(database) = &self.database {
            command.args(["--allow-open", "--database", &database.url()]);
        }
        command.current_dir(&self.directory).env_clear();
        command
    }
}

impl Answer {
    /// Fails the test unless the response is this problem.
    #[track_caller]
    pub fn must_be(&self, status: u16, code: &str) {
        let told = self.body.get("code").and_then(Value::as_str);
        assert_eq!((self.status, told), (status, Some(code)), "{self:?}");
    }
}

impl Process {
    /// Starts the command and waits until it prints its address.
    pub fn start(command: &mut Command) -> Self {
        let mut process = Self::spawn(command);
        process.listens();
        process
    }

    /// Starts the command without waiting.
    pub fn spawn(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        Self { child, banner: String::new(), address: String::new() }
    }

    /// Waits until the service prints its address. Returns host and port.
    pub fn listens(&mut self) -> &str {
        let mut out = BufReader::new(self.child.stdout.as_mut().expect("it is piped"));
        while !self.banner.contains("Try:") {
            let read = out.read_line(&mut self.banner).expect("the banner is text");
            assert_ne!(read, 0, "ended early: {}", self.banner);
        }
        let (_, url) = self.banner.split_once("listens on ").expect("it listens");
        let (_, rest) = url.split_once("://").expect("a URL");
        rest.split(['/', '\n']).next().expect("an address").clone_into(&mut self.address);
        &self.address
    }

    /// The text that it printed when it began to listen.
    pub fn banner(&self) -> &str {
        &self.banner
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        ask(&self.address, method, path, body)
    }

    /// Sends a GET request.
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    /// Waits until a path returns this status.
    #[track_caller]
    pub fn wait_for(&self, path: &str, status: u16) {
        let began = Instant::now();
        while self.get(path).status != status {
            assert!(began.elapsed() < PATIENCE, "{path} never answers {status}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a request with further header fields, each a line that ends in CR LF.
    pub fn ask_with(&self, lines: &str, method: &str, path: &str, body: &str) -> Answer {
        exchange(&self.address, lines, method, path, body)
    }

    /// Creates a user, which must succeed. Returns its path.
    pub fn create(&self, user: &str) -> String {
        let created = self.ask("POST", "/users", user);
        assert_eq!(created.status, 201, "{created:?}");
        let id = created.body.get("id").and_then(Value::as_str).expect("an id");
        format!("/users/{id}")
    }

    /// Kills the process.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
    }

    /// Sends a signal to this process and no other.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status().expect("a shell");
        assert!(sent.success(), "it runs");
    }

    /// Stops the process as an operator does. It must exit with success. Returns its log if it is
    /// piped.
    pub fn stop(mut self) -> String {
        self.signal("TERM");
        let (status, log) = self.end();
        assert_eq!(status, Some(0), "{log}");
        log
    }

    /// Waits for the end. Returns the exit status and, if it is piped, the log.
    pub fn end(&mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "it never ended");
            thread::sleep(Duration::from_millis(5));
        };
        let mut log = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut log).expect("the log is text");
        }
        (status.code(), log)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a request to the service at an address, on a new connection.
pub fn ask(address: &str, method: &str, path: &str, body: &str) -> Answer {
    exchange(address, "", method, path, body)
}

fn exchange(address: &str, lines: &str, method: &str, path: &str, body: &str) -> Answer {
    let mut connection = TcpStream::connect(address).expect("it listens");
    connection.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    let media = match method {
        "PATCH" => "merge-patch+json",
        "POST" if path.starts_with("/bulk/") => "x-ndjson",
        _ => "json",
    };
    let content = match body.len() {
        0 => String::new(),
        length => format!("Content-Type: application/{media}\r\nContent-Length: {length}\r\n"),
    };
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let request = format!("{head}{lines}{content}\r\n{body}");
    connection.write_all(request.as_bytes()).expect("it takes requests");
    let mut text = String::new();
    connection.read_to_string(&mut text).expect("it answers");
    let (head, text) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_owned(),
        text: text.to_owned(),
        body: serde_json::from_str(text).unwrap_or_default(),
    }
}
