//! Streams of lines: users in, with a verdict each, and the whole collection out.
//!
//! One stream on one connection. What is sent is made beforehand, and answers are read while it is
//! sent, as any client does that keeps up.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, ensure};

use super::people;

/// Sends users with these numbers as one stream; how many a second were created.
pub(super) fn import(address: SocketAddr, numbers: std::ops::Range<u64>) -> Result<f64> {
    let count = numbers.end.saturating_sub(numbers.start);
    let lines: Vec<String> = numbers.map(|number| people::body(number, 0) + "\n").collect();
    let body = lines.concat();
    let length = body.len();
    let head = format!(
        "POST /users HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-ndjson\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let began = Instant::now();
    let stream = TcpStream::connect(address)?;
    let mut sending = stream.try_clone()?;
    let sender = thread::spawn(move || -> Result<()> {
        sending.write_all(head.as_bytes())?;
        sending.write_all(body.as_bytes())?;
        Ok(sending.shutdown(Shutdown::Write)?)
    });
    let answer = read_all(stream)?;
    let spent = began.elapsed();
    sender.join().map_err(|_| anyhow!("the sender panicked"))??;
    let wanted = format!("\"done\":true,\"lines\":{count},\"created\":{count},");
    ensure!(answer.tail.contains(&wanted), "an import ended with {:?}", answer.tail);
    rate(count, spent)
}

/// Reads the collection as lines until that long has gone by; users in a second.
pub(super) fn export(address: SocketAddr, measure: Duration) -> Result<f64> {
    let request = format!(
        "GET /users HTTP/1.1\r\nHost: {address}\r\nAccept: application/x-ndjson\r\n\
         Connection: close\r\n\r\n"
    );
    let (mut users, began) = (0, Instant::now());
    while users == 0 || began.elapsed() < measure {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        let answer = read_all(stream)?;
        ensure!(answer.tail.ends_with("0\r\n\r\n"), "an export broke off");
        users += answer.lines;
    }
    rate(users, began.elapsed())
}

struct Answer {
    /// Lines of the body; the framing of chunks ends lines of its own, with a carriage return.
    lines: u64,
    /// The last bytes.
    tail: String,
}

fn read_all(mut stream: TcpStream) -> Result<Answer> {
    let mut scratch = vec![0; 1 << 18];
    let (mut lines, mut tail, mut before) = (0, Vec::new(), 0);
    loop {
        let count = stream.read(&mut scratch)?;
        let read = scratch.get(..count).unwrap_or_default();
        let Some(last) = read.last() else { break };
        for byte in read {
            lines += u64::from(*byte == b'\n' && before != b'\r');
            before = *byte;
        }
        before = *last;
        tail.extend_from_slice(read.get(read.len().saturating_sub(256)..).unwrap_or_default());
        tail.drain(..tail.len().saturating_sub(256));
    }
    Ok(Answer { lines, tail: String::from_utf8_lossy(&tail).into_owned() })
}

fn rate(count: u64, spent: Duration) -> Result<f64> {
    let count = u32::try_from(count).context("too many for one measure")?;
    Ok(f64::from(count) / spent.as_secs_f64())
}
