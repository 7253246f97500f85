//! CORS (Fetch standard, section 3.3) for the web pages of listed origins, and of no others.
//!
//! A page of a listed origin may call the service from a browser and read the responses. It needs a
//! credential that it sends itself; credentials that the browser stores are not allowed. There is
//! no wildcard and no `null`. While the service is open no credential is needed, so no origin
//! counts as listed. A request from any other origin goes through the origin guard and gets no CORS
//! headers.

use http::{
    HeaderMap, HeaderValue, Method,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
        ALLOW, ORIGIN, VARY,
    },
    request::Parts,
};

/// The request headers that the service reads and that a page may send only with permission. Pages
/// may send other safe headers without it.
const ALLOWED: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, idempotency-key, if-match, if-none-match, \
     last-event-id, prefer, x-request-id",
);
/// The response headers that a page may read only with permission.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "accept, accept-encoding, accept-patch, allow, content-location, date, dry-run, etag, \
     idempotent-replayed, link, location, preference-applied, ratelimit, ratelimit-policy, \
     retry-after, roster-ignored, roster-position, roster-total, roster-total-relation, vary, \
     www-authenticate, x-request-id",
);
/// Seconds for which a browser may cache the response to a preflight. If an origin is removed from
/// the list in that time, the origin guard still rejects its requests.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const BY_ORIGIN: HeaderValue = HeaderValue::from_static("Origin");

/// The origins whose pages may call the service.
#[derive(Debug)]
pub(crate) struct Cors {
    origins: Vec<HeaderValue>,
}

impl Cors {
    /// Creates the list from origins as browsers write them in `Origin`.
    pub(crate) fn new(origins: &[String]) -> Self {
        let exact = |origin: &String| HeaderValue::try_from(origin).ok();
        Self { origins: origins.iter().filter_map(exact).collect() }
    }

    /// The origin of a request, if there is exactly one and its pages may call the service.
    pub(crate) fn listed(&self, headers: &HeaderMap, is_open: bool) -> Option<&HeaderValue> {
        let mut lines = headers.get_all(ORIGIN).into_iter();
        let (origin, only) = (lines.next()?, lines.next().is_none());
        let known = self.origins.iter().find(|known| *known == origin);
        known.filter(|_| only && !is_open)
    }

    /// The CORS headers for the response to a request.
    pub(crate) fn grant(&self, parts: &Parts, is_open: bool) -> CorsGrant {
        let is_preflight = parts.method == Method::OPTIONS
            && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        CorsGrant {
            varies: !self.origins.is_empty(),
            origin: self.listed(&parts.headers, is_open).cloned(),
            is_preflight,
        }
    }
}

/// The CORS headers of a response.
#[derive(Debug)]
pub(crate) struct CorsGrant {
    varies: bool,
    /// The listed origin of the request, whose pages may read the response.
    origin: Option<HeaderValue>,
    is_preflight: bool,
}

impl CorsGrant {
    /// Adds the headers to a response.
    pub(crate) fn write_headers(self, headers: &mut HeaderMap) {
        if self.varies {
            headers.append(VARY, BY_ORIGIN);
        }
        let Some(origin) = self.origin else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        if let Some(methods) = headers.get(ALLOW).cloned().filter(|_| self.is_preflight) {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
            headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
    }
}
