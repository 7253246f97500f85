//! Streams in one process while their key is revoked in another process.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use roster_testkit::process::{Engine, Place, Process};

use super::{BINARY, id, keys, out};

/// A request whose response is still arriving.
struct Running {
    stream: TcpStream,
    came: Vec<u8>,
}

impl Running {
    fn begin(service: &Process, key: &str, request: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(service.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let host = service.address();
        let head = format!("{request} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n");
        stream.write_all(format!("{head}{headers}\r\n").as_bytes()).unwrap();
        Self { stream, came: Vec::new() }
    }

    /// Reads until this text has arrived.
    fn until(&mut self, wanted: &str) {
        while !String::from_utf8_lossy(&self.came).contains(wanted) {
            let mut some = [0; 4096];
            let count = self.stream.read(&mut some).unwrap();
            assert_ne!(count, 0, "{wanted}: {}", String::from_utf8_lossy(&self.came));
            self.came.extend(some.iter().take(count));
        }
    }

    /// Reads to the end, normal or not. Returns everything that arrived, and the time of the end.
    fn rest(mut self) -> (String, Instant) {
        match self.stream.read_to_end(&mut self.came) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
        (String::from_utf8_lossy(&self.came).into_owned(), Instant::now())
    }
}

#[test]
fn a_key_revoked_through_one_process_ends_the_streams_of_another() {
    let place = Place::new(Engine::Postgres);
    let admin = out(&keys(&place, &["create", "admin", "--scope", "all"]));
    let key = out(&keys(&place, &["create", "one", "--scope", "users:read,users:write"]));
    let services = [(); 2].map(|()| Process::start(&mut place.serve(BINARY)));
    let [one, other] = &services;
    let by_admin = format!("Authorization: Bearer {admin}\r\n");
    // Enough users that an export takes much longer than the test allows.
    let attributes = "x".repeat(15_000);
    let user = |n| format!("{{\"username\":\"u{n}\",\"attributes\":{{\"x\":\"{attributes}\"}}}}\n");
    let lines = (0..2_500).map(user).collect::<Vec<String>>().concat();
    let length =
        format!("Content-Type: application/x-ndjson\r\nContent-Length: {}\r\n", lines.len());
    let mut filled = Running::begin(one, &admin, "POST /bulk/users", &length);
    filled.stream.write_all(lines.as_bytes()).unwrap();
    filled.until("\"done\":true,\"lines\":2500,\"created\":2500");

    let chunked = "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n";
    let mut import = Running::begin(other, &key, "POST /bulk/users", chunked);
    import.stream.write_all(b"13\r\n{\"username\":\"ada\"}\n\r\n").unwrap();
    import.until("{\"line\":1,\"processed\":1,\"status\":201");
    // The client reads as slowly as is allowed, so that the export would run for minutes.
    let mut export = Running::begin(other, &key, "GET /bulk/users", "");
    export.until("\"username\":\"u1\"");

    let revoked = one.ask_with(&by_admin, "DELETE", &format!("/keys/{}", id(&key)), "");
    let answered = Instant::now();
    assert_eq!(revoked.status, 204);
    let (told, ended) = import.rest();
    let took = ended.duration_since(answered);
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert!(
        told.contains("{\"line\":2,\"processed\":1,\"status\":401") && !told.contains("\"done\""),
        "{told}"
    );
    assert!(!told.ends_with("\r\n0\r\n\r\n"), "no end that looks like one");
    std::thread::sleep(Duration::from_secs(1));
    let (sent, _) = export.rest();
    assert!(!sent.ends_with("\r\n0\r\n\r\n"), "no end that looks like one");
    assert!(!sent.contains("\"username\":\"u2499\""), "{} bytes", sent.len());
    for service in services {
        service.stop();
    }
}
