//! Streams of lines: users in, with a verdict each, and the whole collection out.
//!
//! One stream on one connection. What is sent is made beforehand, and answers are read while it is
//! sent, as any client does that keeps up.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, ensure};

use super::{people, work::Known};

/// Sends users with these numbers as one stream; how many a second were created. Who they are is
/// added to `created`.
pub(super) fn import(
    address: SocketAddr,
    numbers: Range<u64>,
    created: &mut Vec<Known>,
) -> Result<f64> {
    let first = numbers.start;
    let count = numbers.end.saturating_sub(numbers.start);
    let lines: Vec<String> = numbers.map(|number| people::body(number, 0) + "\n").collect();
    let body = lines.concat();
    let length = body.len();
    let head = format!(
        "POST /users HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-ndjson\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let began = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    let mut sending = stream.try_clone()?;
    let sender = thread::spawn(move || -> Result<()> {
        sending.write_all(head.as_bytes())?;
        sending.write_all(body.as_bytes())?;
        Ok(sending.shutdown(Shutdown::Write)?)
    });
    let mut answer = Vec::with_capacity(length / 2);
    stream.read_to_end(&mut answer)?;
    let spent = began.elapsed();
    sender.join().map_err(|_| anyhow!("the sender panicked"))??;
    let lines = unchunk(&answer).context("the answer to an import broke off")?;
    let mut lines = std::str::from_utf8(&lines)?.lines();
    for (number, line) in (first..first + count).zip(&mut lines) {
        created.push(read_verdict(number, line).with_context(|| line.to_owned())?);
    }
    let done = lines.next().context("an import without an end")?;
    let wanted = format!("\"done\":true,\"lines\":{count},\"created\":{count},");
    ensure!(done.contains(&wanted), "an import ended with {done}");
    rate(count, spent)
}

/// Reads the collection of so many users as lines, until that long has gone by; users in a second.
pub(super) fn export(address: SocketAddr, collection: u64, measure: Duration) -> Result<f64> {
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
        let lines = answer.lines;
        ensure!(lines == collection, "an export of {lines} lines out of {collection} users");
        users += lines;
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

/// The body of an answer that came in chunks; `None` if some of it is missing.
fn unchunk(answer: &[u8]) -> Option<Vec<u8>> {
    let line_end = |bytes: &[u8]| bytes.windows(2).position(|two| two == b"\r\n");
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (mut rest, mut body) = (answer.get(head + 4..)?, Vec::new());
    loop {
        let size_end = line_end(rest)?;
        let size = std::str::from_utf8(rest.get(..size_end)?).ok()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        let chunk = rest.get(size_end + 2..)?;
        body.extend_from_slice(chunk.get(..size)?);
        rest = chunk.get(size..)?.strip_prefix(b"\r\n")?;
        if size == 0 {
            return Some(body);
        }
    }
}

/// The user that a line created.
fn read_verdict(number: u64, line: &str) -> Result<Known> {
    let verdict: serde_json::Value = serde_json::from_str(line)?;
    let id = verdict.get("id").and_then(serde_json::Value::as_str).context("nobody was created")?;
    Ok(Known { number, id: id.to_owned() })
}

fn rate(count: u64, spent: Duration) -> Result<f64> {
    let count = u32::try_from(count).context("too many for one measure")?;
    Ok(f64::from(count) / spent.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{read_verdict, unchunk};

    const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                           3\r\na\nb\r\n1\r\n\n\r\n0\r\n\r\n";

    #[test]
    fn a_body_in_chunks_is_put_together_or_refused() {
        assert_eq!(unchunk(WHOLE).unwrap(), b"a\nb\n");
        for missing in 1..WHOLE.len() {
            assert_eq!(unchunk(&WHOLE[..WHOLE.len() - missing]), None);
        }
    }

    #[test]
    fn a_verdict_names_the_user_or_nobody() {
        let known = read_verdict(7, r#"{"line":1,"status":201,"id":"x"}"#).unwrap();
        assert_eq!((known.number, known.id.as_str()), (7, "x"));
        assert!(read_verdict(7, r#"{"line":1,"status":422,"problem":{}}"#).is_err());
    }
}
