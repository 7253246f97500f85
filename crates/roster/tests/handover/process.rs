//! The binary with or without a supervisor's socket, and a client that keeps its connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use roster_testkit::process::Process;

/// The maximum wait of a test for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Passes the shell's standard input on as the first socket of a supervisor.
const HAND_OVER: &str =
    "exec 3<&0 0</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http; exec \"$@\"";

/// The binary on the directory `data` of a place, with further arguments.
pub(crate) fn roster(place: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(words.split(' ')).current_dir(place).env_clear().env("PATH", "/usr/bin:/bin");
    command.stderr(Stdio::piped());
    command
}

/// The same, with the supervisor's socket.
pub(crate) fn with_socket(place: &Path, socket: &TcpListener, words: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", HAND_OVER, "sh", env!("CARGO_BIN_EXE_roster")]);
    command.args(words.split(' ')).current_dir(place).env_clear().env("PATH", "/usr/bin:/bin");
    command.stdin(OwnedFd::from(socket.try_clone().unwrap())).stderr(Stdio::piped());
    command
}

/// The exit status and stderr of a process that ends by itself.
pub(crate) fn ended(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Starts a service and waits for its banner. Returns its address.
pub(crate) fn start(command: &mut Command) -> (Process, SocketAddr) {
    let service = Process::start(command);
    let address = service.address().parse().unwrap();
    (service, address)
}

/// A keep-alive connection.
pub(crate) struct Caller {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Caller {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, rest: Vec::new() }
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) {
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        let media = "Content-Type: application/json\r\nContent-Length: ";
        let request = match length {
            0 => format!("{head}\r\n"),
            length => format!("{head}{media}{length}\r\n\r\n{body}"),
        };
        self.stream.write_all(request.as_bytes()).unwrap();
    }

    /// The next response, head and body in one text. Empty if the connection ends instead.
    pub(crate) fn answer(&mut self) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.rest).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                    self.rest.clear();
                    return text;
                }
            }
            let mut piece = [0; 4096];
            let count = self.stream.read(&mut piece).unwrap_or_default();
            if count == 0 {
                assert_eq!(text, "", "an answer broke off");
                return text;
            }
            self.rest.extend(piece.iter().take(count));
        }
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> String {
        self.send(method, path, body);
        self.answer()
    }
}

/// One request on a new connection.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    Caller::of(address).ask(method, path, body)
}

/// The messages to the supervisor, up to the message `last`.
pub(crate) fn told(notices: &UnixDatagram, last: &str) -> Vec<String> {
    notices.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut all = Vec::new();
    let mut message = [0; 1024];
    while !all.iter().any(|told: &String| told.trim_end() == last) {
        let count = notices.recv(&mut message).unwrap();
        let text = message.iter().take(count).copied().collect();
        all.push(String::from_utf8(text).unwrap());
    }
    all
}
