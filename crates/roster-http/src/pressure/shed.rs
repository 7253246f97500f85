//! The answer to whoever comes when there is more to do than can be done.
//!
//! It is written once, at the start; only the id of the request is put in. What it costs is what
//! is taken from those who are served.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
};

use crate::{
    front::Body,
    problem::{NO_STORE, PROBLEM_JSON, Problem, ProblemCode},
};

/// Stands where the id of the request goes.
const PLACE: &str = "\u{1}";

/// Seconds to wait, in turn: those who are refused together do not come back together.
const WAITS_S: [&str; 4] = ["1", "3", "2", "4"];

/// The answer, but for the id.
#[derive(Debug)]
pub(crate) struct Shed {
    before: String,
    after: String,
    turn: AtomicUsize,
}

impl Shed {
    /// The answer of the service at this URL.
    pub(crate) fn new(base_url: &str) -> Self {
        let whole = Problem::new(ProblemCode::Overloaded).into_text(base_url, PLACE);
        let whole = String::from_utf8(whole).unwrap_or_default();
        // As JSON writes it.
        let (before, after) = whole.split_once("\\u0001").unwrap_or((&whole, ""));
        Self { before: before.to_owned(), after: after.to_owned(), turn: AtomicUsize::new(0) }
    }

    /// How long to wait.
    pub(super) fn wait_s(&self) -> &'static str {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % WAITS_S.len();
        WAITS_S.get(turn).copied().unwrap_or("1")
    }

    /// The body before and after the id.
    pub(super) fn parts(&self) -> (&str, &str) {
        (&self.before, &self.after)
    }

    /// The answer to the request of this id.
    pub(crate) fn answer(&self, request_id: &str) -> Response<Body> {
        let length = self.before.len() + request_id.len() + self.after.len();
        let mut body = String::with_capacity(length);
        body.push_str(&self.before);
        body.push_str(request_id);
        body.push_str(&self.after);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        headers.insert(CACHE_CONTROL, NO_STORE);
        headers.insert(RETRY_AFTER, HeaderValue::from_static(self.wait_s()));
        response
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn it_is_the_problem_with_the_id_and_the_waits_differ() {
        let shed = Shed::new("http://roster.test");
        let mut waits = Vec::new();
        for _ in 0..8 {
            let response = shed.answer("abc-1");
            waits.push(response.headers().get(RETRY_AFTER).unwrap().to_str().unwrap().to_owned());
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let whole =
                Problem::new(ProblemCode::Overloaded).into_text("http://roster.test", "abc-1");
            assert_eq!(body, whole);
        }
        waits.sort();
        waits.dedup();
        assert_eq!(waits, ["1", "2", "3", "4"]);
    }
}
