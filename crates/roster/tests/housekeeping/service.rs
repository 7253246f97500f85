//! The built binary purges by itself.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use roster_testkit::process::Process;

/// Longest wait for what is to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running service, ended with the test.
struct Service(Process);

impl Service {
    fn start(data: &std::path::Path, keep: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--deleted-keep", keep, "--data"]);
        Self(Process::start(command.arg(data).env_clear().stderr(Stdio::null())))
    }

    /// The answer to a request on a connection of its own.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut connection = TcpStream::connect(self.0.address()).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, length) = (self.0.address(), body.len());
        write!(
            connection,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Creates and deletes a user.
    fn delete_one(&self) {
        let created = self.ask("POST", "/users", r#"{"username":"ada"}"#);
        let (_, id) = created.split_once("\"id\":\"").unwrap();
        let deleted = self.ask("DELETE", &format!("/users/{}", &id[..36]), "");
        assert!(deleted.starts_with("HTTP/1.1 204"), "{deleted}");
    }

    /// How many deleted users are kept.
    fn kept(&self) -> usize {
        let metrics = self.ask("GET", "/metrics", "");
        let line = "roster_users{status=\"deleted\"} ";
        metrics.lines().find_map(|text| text.strip_prefix(line)).unwrap().parse().unwrap()
    }
}

#[test]
fn a_deleted_user_is_purged_by_itself() {
    let place = tempfile::tempdir().unwrap();
    let service = Service::start(place.path(), "1s");
    service.delete_one();
    let begin = Instant::now();
    while service.kept() > 0 {
        assert!(begin.elapsed() < PATIENCE, "nobody purges");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_deleted_user_is_kept_as_long_as_it_is_told_to() {
    let place = tempfile::tempdir().unwrap();
    let service = Service::start(place.path(), "never");
    service.delete_one();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(service.kept(), 1);
}
