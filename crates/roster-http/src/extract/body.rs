//! The body of a write: its media type and its size.
//!
//! The media type is checked before a byte is read. Only JSON is accepted. This also prevents pages
//! of other origins from writing without a preflight, because HTML forms cannot send JSON.

use axum::body::Body;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ORIGIN},
};
use roster_server::{BodyFault, Peer, read_body};

use crate::{
    limits::admission::holds_too_much,
    operation::Operation,
    problem::{Problem, ProblemCode},
};

use super::accept::{CSV, Media, NDJSON};

const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");
const TAKES_JSON: HeaderValue = HeaderValue::from_static("application/json");
const TAKES_SCIM: HeaderValue = HeaderValue::from_static("application/scim+json, application/json");
const TAKES_PATCH: HeaderValue =
    HeaderValue::from_static("application/merge-patch+json, application/json");
const TAKES_LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson, text/csv");
const TAKES_PATCH_OR_LINES: HeaderValue = HeaderValue::from_static(
    "application/merge-patch+json, application/json, application/x-ndjson, text/csv",
);
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// The media types that a body may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// A user as JSON. Another path takes many users.
    NewUser,
    /// JSON.
    Json,
    /// A JSON Merge Patch (RFC 7396), also under the media type of JSON.
    MergePatch,
    /// A JSON Merge Patch, on a path that also accepts lines of patches.
    PatchOfMany,
    /// Users, one JSON text per line, or one row of CSV each.
    Lines,
    /// Groups, one JSON text per line.
    GroupLines,
    /// JSON of SCIM, or JSON. A missing media type means the same, except from a browser.
    Scim,
    /// JSON of SCIM, or JSON.
    ScimStrict,
}

impl BodyKind {
    /// The kind of an operation whose body is a JSON Merge Patch.
    pub(crate) fn of_patch(operation: Operation) -> Option<Self> {
        let of_one = matches!(
            operation,
            Operation::PatchUser
                | Operation::PatchGroup
                | Operation::PatchTenant
                | Operation::PatchWebhook
        );
        let kind = if of_one { Self::MergePatch } else { Self::PatchOfMany };
        (of_one || operation == Operation::PatchUsers).then_some(kind)
    }

    /// The header that lists the media types: `Accept-Patch` for patches (RFC 5789 section 3.1),
    /// otherwise `Accept` (RFC 9110 section 12.5.1).
    pub(crate) const fn accepted(self) -> (HeaderName, HeaderValue) {
        match self {
            Self::NewUser | Self::Json => (ACCEPT, TAKES_JSON),
            Self::MergePatch => (ACCEPT_PATCH, TAKES_PATCH),
            Self::PatchOfMany => (ACCEPT_PATCH, TAKES_PATCH_OR_LINES),
            Self::Lines => (ACCEPT, TAKES_LINES),
            Self::GroupLines => (ACCEPT, NDJSON.header()),
            Self::Scim | Self::ScimStrict => (ACCEPT, TAKES_SCIM),
        }
    }
}

/// The media type of a body with many records: one JSON text per line, or one row of CSV each.
/// `None` for any other.
pub(crate) fn lines_type(headers: &HeaderMap) -> Option<Media> {
    let name = content_type(headers).split(';').next().unwrap_or_default();
    [NDJSON, CSV].into_iter().find(|media| media.is_named(name.trim()))
}

/// Checks the headers of a body of lines.
pub(crate) fn check_lines(headers: &HeaderMap, is_of_groups: bool) -> Result<(), Problem> {
    let kind = if is_of_groups { BodyKind::GroupLines } else { BodyKind::Lines };
    check_type(kind, headers)?;
    check_coding(kind, headers)
}

/// The maximum size of what clients send that must send something, such as `{}`.
const NOTHING_BYTES_MAX: usize = 64;

/// Reads the body of a request that takes none. It must be empty: it may hold a version that the
/// client expects to be checked.
pub(crate) async fn read_nothing(body: Body, peer: &Peer) -> Result<(), Problem> {
    let detail =
        "this request takes no body: a version goes into If-Match, settings into the query";
    let refused = || Problem::saying(ProblemCode::InvalidRequest, detail);
    let sent = read_body(body, NOTHING_BYTES_MAX, peer).await.map_err(|fault| {
        let is_long = matches!(fault, BodyFault::TooLarge);
        if is_long { refused() } else { unread(fault, NOTHING_BYTES_MAX) }
    })?;
    let is_nothing = matches!(sent.trim_ascii(), b"" | b"{}" | b"null");
    if is_nothing { Ok(()) } else { Err(refused()) }
}

/// Reads the whole body.
pub(crate) async fn read_bytes(
    kind: BodyKind,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
    peer: &Peer,
) -> Result<Bytes, Problem> {
    check_type(kind, headers)?;
    check_coding(kind, headers)?;
    read_body(body, bytes_max, peer).await.map_err(|fault| unread(fault, bytes_max))
}

/// The detail for a body without its end.
pub(crate) const BROKEN_OFF: &str = "the body broke off, or its chunked coding is malformed";

fn unread(fault: BodyFault, bytes_max: usize) -> Problem {
    match fault {
        BodyFault::TooLarge => {
            Problem::saying(ProblemCode::BodyTooLarge, format!("send at most {bytes_max} bytes"))
        }
        BodyFault::TooSlow => Problem::new(ProblemCode::BodyTooSlow),
        BodyFault::NoMemory => holds_too_much(),
        BodyFault::Aborted => Problem::saying(ProblemCode::InvalidRequest, BROKEN_OFF),
    }
}

fn check_type(kind: BodyKind, headers: &HeaderMap) -> Result<(), Problem> {
    let sent = content_type(headers);
    // A page of another origin can send a body without a media type, so a browser must name it.
    let may_omit = kind == BodyKind::Scim && !headers.contains_key(ORIGIN);
    if may_omit && !headers.contains_key(CONTENT_TYPE) {
        return Ok(());
    }
    // The value of nearly all clients, compared without parsing.
    if sent == "application/json" && !matches!(kind, BodyKind::Lines | BodyKind::GroupLines) {
        return Ok(());
    }
    let mut parts = sent.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let taken = match kind {
        BodyKind::NewUser | BodyKind::Json => is("application/json"),
        BodyKind::MergePatch | BodyKind::PatchOfMany => {
            is("application/json") || is("application/merge-patch+json")
        }
        BodyKind::Lines => NDJSON.is_named(name) || CSV.is_named(name),
        BodyKind::GroupLines => NDJSON.is_named(name),
        BodyKind::Scim | BodyKind::ScimStrict => {
            is("application/scim+json") || is("application/json")
        }
    };
    if !taken {
        return Err(unsupported(kind, wanted(kind, name)));
    }
    for (parameter, value) in parts.filter_map(|part| part.split_once('=')) {
        let (parameter, value) = (parameter.trim(), value.trim().trim_matches('"'));
        if parameter.eq_ignore_ascii_case("charset") && !value.eq_ignore_ascii_case("utf-8") {
            let detail = "JSON is UTF-8 (RFC 8259 section 8.1), and so is CSV here; send it so";
            return Err(unsupported(kind, detail));
        }
        // RFC 4180 section 3.
        if CSV.is_named(name)
            && parameter.eq_ignore_ascii_case("header")
            && value.eq_ignore_ascii_case("absent")
        {
            let detail = "a table begins with a row of the names of its columns: add it";
            return Err(unsupported(kind, detail));
        }
    }
    Ok(())
}

/// The only `Content-Type`, or nothing.
fn content_type(headers: &HeaderMap) -> &str {
    let mut lines = headers.get_all(CONTENT_TYPE).into_iter();
    let only = lines.next().filter(|_| lines.next().is_none());
    only.and_then(|line| line.to_str().ok()).unwrap_or_default()
}

fn wanted(kind: BodyKind, sent: &str) -> &'static str {
    let form = "application/x-www-form-urlencoded";
    match kind {
        BodyKind::Lines | BodyKind::GroupLines if sent.eq_ignore_ascii_case(form) => {
            "with curl, add -H 'Content-Type: application/x-ndjson'"
        }
        _ if sent.eq_ignore_ascii_case(form) => {
            "send JSON; with curl, use --json in place of -d, or add -H 'Content-Type: \
             application/json'"
        }
        BodyKind::NewUser if NDJSON.is_named(sent) || CSV.is_named(sent) => {
            "send one user as application/json; POST /bulk/users takes a user a line, or CSV"
        }
        BodyKind::NewUser | BodyKind::Json => "send Content-Type: application/json",
        BodyKind::MergePatch => "send Content-Type: application/merge-patch+json",
        BodyKind::PatchOfMany => {
            "send Content-Type: application/merge-patch+json, or application/x-ndjson or text/csv \
             for a patch a line"
        }
        BodyKind::Lines => "send Content-Type: application/x-ndjson or text/csv",
        BodyKind::GroupLines => "send Content-Type: application/x-ndjson",
        BodyKind::Scim | BodyKind::ScimStrict => "send Content-Type: application/scim+json",
    }
}

fn check_coding(kind: BodyKind, headers: &HeaderMap) -> Result<(), Problem> {
    let plain = |line: &HeaderValue| line.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).into_iter().all(plain) {
        return Ok(());
    }
    let detail = "send the body without a Content-Encoding";
    Err(unsupported(kind, detail).with_header(ACCEPT_ENCODING, IDENTITY))
}

fn unsupported(kind: BodyKind, detail: &'static str) -> Problem {
    let (name, accepted) = kind.accepted();
    Problem::saying(ProblemCode::UnsupportedMediaType, detail).with_header(name, accepted)
}
