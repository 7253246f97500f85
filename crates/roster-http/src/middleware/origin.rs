//! The origin guard: it stops web pages of other origins from using the service through a browser.
//!
//! Browsers send `Origin` and `Sec-Fetch-*`; other programs send neither. Reads are checked too. A
//! navigation to a page of the service is allowed from anywhere, because the other site cannot read
//! the page.

use http::{
    HeaderMap, HeaderName, Method,
    header::{HOST, ORIGIN},
    request::Parts,
};

use crate::{
    operation::Operation,
    problem::{Problem, ProblemCode},
};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Rejects a request that a page of another origin caused. `tls` says whether the request arrived
/// over TLS.
pub(crate) fn check_origin(
    parts: &Parts,
    base_url: &str,
    tls: bool,
    operation: Option<Operation>,
) -> Result<(), Problem> {
    let headers = &parts.headers;
    for origin in headers.get_all(ORIGIN) {
        if !is_own(origin.to_str().unwrap_or("null"), parts, base_url, tls) {
            return Err(Problem::new(ProblemCode::ForeignOrigin));
        }
    }
    let foreign = headers
        .get_all(SEC_FETCH_SITE)
        .into_iter()
        .any(|site| !matches!(site.as_bytes(), b"none" | b"same-origin"));
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    let page = reads && operation.is_some_and(Operation::is_page) && is_navigation(headers);
    if foreign && !page {
        return Err(Problem::new(ProblemCode::ForeignOrigin));
    }
    Ok(())
}

/// Whether the request navigates to the page itself, not in a frame.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is = |name, value: &[u8]| headers.get(name).map(|found| found.as_bytes() == value);
    is(SEC_FETCH_MODE, b"navigate") == Some(true) && is(SEC_FETCH_DEST, b"document") != Some(false)
}

/// Whether an origin is that of the request itself, whose name the host guard has checked. `null`
/// never is.
fn is_own(origin: &str, parts: &Parts, base_url: &str, tls: bool) -> bool {
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    let base = base_url.strip_prefix(scheme).and_then(|base| base.strip_prefix("://"));
    let base = base.and_then(|base| base.split('/').next());
    let same = |known: &str| rest.eq_ignore_ascii_case(known);
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let own = parts.uri.authority().map(http::uri::Authority::as_str).or(host);
    let served = if tls { "https" } else { "http" };
    base.is_some_and(same) || (scheme == served && own.is_some_and(same))
}
