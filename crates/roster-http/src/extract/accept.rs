//! `Accept`: the choice between the media types of a resource (RFC 9110 section 12.5.1).

use http::{HeaderMap, HeaderValue, header::ACCEPT};
use roster_server::thousandths;

use crate::problem::{Problem, ProblemCode};

/// A media type of a response: the whole value of `Content-Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Media(pub(crate) &'static str);

/// JSON.
pub(crate) const JSON: Media = Media("application/json");
/// JSON of SCIM (RFC 7644 section 8.1).
pub(crate) const SCIM_JSON: Media = Media("application/scim+json");
/// One JSON text per line.
pub(crate) const NDJSON: Media = Media("application/x-ndjson");
/// Further names of [`NDJSON`], in requests.
const NDJSON_NAMES: [&str; 2] = ["application/jsonl", "application/ndjson"];
/// One record in each row (RFC 4180). The header row is always there.
pub(crate) const CSV: Media = Media("text/csv; charset=utf-8; header=present");
/// Server-sent events (HTML, section 9.2).
pub(crate) const EVENT_STREAM: Media = Media("text/event-stream");
/// An HTML page.
pub(crate) const HTML: Media = Media("text/html; charset=utf-8");
/// Metrics for Prometheus.
pub(crate) const OPENMETRICS: Media =
    Media("application/openmetrics-text; version=1.0.0; charset=utf-8");
/// Metrics in the older text format of Prometheus.
pub(crate) const PROMETHEUS_TEXT: Media = Media("text/plain; version=0.0.4; charset=utf-8");

impl Media {
    /// The value of `Content-Type`.
    pub(crate) const fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.0)
    }

    /// The media type without its parameters.
    fn name(self) -> &'static str {
        self.0.split(';').next().unwrap_or_default()
    }

    /// Whether a request names this media type so.
    pub(crate) fn is_named(self, name: &str) -> bool {
        let also: &[&str] = if self == NDJSON { &NDJSON_NAMES } else { &[] };
        [self.name()].iter().chain(also).any(|known| name.eq_ignore_ascii_case(known))
    }
}

/// The offered media type that the caller prefers. Of equally preferred ones, the first.
pub(crate) fn negotiate(headers: &HeaderMap, offered: &[Media]) -> Result<Media, Problem> {
    let ranges = || {
        let lines = headers.get_all(ACCEPT).into_iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).filter(|range| !range.trim().is_empty())
    };
    let mut best: Option<(u16, Media)> = None;
    for media in offered {
        let quality = if ranges().next().is_none() { 1000 } else { quality(*media, ranges()) };
        if quality > best.map_or(0, |(best, _)| best) {
            best = Some((quality, *media));
        }
    }
    best.map(|(_, media)| media).ok_or_else(|| {
        let names: Vec<&str> = offered.iter().map(|media| media.name()).collect();
        let detail = format!("accept {}, or leave Accept out", names.join(" or "));
        Problem::saying(ProblemCode::NotAcceptable, detail)
    })
}

/// The quality of a media type in thousandths: that of the most specific range that covers it.
fn quality<'a>(media: Media, ranges: impl Iterator<Item = &'a str>) -> u16 {
    let (own_kind, _) = media.name().split_once('/').unwrap_or_default();
    let mut found = (0, 0);
    for range in ranges {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        // Old clients of Java send "*" for "*/*".
        let name = if name == "*" { "*/*" } else { name };
        let Some((kind, subtype)) = name.split_once('/') else { continue };
        let specific = if kind == "*" && subtype == "*" {
            1
        } else if !kind.eq_ignore_ascii_case(own_kind) {
            continue;
        } else if subtype == "*" {
            2
        } else if media.is_named(name) {
            3
        } else {
            continue;
        };
        let weight = parts.filter_map(|part| part.split_once('=')).find_map(|(name, value)| {
            name.trim().eq_ignore_ascii_case("q").then(|| thousandths(value.trim()))
        });
        if specific > found.0 {
            found = (specific, weight.unwrap_or(1000));
        }
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(accept: Option<&'static str>, offered: &[Media]) -> Option<Media> {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
        }
        negotiate(&headers, offered).ok()
    }

    #[test]
    fn the_form_that_the_caller_likes_best_is_chosen() {
        let both = &[JSON, HTML];
        assert_eq!(best(None, both), Some(JSON));
        assert_eq!(best(Some(""), both), Some(JSON));
        assert_eq!(best(Some("*/*"), both), Some(JSON));
        assert_eq!(best(Some("text/html, image/gif, *; q=.2, */*; q=.2"), &[JSON]), Some(JSON));
        assert_eq!(best(Some("*"), both), Some(JSON));
        assert_eq!(best(Some("text/html,application/xhtml+xml,*/*;q=0.8"), both), Some(HTML));
        assert_eq!(best(Some("Application/JSON;q=0.2, text/*;q=0.1"), both), Some(JSON));
        assert_eq!(best(Some("application/json;q=0, */*"), both), Some(HTML));
        assert_eq!(best(Some("application/json;q=0, application/*"), &[JSON]), None);
        assert_eq!(best(Some("text/xml"), both), None);
        assert_eq!(best(Some("json"), both), None);
        for name in ["application/x-ndjson", "application/NDJSON", "application/jsonl"] {
            assert_eq!(best(Some(name), &[JSON, NDJSON]), Some(NDJSON));
            assert_eq!(best(Some(name), &[JSON]), None);
        }
    }
}
