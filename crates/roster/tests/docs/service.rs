//! The built binary, serving an empty directory for as long as a test looks at it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Where the documents say that the service listens.
const TOLD: [&str; 2] = ["127.0.0.1:8080", "localhost:8080"];

/// A running service.
pub(crate) struct Service {
    child: Child,
    port: String,
    _data: TempDir,
}

impl Service {
    /// Starts a service that calls itself by the address of the documents, on a free port.
    pub(crate) fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_roster"))
            .args(["serve", "--listen", "127.0.0.1:0", "--base-url", "http://127.0.0.1:8080"])
            .args(["--log", "error", "--data"])
            .arg(data.path().join("roster-data"))
            .env_clear()
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        let mut banner = String::new();
        while !banner.contains("Try:") {
            assert_ne!(out.read_line(&mut banner).unwrap(), 0, "ended early: {first}{banner}");
        }
        let port = first.trim().rsplit(':').next().unwrap().to_owned();
        Self { child, port, _data: data }
    }

    /// What a curl command line of the documents prints.
    pub(crate) fn curl(&self, command: &str) -> String {
        let here = format!("127.0.0.1:{}", self.port);
        let command = TOLD.iter().fold(command.to_owned(), |text, told| text.replace(told, &here));
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}\n{complaint}");
        String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
