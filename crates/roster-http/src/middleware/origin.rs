//! The origin guard: no web page elsewhere may use the service through a browser on this machine.
//!
//! Browsers say where a request comes from in `Origin` and in `Sec-Fetch-*`; programs send
//! neither. Reads are guarded too. A plain navigation to a page may come from anywhere: it shows
//! the person that page and the other site nothing.

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

/// Refuses what a page of another origin causes; `tls` tells whether the request has come in under
/// TLS.
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

/// Whether a person goes to the page itself, and it is not put into a page elsewhere.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is = |name, value: &[u8]| headers.get(name).map(|found| found.as_bytes() == value);
    is(SEC_FETCH_MODE, b"navigate") == Some(true) && is(SEC_FETCH_DEST, b"document") != Some(false)
}

/// Whether an origin is the one that the request is for, whose name the host guard has let
/// pass. `null` never is.
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
