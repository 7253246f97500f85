//! A connection between the command and the database that can break after a number of bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

/// The direction whose bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Bytes to the database.
    To,
    /// Bytes from the database.
    From,
}

/// A proxy that forwards all bytes until the connection breaks.
pub(crate) struct Wire {
    url: String,
    passed: [Arc<AtomicU64>; 2],
}

impl Wire {
    /// A proxy for the server of a URL, which breaks permanently after this many bytes in this
    /// direction.
    pub(crate) fn to(url: &str, direction: Direction, bytes_max: u64) -> Self {
        let (before, rest) = url.split_once('@').unwrap();
        let (server, path) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let passed = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
        let left =
            |way| if way == direction { i64::try_from(bytes_max).unwrap() } else { i64::MAX };
        let left = [Direction::To, Direction::From].map(|way| Arc::new(AtomicI64::new(left(way))));
        let wire = Self { url: format!("{before}@{address}/{path}"), passed: passed.clone() };
        let server = server.to_owned();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&server) else { return };
                // Small pieces are sent at once, as without the proxy.
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let ends = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
                for (way, (from, to)) in ends.into_iter().enumerate() {
                    let (from, to) = (from.unwrap(), to.unwrap());
                    let (passed, left) = (Arc::clone(&passed[way]), Arc::clone(&left[way]));
                    thread::spawn(move || pass(from, to, &passed, &left));
                }
            }
        });
        wire
    }

    /// The URL of the database through the proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The number of bytes in this direction.
    pub(crate) fn passed(&self, direction: Direction) -> u64 {
        let way = usize::from(direction == Direction::From);
        self.passed[way].load(Ordering::SeqCst)
    }
}

/// Forwards bytes until one end is closed or the proxy breaks. Then nothing more is forwarded.
fn pass(mut from: TcpStream, mut to: TcpStream, passed: &AtomicU64, left: &AtomicI64) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let count = i64::try_from(read).unwrap();
        let before = left.fetch_sub(count, Ordering::SeqCst);
        let through = usize::try_from(before.clamp(0, count)).unwrap();
        passed.fetch_add(u64::try_from(through).unwrap(), Ordering::SeqCst);
        if to.write_all(&buffer[..through]).is_err() || through < read {
            break;
        }
    }
    for end in [from, to] {
        end.shutdown(Shutdown::Both).unwrap_or_default();
    }
}
