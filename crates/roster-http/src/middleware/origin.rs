//! The origin guard: it stops web pages of other origins from using the service through a browser.
//!
//! Browsers send `Origin` and `Sec-Fetch-*`; other programs send neither. Reads are checked too. A
//! navigation to a page of the service is allowed from anywhere, because the other site cannot read
//! the page.

use http::{
    HeaderMap, HeaderName, Method,
    header::{HOST, ORIGIN},
    request::Parts,
    uri::Authority,
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
    let own = parts.uri.authority().map(Authority::as_str).or(host);
    // A proxy may end TLS, and a browser may reach the service without the proxy.
    let is_served = match scheme {
        "https" => tls || base_url.starts_with("https://"),
        "http" => !tls,
        _ => false,
    };
    base.is_some_and(same) || (is_served && own.is_some_and(same))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn an_origin_is_the_services_own_by_the_scheme_that_its_clients_use() {
        let is_own = |origin: &str, host: &str, base_url: &str, tls| {
            let request = Request::get("/").header(HOST, host).body(()).unwrap();
            let (parts, ()) = request.into_parts();
            is_own(origin, &parts, base_url, tls)
        };
        let (clear, secure) = ("http://a.example", "https://a.example");
        for (origin, host, base_url, tls, expected) in [
            ("http://a.example", "a.example", clear, false, true),
            ("http://b.example", "b.example", clear, false, true),
            ("https://b.example", "b.example", clear, false, false),
            ("https://b.example", "b.example", clear, true, true),
            ("https://b.example", "a.example", clear, true, false),
            // A proxy ends TLS.
            ("https://a.example", "10.0.0.7:8080", secure, false, true),
            ("https://b.example", "b.example", secure, false, true),
            ("http://b.example", "b.example", secure, false, true),
            ("http://b.example", "b.example", secure, true, false),
            ("http://127.0.0.1:8080", "127.0.0.1:8080", secure, false, true),
            ("http://127.0.0.1:8080", "127.0.0.1:8080", secure, true, false),
            ("null", "a.example", secure, false, false),
        ] {
            let case = format!("{origin} {host} {base_url} {tls}");
            assert_eq!(is_own(origin, host, base_url, tls), expected, "{case}");
        }
    }
}
