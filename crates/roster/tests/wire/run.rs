//! The runner: runs each row, compares the results with it, and reports all differences together.

use std::time::Duration;

use serde_json::Value;

use crate::{
    client::{Client, Ended, Received, pause},
    row::{Answer, End, Fate, Held, Part, Row, Source, get},
    subject::Subject,
};

/// The values of the placeholders of a row.
pub(crate) struct Words {
    pub(crate) host: String,
    pub(crate) id: String,
    pub(crate) number: usize,
}

impl Words {
    /// A text with the placeholders replaced.
    pub(crate) fn fill(&self, template: &[u8]) -> Vec<u8> {
        let port = self.host.rsplit(':').next().unwrap_or_default();
        let words = [("<host>", self.host.as_str()), ("<port>", port), ("<id>", &self.id)];
        let mut filled = template.to_vec();
        for (word, value) in words {
            filled = replaced(&filled, word, value);
        }
        filled = replaced(&filled, "<n>", &self.number.to_string());
        let head = filled.windows(4).position(|four| four == b"\r\n\r\n");
        let length = head.map_or(0, |at| filled.len() - at - 4);
        replaced(&filled, "<len>", &length.to_string())
    }
}

fn replaced(text: &[u8], word: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(word.len()).position(|found| found == word.as_bytes()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(value.as_bytes());
        rest = &rest[at + word.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// Runs every row, and fails with all differences.
pub(crate) fn hold(subject: &Subject, rows: &[Row]) {
    let mut report = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let words = subject.words(number);
        let mut faults = faults(subject, row, &words);
        faults.extend(after(subject, row, &words));
        if !faults.is_empty() {
            let faults = faults.iter().map(|fault| fault.chars().take(400).collect::<String>());
            let faults = faults.collect::<Vec<_>>().join("\n    ");
            report.push(format!("{} ({})\n    {faults}", row.name, row.why));
        }
    }
    let failed = report.len();
    assert!(failed == 0, "{failed} of {} rows fail:\n{}", rows.len(), report.join("\n"));
}

fn faults(subject: &Subject, row: &Row, words: &Words) -> Vec<String> {
    let mut client = Client::connect(subject.address);
    let mut faults = Vec::new();
    let mut before: Option<Received> = None;
    let mut waiting = row.answers.iter();
    let mut take = |client: &mut Client, expected: &Answer| match client.answer(expected.head_only)
    {
        Ok(received) => {
            faults.extend(judge(expected, &received, before.as_ref(), words));
            before = Some(received);
        }
        Err(fault) => faults.push(format!("expected {}: {fault}", expected.status)),
    };
    let mut unsent = Vec::new();
    for part in &row.send {
        if let Part::Bytes(template) = part {
            unsent.extend(words.fill(template));
            continue;
        }
        client.send(&std::mem::take(&mut unsent));
        match part {
            Part::Bytes(_) => {}
            Part::Pause(milliseconds) => pause(*milliseconds),
            Part::Answer => take(&mut client, waiting.next().expect("an answer to wait for")),
            Part::Trickle => client.trickle(),
            Part::End => client.finish(),
        }
    }
    client.send(&unsent);
    for expected in waiting {
        take(&mut client, expected);
    }
    if faults.is_empty() {
        faults.extend(ending(&mut client, row.end, words));
    }
    faults
}

/// The difference between the expected and the actual state of the connection.
fn ending(client: &mut Client, end: End, words: &Words) -> Option<String> {
    if end == End::Open {
        client.send(&words.fill(get("/livez", "").as_bytes()));
        return match client.answer(false) {
            Ok(received) if received.status == 200 && received.text().contains("ok") => None,
            Ok(received) => Some(format!("the next request is answered {received:?}")),
            Err(fault) => Some(format!("the next request is not answered: {fault}")),
        };
    }
    let (ended, rest) = client.end();
    let took = client.age();
    match (end, ended) {
        (End::Closed | End::ClosedAfter(_), Ended::InGoodOrder) if !rest.is_empty() => {
            Some(format!("there is one answer too many: {rest}"))
        }
        (End::Closed, Ended::InGoodOrder) | (End::Reset, Ended::Reset) => None,
        (End::ClosedAfter(limit), Ended::InGoodOrder) => {
            let limit = Duration::from_millis(limit);
            let kept = took >= limit * 9 / 10 && took <= limit * 2 + Duration::from_secs(2);
            (!kept).then(|| format!("closed after {took:?}"))
        }
        (_, ended) => Some(format!("the connection ended {ended:?} after {rest:?}")),
    }
}

/// The difference in the service after a row. It must respond as before.
fn after(subject: &Subject, row: &Row, words: &Words) -> Option<String> {
    let mut client = Client::connect(subject.address);
    client.send(&words.fill(get("/users/<id>", "Connection: close\r\n").as_bytes()));
    let expected = if row.user == Fate::Kept { 200 } else { 404 };
    match client.answer(false) {
        Ok(received) if received.status == expected => None,
        Ok(received) => Some(format!("afterwards the user answers {}", received.status)),
        Err(fault) => Some(format!("afterwards nothing answers: {fault}")),
    }
}

/// The differences of one response.
fn judge(
    expected: &Answer,
    received: &Received,
    before: Option<&Received>,
    words: &Words,
) -> Vec<String> {
    let mut faults = Vec::new();
    if received.status != expected.status {
        let text = received.text();
        faults.push(format!("expected {}, got {} {text}", expected.status, received.status));
        return faults;
    }
    let mut held = |kept: bool, fault: String| {
        if !kept {
            faults.push(fault);
        }
    };
    let id = received.header("x-request-id");
    match expected.source {
        Source::Service | Source::Problem(_) => {
            held(id.is_some(), "there is no request id".to_owned());
            let nosniff = received.header("x-content-type-options");
            held(nosniff == Some("nosniff"), format!("nosniff is {nosniff:?}"));
            held(received.header("date").is_some(), "there is no date".to_owned());
        }
        Source::Parser | Source::Interim => {
            held(id.is_none(), "the service wrote it".to_owned());
            held(received.content.is_empty(), format!("content: {}", received.text()));
        }
    }
    if let Source::Problem(code) = expected.source {
        for (name, value) in
            [("content-type", "application/problem+json"), ("cache-control", "no-store")]
        {
            let found = received.header(name);
            held(found == Some(value), format!("{name} is {found:?}"));
        }
        if !expected.head_only {
            let content: Value = serde_json::from_slice(&received.content).unwrap_or_default();
            held(content["code"] == code, format!("expected {code}, got {content}"));
            held(content["status"] == expected.status, format!("its status: {content}"));
            held(content["request_id"].as_str() == id, format!("its request id: {content}"));
            let kind = content["type"].as_str().unwrap_or_default();
            held(kind.ends_with(&format!("/problems/{code}")), format!("its type: {kind}"));
        }
    }
    for header in &expected.headers {
        let fill = |value: &str| String::from_utf8(words.fill(value.as_bytes())).unwrap();
        let (name, kept) = match header {
            Held::Is(name, value) => (name, received.header(name) == Some(&*fill(value))),
            Held::IsNot(name, value) => (name, received.header(name) != Some(&*fill(value))),
            Held::Absent(name) => (name, received.header(name).is_none()),
        };
        held(kept, format!("{name} is {:?}", received.header(name)));
    }
    for wanted in &expected.says {
        let wanted = String::from_utf8(words.fill(wanted.as_bytes())).unwrap();
        held(received.text().contains(&wanted), format!("{wanted}: not in {}", received.text()));
    }
    if let Some(before) = before.filter(|_| expected.mirrors) {
        for name in ["content-length", "content-type", "etag", "cache-control", "vary", "allow"] {
            let (by_get, by_head) = (before.header(name), received.header(name));
            held(by_get == by_head, format!("{name}: GET {by_get:?}, HEAD {by_head:?}"));
        }
    }
    faults
}
