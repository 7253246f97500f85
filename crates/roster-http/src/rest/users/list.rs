//! `GET /users`: one page of the collection.

use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LINK, VARY},
};
use roster_core::{
    Position,
    json::write_text,
    list::{Page, Total},
};
use sha2::{Digest, Sha256};

use super::{
    bulk,
    list_query::ListQuery,
    render::{PRIVATE, position},
};
use crate::{
    extract::{EntityTags, JSON, NDJSON, negotiate, tags},
    face::{Call, Face},
    front::Body,
    problem::{Problem, ProblemCode},
};

const BY_ACCEPT: HeaderValue = HeaderValue::from_static("Accept");

pub(in crate::rest) async fn list(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let (parts, headers) = (call.parts, &call.parts.headers);
    let media = negotiate(headers, &[JSON, NDJSON])?;
    if media == NDJSON {
        return bulk::export(face, call).await;
    }
    let query = ListQuery::read(parts.uri.query(), &face.cursors)?;
    // A weak tag matches no If-Match (RFC 9110 section 13.1.1).
    if matches!(tags(headers, &IF_MATCH)?, Some(EntityTags::List(_))) {
        let detail = "lists have weak tags, which match no If-Match";
        return Err(Problem::saying(ProblemCode::VersionMismatch, detail));
    }
    let known = tags(headers, &IF_NONE_MATCH)?;
    let head_only = parts.method == Method::HEAD;
    let view = digest(parts.uri.query().unwrap_or_default(), media.content_type);
    if known.is_some() || head_only {
        let number = face.directory.head().await?.position;
        let tag = opaque(face, number, &view);
        if known.is_some_and(|known| known.hold_weakly(&tag)) {
            let mut response = empty(StatusCode::NOT_MODIFIED);
            describe(face, response.headers_mut(), number, &tag);
            return Ok(response);
        }
        if head_only {
            let mut response = empty(StatusCode::OK);
            describe(face, response.headers_mut(), number, &tag);
            response.headers_mut().insert(CONTENT_TYPE, media.header());
            return Ok(response);
        }
    }
    let page = face.directory.list(query.page.clone()).await?;
    let next = match &page.next {
        Some(place) => Some(query.seal(place, &face.cursors)?),
        None => None,
    };
    let mut response = Response::new(Body::from(envelope(&query, &page, next.as_deref())?));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    describe(face, headers, page.position, &opaque(face, page.position, &view));
    if let Some(cursor) = next {
        let target = query.target(parts.uri.path(), &cursor);
        if let Ok(link) = HeaderValue::try_from(format!("<{target}>; rel=\"next\"")) {
            headers.insert(LINK, link);
        }
    }
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The headers of a page, whether or not it is sent.
fn describe(face: &Face, headers: &mut HeaderMap, number: i64, tag: &str) {
    headers.insert(CACHE_CONTROL, PRIVATE);
    headers.insert(VARY, BY_ACCEPT);
    position(headers, face.directory.log_id(), number);
    if let Ok(value) = HeaderValue::try_from(format!("W/\"{tag}\"")) {
        headers.insert(ETAG, value);
    }
}

/// The tag of a page: where the log stands, and what was asked in which form.
fn opaque(face: &Face, number: i64, view: &str) -> String {
    format!("{}-{view}", Position { log: face.directory.log_id(), number })
}

fn digest(query: &str, media: &str) -> String {
    let hash = Sha256::new().chain_update(media).chain_update([0]).chain_update(query).finalize();
    data_encoding::HEXLOWER.encode(hash.first_chunk::<8>().unwrap_or(&[0; 8]))
}

/// The page as JSON: the records are copied in as they are kept.
fn envelope(query: &ListQuery, page: &Page, next: Option<&str>) -> Result<Vec<u8>, Problem> {
    let records: usize = page.items.iter().map(|item| item.record.len() + 1).sum();
    let mut out = Vec::with_capacity(records + 256);
    out.extend_from_slice(b"{\"items\":[");
    for (index, item) in page.items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match &query.members {
            None => out.extend_from_slice(&item.record),
            Some(members) => members
                .project(&item.record, &mut out)
                .ok_or_else(|| Problem::new(ProblemCode::Internal))?,
        }
    }
    out.extend_from_slice(b"],\"next_cursor\":");
    match next {
        Some(cursor) => write_text(&mut out, cursor),
        None => out.extend_from_slice(b"null"),
    }
    if let Some(examined) = page.examined {
        out.extend_from_slice(format!(",\"examined\":{examined}").as_bytes());
    }
    match page.total {
        None => {}
        Some(Total::Exactly(total)) => {
            out.extend_from_slice(format!(",\"total\":{total}").as_bytes());
        }
        Some(Total::AtLeast(total)) => {
            let text = format!(",\"total\":{total},\"total_relation\":\"at_least\"");
            out.extend_from_slice(text.as_bytes());
        }
    }
    out.push(b'}');
    Ok(out)
}
