//! The built binary on a disk that fails on demand.
//!
//! Every process that a test starts is stopped by that test.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use roster_testkit::process::{Answer, Process};
use serde_json::Value;
use tempfile::TempDir;

/// A directory for the data, the shim, and the switches of its faults.
pub(crate) struct Disk(TempDir);

impl Disk {
    /// Compiles the shim, with no fault switched on.
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"]);
        let status = compiler.arg(place.path().join("shim.so")).arg(source).status().unwrap();
        assert!(status.success(), "the shim does not compile");
        fs::create_dir(place.path().join("faults")).unwrap();
        Self(place)
    }

    /// Switches a fault on.
    pub(crate) fn begin(&self, fault: &str) {
        fs::write(self.0.path().join("faults").join(fault), "").unwrap();
    }

    /// Makes these pages of the database unreadable.
    pub(crate) fn lose(&self, pages: &[usize]) {
        let pages: Vec<String> = pages.iter().map(usize::to_string).collect();
        fs::write(self.0.path().join("faults/fail-read"), pages.join("\n")).unwrap();
    }

    /// The pages of the database that contain this text.
    pub(crate) fn pages_with(&self, text: &str) -> Vec<usize> {
        let bytes = fs::read(self.0.path().join("data/roster.db")).unwrap();
        let text = text.as_bytes();
        let has_it = |page: &[u8]| page.windows(text.len()).any(|part| part == text);
        (1..).zip(bytes.chunks(4096)).filter(|(_, page)| has_it(page)).map(|(n, _)| n).collect()
    }

    /// Whether a file has this name in the place of the disk.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }

    /// Switches a fault off.
    pub(crate) fn end(&self, fault: &str) {
        fs::remove_file(self.0.path().join("faults").join(fault)).unwrap();
    }

    /// The length of the write-ahead log.
    pub(crate) fn log_bytes(&self) -> u64 {
        fs::metadata(self.0.path().join("data/roster.db-wal")).unwrap().len()
    }
}

/// Starts the service on this disk and waits until it listens.
pub(crate) fn start(disk: &Disk) -> Process {
    Process::start(serve(disk).stderr(Stdio::null()))
}

/// Starts the service on a disk on which the start must fail. Returns its stderr.
pub(crate) fn refused(disk: &Disk) -> String {
    let output = serve(disk).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

/// Runs a command on the directory of this disk. Returns its exit status and its output.
pub(crate) fn run(disk: &Disk, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = on(disk);
    let output = command.args(arguments).args(["--data", "data"]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// Creates a user with this name.
pub(crate) fn create(service: &Process, username: &str) -> Answer {
    service.ask("POST", "/users", &format!(r#"{{"username":"{username}"}}"#))
}

/// Whether a user with this name exists.
pub(crate) fn has(service: &Process, username: &str) -> bool {
    let answer = service.get(&format!("/users?username={username}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    !answer.body["items"].as_array().unwrap().is_empty()
}

/// Asserts that reads work: each user is returned as in the response to its write.
#[track_caller]
pub(crate) fn must_have(service: &Process, users: &[Value]) {
    for user in users {
        let answer = service.get(&format!("/users/{}", user["id"].as_str().unwrap()));
        assert_eq!((answer.status, &answer.body), (200, user));
    }
    assert_eq!(service.get("/users").status, 200);
    assert_eq!(service.get("/livez").status, 200);
}

/// The binary on this disk.
fn on(disk: &Disk) -> Command {
    let place = disk.0.path();
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command
        .current_dir(place)
        .env_clear()
        .env("LD_PRELOAD", place.join("shim.so"))
        .env("FAULTS_DIRECTORY", place.join("faults"));
    command
}

/// The command that serves this disk.
fn serve(disk: &Disk) -> Command {
    let mut command = on(disk);
    // No cache, so that every read uses the file.
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--cache-entries", "0"])
        .args(["--disk-floor-bytes", "0", "--log", "error", "--data", "data"])
        .stdout(Stdio::piped());
    command
}
