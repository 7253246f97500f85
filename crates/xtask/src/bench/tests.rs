//! Tests the load generator with small servers, the bare loops with the real tables, and the tables
//! of cases.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use super::{
    alone,
    cases::{self, Work},
    load::{self, Load, Outcome, Pace},
    service::turns,
};

/// A server that sends these responses in turn on each connection.
fn server(connections: usize, answers: &'static [&'static [u8]]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move |mut stream: TcpStream| {
        let (mut read, mut turn) = ([0; 1024], answers.iter().cycle());
        while stream.read(&mut read).is_ok_and(|count| count > 0) {
            stream.write_all(turn.next().unwrap()).unwrap();
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let stream = stream.unwrap();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn run(address: SocketAddr, connections: usize, pace: Pace, measure: Duration) -> Outcome {
    let (processes, warm_up) = ([Some(std::process::id()), None], Duration::from_millis(20));
    let load = Load { address, processes, connections, pace, warm_up, measure };
    load::run(&load, &mut turns(address, &["/".to_owned()])).unwrap()
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

#[test]
fn a_closed_loop_counts_responses_and_the_processor_time() {
    let outcome = run(server(4, &[OK]), 4, Pace::Closed, Duration::from_millis(200));
    assert!(outcome.good > 100 && outcome.lost == 0);
    assert!(outcome.good_ns.len() >= u64::from(outcome.good));
    assert_eq!((outcome.statuses.len(), outcome.body_bytes), (1, 3));
    assert!(!outcome.cpu[0].is_zero() && outcome.cpu[1].is_zero());
    assert!((0.15..0.6).contains(&outcome.elapsed.as_secs_f64()), "{:?}", outcome.elapsed);
}

#[test]
fn every_request_that_was_due_is_accounted_for() {
    let answers: &[&[u8]] = &[
        OK,
        b"HTTP/1.1 503 -\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n",
        b"HTTP/1.1 503 -\r\nContent-Length: 0\r\n\r\n",
    ];
    let address = server(4, answers);
    let load = Load {
        address,
        processes: [None; 2],
        connections: 4,
        pace: Pace::Open(1_000.0),
        warm_up: Duration::ZERO,
        measure: Duration::from_millis(300),
    };
    let outcome = load::run(&load, &mut turns(address, &["/".to_owned()])).unwrap();
    let answered: u32 = outcome.statuses.values().sum();
    assert!((200..400).contains(&outcome.due), "{}", outcome.due);
    assert_eq!((answered, outcome.lost), (outcome.due, 0));
    assert_eq!(outcome.good_ns.len(), u64::from(outcome.statuses[&200]));
    let refused = outcome.statuses[&503];
    assert!(outcome.without_retry_after > 0 && outcome.without_retry_after < refused);
}

#[test]
fn a_long_body_is_counted_and_not_kept() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n";
    let answer: &'static [u8] = [head.as_slice(), &vec![b'x'; 3_000_000]].concat().leak();
    let address = server(1, vec![answer].leak());
    let outcome = run(address, 1, Pace::Closed, Duration::from_millis(200));
    assert!(outcome.good > 1);
    assert_eq!(outcome.body_bytes, 3_000_000);
}

#[test]
fn a_broken_connection_is_replaced_and_its_request_is_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut streams = listener.incoming();
        // The connection ends during a request. One that ends earlier loses no request.
        let mut broken = streams.next().unwrap().unwrap();
        assert!(broken.read(&mut [0; 1024]).unwrap() > 0);
        drop(broken);
        let mut stream = streams.next().unwrap().unwrap();
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {
            stream.write_all(OK).unwrap();
        }
    });
    let outcome = run(address, 1, Pace::Open(200.0), Duration::from_millis(300));
    assert_eq!(outcome.lost, 1);
    assert!(outcome.good > 0);
}

#[test]
fn each_case_is_measured_once_and_reads_come_before_writes() {
    for rows in [cases::SQLITE, cases::POSTGRES] {
        let cases = cases::cases(rows);
        let writes = [Work::Post, Work::KeyedPost, Work::Put, Work::Delete, Work::Import];
        let is_write = |case: &cases::Case| writes.contains(&case.work);
        let first = cases.iter().position(is_write).unwrap();
        assert!(cases[first..].iter().all(|case| is_write(case) || case.work == Work::Append));
        let mut sorted = cases.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), cases.len());
    }
}

#[test]
fn two_benches_do_not_share_a_place() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("bench");
    let first = alone(&place).unwrap();
    assert!(alone(&place).is_err());
    drop(first);
    assert!(alone(&place).is_ok());
}
