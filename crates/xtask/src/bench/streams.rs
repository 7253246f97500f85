//! Bodies of any length, each on a new connection: imports and exports as one stream, and single
//! documents.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value;

use super::people::{Person, User};

/// Sends the users with these numbers as one stream. Returns how many per second were created, and
/// appends them to `created`.
pub(super) fn import(
    address: SocketAddr,
    numbers: Range<u64>,
    created: &mut Vec<User>,
) -> Result<f64> {
    let count = numbers.clone().count();
    let body: String = numbers.clone().map(|number| Person::new(number).body(0) + "\n").collect();
    let media = "Content-Type: application/x-ndjson\r\n";
    let began = Instant::now();
    let answer = exchange(address, "POST", "/bulk/users", media, body)?;
    let spent = began.elapsed();
    let mut lines = std::str::from_utf8(&answer)?.lines();
    for (number, line) in numbers.zip(&mut lines) {
        let verdict: Value = serde_json::from_str(line)?;
        let id = verdict.get("id").and_then(Value::as_str).with_context(|| line.to_owned())?;
        created.push(User { number, id: id.to_owned() });
    }
    let done = lines.next().context("an import without an end")?;
    let wanted = format!("\"done\":true,\"lines\":{count},\"created\":{count},");
    ensure!(done.contains(&wanted), "an import ended with {done}");
    rate(count, spent)
}

/// Reads the collection of this number of users as lines until this time is over. Returns users per
/// second.
pub(super) fn export(address: SocketAddr, collection: usize, measure: Duration) -> Result<f64> {
    let (mut users, began) = (0, Instant::now());
    while users == 0 || began.elapsed() < measure {
        let body = get(address, "/bulk/users", "application/x-ndjson")?;
        let lines = std::str::from_utf8(&body)?.lines().count();
        ensure!(lines == collection, "an export of {lines} lines out of {collection} users");
        users += lines;
    }
    rate(users, began.elapsed())
}

/// The body of a GET, which must succeed.
pub(super) fn get(address: SocketAddr, path: &str, accept: &str) -> Result<Vec<u8>> {
    exchange(address, "GET", path, &format!("Accept: {accept}\r\n"), String::new())
}

/// Sends one request on a new connection and returns the body of the response. The response is read
/// while the request is sent, as by a client that reads fast enough.
fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    lines: &str,
    body: String,
) -> Result<Vec<u8>> {
    let length = match body.len() {
        0 => String::new(),
        length => format!("Content-Length: {length}\r\n"),
    };
    let lines = format!("Host: {address}\r\nConnection: close\r\n{lines}{length}");
    let head = format!("{method} {path} HTTP/1.1\r\n{lines}\r\n");
    let mut stream = TcpStream::connect(address)?;
    let mut sending = stream.try_clone()?;
    let sender = thread::spawn(move || -> Result<()> {
        sending.write_all(head.as_bytes())?;
        Ok(sending.write_all(body.as_bytes())?)
    });
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    sender.join().map_err(|_| anyhow!("the sender panicked"))??;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").context("no head")?;
    let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).into_owned();
    ensure!(head.split(' ').nth(1) == Some("200"), "{method} {path}: {head}");
    let body = answer.split_off(end + 4);
    if head.contains("transfer-encoding: chunked") { unchunk(&body) } else { Ok(body) }
}

/// The content of a chunked body.
fn unchunk(mut rest: &[u8]) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = httparse::parse_chunk_size(rest).map_err(|_| anyhow!("not a chunk"))?;
        let httparse::Status::Complete((start, size)) = size else { bail!("a body broke off") };
        let end = start + usize::try_from(size)?;
        body.extend_from_slice(rest.get(start..end).context("a body broke off")?);
        rest = rest.get(end + 2..).context("a body broke off")?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn rate(count: usize, spent: Duration) -> Result<f64> {
    let count = u32::try_from(count).context("too many for one measure")?;
    Ok(f64::from(count) / spent.as_secs_f64())
}
