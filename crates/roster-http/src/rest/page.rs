//! What the pages of every collection have alike: weak tag, place in the log, link, envelope.
//!
//! The tag follows from where the log stands and from what was asked in which form, so a caller
//! that polls an unchanged collection is answered before any page is read.

use bytes::Bytes;
use http::{
    HeaderValue, Method, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LINK, VARY},
    request::Parts,
};
use roster_core::{Position, json::write_text};
use sha2::{Digest, Sha256};

use super::answer::{PRIVATE, position};
use crate::{
    extract::{EntityTags, Media, tags},
    face::Face,
    front::Body,
    problem::{Problem, ProblemCode},
};

const BY_ACCEPT: HeaderValue = HeaderValue::from_static("Accept");

/// A page as it was asked for.
pub(super) struct View<'a> {
    face: &'a Face,
    parts: &'a Parts,
    media: Media,
    /// Whether the path offers other forms too.
    varies: bool,
    digest: String,
}

impl<'a> View<'a> {
    /// The page of a request, in this form.
    pub(super) fn new(face: &'a Face, parts: &'a Parts, media: Media, varies: bool) -> Self {
        let digest = digest(&parts.uri, media.content_type);
        Self { face, parts, media, varies, digest }
    }

    /// The answer without a page: the caller knows it, or asks for headers alone.
    pub(super) async fn without_page(&self) -> Result<Option<Response<Body>>, Problem> {
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
        let number = self.face.directory.head().await?.position;
        if known.is_some_and(|known| known.hold_weakly(&self.tag(number))) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
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

    /// The answer with a page that was read at this place in the log; `next` is the target of the
    /// page after it.
    pub(super) fn page(
        &self,
        number: i64,
        body: impl Into<Bytes>,
        next: Option<&str>,
    ) -> Response<Body> {
        let mut response = Response::new(Body::full(body));
        self.describe(&mut response, number);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.media.header());
        if let Some(link) = next.and_then(link) {
            headers.insert(LINK, link);
        }
        response
    }

    /// The headers of a page, whether or not it is sent.
    fn describe(&self, response: &mut Response<Body>, number: i64) {
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, PRIVATE);
        if self.varies {
            headers.insert(VARY, BY_ACCEPT);
        }
        position(headers, self.face.directory.log_id(), number);
        if let Ok(value) = HeaderValue::try_from(format!("W/\"{}\"", self.tag(number))) {
            headers.insert(ETAG, value);
        }
    }

    /// The tag without its quotation marks.
    fn tag(&self, number: i64) -> String {
        let log = self.face.directory.log_id();
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

/// Begins the envelope of so many bytes of items.
pub(super) fn open(bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes + 256);
    out.extend_from_slice(b"{\"items\":[");
    out
}

/// Sets an item apart from the one before it.
pub(super) fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// Ends the items, and says where the next page begins; further members may follow.
pub(super) fn close_items(next: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"],\"next_cursor\":");
    match next {
        Some(cursor) => write_text(out, cursor),
        None => out.extend_from_slice(b"null"),
    }
}
