//! Limits that cost nothing to check: the length of the target and what is expected of us.

use http::{header::EXPECT, request::Parts};

use crate::problem::{Problem, ProblemCode};

/// Refuses a target that is too long and an expectation that we do not meet.
pub(crate) fn check_limits(parts: &Parts, uri_bytes_max: usize) -> Result<(), Problem> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > uri_bytes_max {
        let detail = format!("shorten path and query to at most {uri_bytes_max} bytes");
        return Err(Problem::saying(ProblemCode::UriTooLong, detail));
    }
    let met = |line: &http::HeaderValue| line.as_bytes().eq_ignore_ascii_case(b"100-continue");
    if parts.headers.get_all(EXPECT).into_iter().all(met) {
        Ok(())
    } else {
        Err(Problem::new(ProblemCode::ExpectationFailed))
    }
}
