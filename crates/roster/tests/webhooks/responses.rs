//! Responses that a receiver writes by hand.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use roster_testkit::process::{Engine, Place};
use serde_json::json;

use crate::{create, last_error, serve, users, wait_until};

pub(super) fn a_receiver_can_finish_its_response(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    create(&service, &json!({"name": "x", "url": url}));
    users(&service, 0..1);
    let mut stream = request(&listener);
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").unwrap();
    for part in [b"o", b"k"] {
        thread::sleep(Duration::from_millis(200));
        stream.write_all(part).unwrap();
    }
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "it is closed in order");
    service.stop();
}

pub(super) fn a_large_head_is_named(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let webhook = create(&service, &json!({"name": "x", "url": url}));
    users(&service, 0..1);
    let field = format!("x-note: {}\r\n", "n".repeat(1024)).repeat(20);
    let head = format!("HTTP/1.1 200 OK\r\n{field}content-length: 0\r\n\r\n");
    // The service may close the connection before it has read all of it.
    drop(request(&listener).write_all(head.as_bytes()));
    wait_until(&service, &webhook, "attempts", &json!(1));
    let error = last_error(&service, &webhook);
    assert_eq!(error, "no complete response: message head is too large");
    service.stop();
}

/// Receives one request.
fn request(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"}}") {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).unwrap();
        request.extend_from_slice(&part[..count]);
    }
    stream
}
