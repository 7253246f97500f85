//! CORS (Fetch standard, section 3.3) for the web pages of listed origins, and of no others.
//!
//! A page of a listed origin may call from a browser and read what is answered, by a credential
//! that it sends itself: never by one that the browser keeps. There is no wildcard and no `null`.
//! While the service is open nobody needs a credential, so nobody counts as listed. Whoever does
//! not count goes through the origin guard and is told nothing of this.

use http::{
    HeaderMap, HeaderValue, Method,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
        ALLOW, ORIGIN, VARY,
    },
    request::Parts,
};

/// What is read of a request and needs leave: a page may send the rest without.
const ALLOWED: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, idempotency-key, if-match, if-none-match, prefer, \
     x-request-id",
);
/// What is told in an answer and needs leave to be read by a page.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "accept, accept-encoding, accept-patch, allow, content-location, date, dry-run, etag, \
     idempotent-replayed, link, location, preference-applied, ratelimit, ratelimit-policy, \
     retry-after, roster-position, vary, www-authenticate, x-request-id",
);
/// Seconds that a browser may keep the answer to a preflight. Who is taken off the list is refused
/// by the guard all the same.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const BY_ORIGIN: HeaderValue = HeaderValue::from_static("Origin");

/// The origins whose pages may call.
#[derive(Debug)]
pub(crate) struct Cors {
    origins: Vec<HeaderValue>,
}

impl Cors {
    /// These origins, each as a browser writes it in `Origin`.
    pub(crate) fn new(origins: &[String]) -> Self {
        let exact = |origin: &String| HeaderValue::try_from(origin).ok();
        Self { origins: origins.iter().filter_map(exact).collect() }
    }

    /// The one origin of a request, if its pages may call.
    pub(crate) fn listed(&self, headers: &HeaderMap, is_open: bool) -> Option<&HeaderValue> {
        let mut lines = headers.get_all(ORIGIN).into_iter();
        let (origin, only) = (lines.next()?, lines.next().is_none());
        let known = self.origins.iter().find(|known| *known == origin);
        known.filter(|_| only && !is_open)
    }

    /// What the response to a request tells a browser.
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

/// What a response tells a browser.
#[derive(Debug)]
pub(crate) struct CorsGrant {
    varies: bool,
    /// The listed origin of the request, whose pages may read the response.
    origin: Option<HeaderValue>,
    is_preflight: bool,
}

impl CorsGrant {
    /// Adds the headers of CORS.
    pub(crate) fn tell(self, headers: &mut HeaderMap) {
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
