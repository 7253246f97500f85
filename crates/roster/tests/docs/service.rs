//! The built binary, which serves an empty directory during a test.

use std::path::Path;
use std::process::{Command, Stdio};

use roster_testkit::process::{Engine, Place, Process};

/// The address of the service in the documents.
const TOLD: [&str; 2] = ["127.0.0.1:8080", "localhost:8080"];

/// Starts a service on a free port whose base URL is the address in the documents. The directory is
/// removed when it is dropped.
pub(crate) fn serve() -> (Place, Process) {
    let place = Place::new(Engine::Sqlite);
    let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
    let service = Process::start(command.args(["--base-url", "http://127.0.0.1:8080"]));
    (place, service)
}

/// The output of a command line of the documents: that of `roster` as a terminal shows it, in a
/// home directory of its own.
pub(crate) fn output(place: &Place, service: &Process, command: &str) -> String {
    if !["roster ", "printf "].iter().any(|name| command.starts_with(name)) {
        return curl(service, command);
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_roster")).parent().unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec 2>&1\n{}", here(service, command))])
        .current_dir(place.path())
        .env_clear()
        .env("HOME", place.path())
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    let output = shell.stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().replace(service.address(), TOLD[0])
}

/// A command with the address of the service of this run.
fn here(service: &Process, command: &str) -> String {
    TOLD.iter().fold(command.to_owned(), |text, shown| text.replace(shown, service.address()))
}

/// The output of a curl command line of the documents.
pub(crate) fn curl(service: &Process, command: &str) -> String {
    let command = here(service, command);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &command])
        .current_dir(crate::ROOT)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}\n{complaint}");
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}
