//! Responses to lists: the weak tag, the position in the log, the link and the envelope.
//!
//! The tag follows from the position of the log, the query and the media type. A caller that polls
//! an unchanged collection gets 304 before any page is read.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LINK, VARY},
    request::Parts,
};
use roster_core::{Position, Stored, json::write_text, list::Total};
use sha2::{Digest, Sha256};

use super::respond::{PRIVATE, position};
use crate::{
    extract::{EntityTags, Media, tags},
    problem::{Problem, ProblemCode},
    state::AppState,
};

const BY_ACCEPT: HeaderValue = HeaderValue::from_static("Accept");

/// The response to a list.
pub(super) struct PageResponse<'a> {
    app: &'a AppState,
    parts: &'a Parts,
    media: Media,
    /// Whether the path offers other forms too.
    varies: bool,
    digest: String,
}

impl<'a> PageResponse<'a> {
    /// The response to a request, in this form.
    pub(super) fn new(app: &'a AppState, parts: &'a Parts, media: Media, varies: bool) -> Self {
        let digest = digest(&parts.uri, media.content_type);
        Self { app, parts, media, varies, digest }
    }

    /// The response without a page: the caller has the page, or wants headers alone.
    pub(super) async fn without_page(&self) -> Result<Option<Response>, Problem> {
        let headers = &self.parts.headers;
        // A weak tag matches no If-Match (RFC 9110 section 13.1.1).
        if matches!(tags(headers, &IF_MATCH)?, Some(EntityTags::List(_))) {
            let detail = "lists have weak tags, which match no If-Match";
            return Err(Problem::saying(ProblemCode::VersionMismatch, detail));
        }
        let known = tags(headers, &IF_NONE_MATCH)?;
        let head_only = self.parts.method == Method::HEAD;
        if known.is_none() && !head_only {
            return Ok(None);
        }
        let number = self.app.directory.head().await?.position;
        if known.is_some_and(|known| known.hold_weakly(&self.tag(number))) {
            let mut response = StatusCode::NOT_MODIFIED.into_response();
            self.describe(&mut response, number);
            return Ok(Some(response));
        }
        if !head_only {
            return Ok(None);
        }
        let mut response = Response::new(Body::empty());
        self.describe(&mut response, number);
        response.headers_mut().insert(CONTENT_TYPE, self.media.header());
        Ok(Some(response))
    }

    /// The response with a page that was read at this place in the log; `next` is the target of the
    /// page after it.
    pub(super) fn page(&self, number: i64, body: Vec<u8>, next: Option<&str>) -> Response {
        let mut response = Response::new(Body::from(body));
        self.describe(&mut response, number);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.media.header());
        if let Some(link) = next.and_then(link) {
            headers.insert(LINK, link);
        }
        response
    }

    /// Adds the headers of a page, whether or not it is sent.
    fn describe(&self, response: &mut Response, number: i64) {
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, PRIVATE);
        if self.varies {
            headers.insert(VARY, BY_ACCEPT);
        }
        position(headers, self.app.directory.log_id(), number);
        if let Ok(value) = HeaderValue::try_from(format!("W/\"{}\"", self.tag(number))) {
            headers.insert(ETAG, value);
        }
    }

    /// The tag without its quotation marks.
    fn tag(&self, number: i64) -> String {
        let log = self.app.directory.log_id();
        format!("{}-{}", Position { log, number }, self.digest)
    }
}

fn digest(uri: &http::Uri, media: &str) -> String {
    let query = uri.query().unwrap_or_default();
    let hash = Sha256::new().chain_update(media).chain_update([0]).chain_update(query).finalize();
    data_encoding::HEXLOWER.encode(hash.first_chunk::<8>().unwrap_or(&[0; 8]))
}

/// The link to the next page (RFC 8288).
pub(super) fn link(target: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("<{target}>; rel=\"next\"")).ok()
}

/// The envelope of a page: what follows its items.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) next_cursor: Option<&'a str>,
    pub(super) examined: Option<usize>,
    pub(super) total: Option<Total>,
}

impl Envelope<'_> {
    /// The page as JSON: `write` appends an item, and `bytes` is how many all items take, about.
    pub(super) fn write<T>(
        &self,
        items: &[T],
        bytes: usize,
        mut write: impl FnMut(&T, &mut Vec<u8>) -> Option<()>,
    ) -> Result<Vec<u8>, Problem> {
        let mut out = Vec::with_capacity(bytes + items.len() + 256);
        out.extend_from_slice(b"{\"items\":[");
        for (index, item) in items.iter().enumerate() {
            separate(index, &mut out);
            write(item, &mut out).ok_or_else(|| Problem::new(ProblemCode::Internal))?;
        }
        out.extend_from_slice(b"],\"next_cursor\":");
        match self.next_cursor {
            Some(cursor) => write_text(&mut out, cursor),
            None => out.extend_from_slice(b"null"),
        }
        if let Some(examined) = self.examined {
            out.extend_from_slice(format!(",\"examined\":{examined}").as_bytes());
        }
        if let Some(Total::Exactly(total) | Total::AtLeast(total)) = self.total {
            out.extend_from_slice(format!(",\"total\":{total}").as_bytes());
        }
        if let Some(Total::AtLeast(_)) = self.total {
            out.extend_from_slice(b",\"total_relation\":\"at_least\"");
        }
        out.push(b'}');
        Ok(out)
    }

    /// The page of whole records.
    pub(super) fn write_records(&self, items: &[Stored]) -> Result<Vec<u8>, Problem> {
        let bytes = items.iter().map(|item| item.record.len()).sum();
        self.write(items, bytes, |item, out| {
            out.extend_from_slice(&item.record);
            Some(())
        })
    }
}

/// Sets an item apart from the one before it.
pub(super) fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}
