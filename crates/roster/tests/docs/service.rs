//! The built binary, serving an empty directory for as long as a test looks at it.

use std::process::{Command, Stdio};

use roster_testkit::process::{Engine, Place, Process};

/// Where the documents say that the service listens.
const TOLD: [&str; 2] = ["127.0.0.1:8080", "localhost:8080"];

/// Starts a service that calls itself by the address of the documents, on a free port. The place
/// goes when it is dropped.
pub(crate) fn serve() -> (Place, Process) {
    let place = Place::new(Engine::Sqlite);
    let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
    let service = Process::start(command.args(["--base-url", "http://127.0.0.1:8080"]));
    (place, service)
}

/// What a curl command line of the documents prints.
pub(crate) fn curl(service: &Process, command: &str) -> String {
    let here = service.address();
    let command = TOLD.iter().fold(command.to_owned(), |text, shown| text.replace(shown, here));
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}\n{complaint}");
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}
