//! Servers that offer TLS and then do something else.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use crate::connect::{ConnectError, Connector};

/// A server that offers TLS, says this, and then nothing more for as long as anybody waits.
fn server(said: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut kept: Vec<TcpStream> = Vec::new();
        for caller in listener.incoming() {
            let mut caller = caller.unwrap();
            let mut request = [0; 8];
            caller.read_exact(&mut request).unwrap();
            // A request for TLS; whoever goes on without it has begun with something else.
            if request == [0, 0, 0, 8, 4, 210, 22, 47] {
                caller.write_all(said).unwrap();
                kept.push(caller);
            }
        }
    });
    address
}

async fn refused(address: SocketAddr, mode: &str) -> ConnectError {
    let connector = Connector::parse(&format!("postgres://a@{address}/b?sslmode={mode}")).unwrap();
    connector.connect().await.map(drop).unwrap_err()
}

#[tokio::test]
async fn a_handshake_that_stands_still_is_given_up_with_its_host() {
    for mode in ["prefer", "require"] {
        let (address, began) = (server(b"S"), Instant::now());
        let error = refused(address, mode).await;
        assert!(matches!(error, ConnectError::Silent { .. }), "{mode}: {error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{mode}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn what_is_no_handshake_is_told_and_prefer_goes_on_without() {
    // The second one has put words before the handshake that nobody has protected.
    for said in [&b"Snonsense, and more of it"[..], b"SE\x00\x00\x00\x14Mwelcome, come in"] {
        let error = refused(server(said), "require").await.to_string();
        assert!(error.contains("TLS with the server failed"), "{error}");
        let error = refused(server(said), "prefer").await.to_string();
        assert!(error.contains("TLS with the server failed"), "{error}");
        assert!(error.contains("; without TLS: "), "{error}");
    }
}
