//! The keys of callers: `/keys`, for whoever has the scope `keys:admin`.
//!
//! The text of a key stands in the answer that made it and nowhere else. Each change is told in
//! the log of the service, with its actor and without any secret.

mod create;
mod get;
mod list;
mod record;
mod revoke;
mod rotate;

pub(in crate::rest) use create::create;
pub(in crate::rest) use get::get;
pub(in crate::rest) use list::list;
pub(in crate::rest) use revoke::revoke;
pub(in crate::rest) use rotate::rotate;

use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use roster_core::{
    Json,
    access::{Authority, KeyFailure, KeyId, KeyRefusal},
    json::write_json,
};

use crate::{
    extract::JSON,
    front::Body,
    problem::{Problem, ProblemCode},
};

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The id in a path: what is none has no key.
fn key_id(segment: &str) -> Result<KeyId, Problem> {
    KeyId::parse(segment).ok_or_else(absent)
}

fn absent() -> Problem {
    Problem::new(ProblemCode::KeyNotFound)
}

/// An answer about keys, which nobody on the way may keep.
fn answer(status: StatusCode, body: &Json) -> Response<Body> {
    let mut out = Vec::with_capacity(512);
    write_json(&mut out, body);
    let mut response = Response::new(Body::from(out));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON.header());
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}

/// Tells of a change in the log of the service.
fn note(request_id: &str, authority: &Authority, what: &str, key: KeyId) {
    let actor = authority.actor().to_string();
    tracing::info!(request_id, actor, key = key.as_str(), "{what}");
}

impl From<KeyFailure> for Problem {
    fn from(failure: KeyFailure) -> Self {
        match failure {
            KeyFailure::Store(error) => error.into(),
            KeyFailure::Refused(KeyRefusal::NotFound) => absent(),
            KeyFailure::Refused(KeyRefusal::Ended) => Self::new(ProblemCode::KeyEnded),
            KeyFailure::Refused(KeyRefusal::TooMany) => Self::new(ProblemCode::TooManyKeys),
            // The directory throws the dice again for as long as it takes.
            KeyFailure::Refused(KeyRefusal::IdTaken) => Self::new(ProblemCode::Internal),
        }
    }
}
