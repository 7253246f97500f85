//! Whole exchanges as text, for snapshots.
//!
//! Only values that differ between runs are masked: the date, the log's id, and cursors.

use roster_core::Store as _;
use roster_testkit::openapi::Exchange;

use crate::{client::Reply, service::Service};

/// A page of exchanges.
pub(crate) struct Transcript {
    text: String,
    log: String,
}

impl Transcript {
    pub(crate) fn of(service: &Service) -> Self {
        Self { text: String::new(), log: service.store.log_id().to_string() }
    }

    /// Records an exchange.
    pub(crate) fn note(&mut self, title: &str, reply: &Reply) {
        self.write(title, reply, false);
    }

    /// Records an exchange without the bodies, which other tests check.
    pub(crate) fn note_heads(&mut self, title: &str, reply: &Reply) {
        self.write(title, reply, true);
    }

    fn write(&mut self, title: &str, reply: &Reply, heads: bool) {
        let Exchange { method, path, query, request_headers, .. } = &reply.exchange;
        let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let mut text = format!("# {title}\n\n> {method} {path}{query}\n");
        for (name, value) in request_headers {
            // Sent with every request, and irrelevant.
            if !matches!(name.as_str(), "host" | "x-request-id" | "content-length") {
                text.push_str(&format!("> {name}: {value}\n"));
            }
        }
        if !heads && !reply.exchange.request_body.is_empty() {
            let body = String::from_utf8_lossy(&reply.exchange.request_body);
            text.push_str(&format!("> {body}\n"));
        }
        text.push_str(&format!("\n{} {}\n", reply.status(), reply.reason));
        let mut headers = reply.exchange.response_headers.clone();
        headers.sort();
        for (name, value) in headers {
            let masked = match name.as_str() {
                "date" => "[date]",
                "content-length" if heads => "[length]",
                // The tag depends on the query, and cursors always differ.
                // The digest of a document, which every change of the description changes.
                "etag" if value.len() == 34 => "[digest]",
                "etag" if query.contains("cursor=") => "[tag]",
                _ => &value,
            };
            text.push_str(&format!("{name}: {masked}\n"));
        }
        if !heads && !reply.text().is_empty() {
            text.push_str(&format!("\n{}\n", indented(reply.text())));
        }
        let text = text.replace(&self.log, "[log]");
        self.text.push_str(&masked(&text, reply));
        self.text.push('\n');
    }

    /// Compares the page with its snapshot.
    pub(crate) fn settle(self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, self.text));
    }
}

/// Masks the cursors in the response and the request.
fn masked(text: &str, reply: &Reply) -> String {
    let mut text = text.to_owned();
    let given = serde_json::from_str::<serde_json::Value>(reply.text()).ok();
    if let Some(cursor) = given.as_ref().and_then(|body| body["next_cursor"].as_str()) {
        text = text.replace(cursor, "[cursor]");
    }
    let sent = reply.exchange.query.as_deref().unwrap_or_default();
    for cursor in sent.split('&').filter_map(|pair| pair.strip_prefix("cursor=")) {
        text = text.replace(cursor, "[cursor]");
    }
    text
}

/// JSON on many lines. The order of members and the numbers stay unchanged.
fn indented(json: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    for letter in json.chars() {
        if quoted {
            out.push(letter);
            quoted = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            continue;
        }
        match letter {
            '{' | '[' => {
                out.push(letter);
                depth += 1;
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth -= 1;
                let whole = out.trim_end().len();
                if out[..whole].ends_with(['{', '[']) {
                    out.truncate(whole);
                } else {
                    line(&mut out, depth);
                }
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                quoted = letter == '"';
                out.push(letter);
            }
        }
    }
    out
}
