//! Limits that are cheap to check: the length of the target, the transfer coding, `Content-Range`
//! and `Expect`.

use http::{
    HeaderValue, Method,
    header::{CONNECTION, CONTENT_RANGE, EXPECT, TRANSFER_ENCODING},
    request::Parts,
};

use crate::{
    problem::{Problem, ProblemCode},
    tenancy::Segment,
};

/// Rejects a target that is too long, an unsupported transfer coding, a part of a body and an
/// unsupported expectation.
pub(crate) fn check_limits(parts: &Parts, uri_bytes_max: usize) -> Result<(), Problem> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    // A path below a tenant's base URL is read without these segments.
    let tenant = parts.extensions.get::<Segment>();
    let tenant = tenant.map_or(0, |Segment(name)| "/tenants/".len() + name.len());
    if target + tenant > uri_bytes_max {
        let detail = format!("shorten path and query to at most {uri_bytes_max} bytes");
        return Err(Problem::saying(ProblemCode::UriTooLong, detail));
    }
    // hyper checks only the last coding, and would pass on a body that is still coded.
    let mut codings = parts.headers.get_all(TRANSFER_ENCODING).into_iter();
    if let Some(coding) = codings.next()
        && (codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
    {
        let detail = "send the body in chunked coding alone, or with Content-Length";
        return Err(Problem::saying(ProblemCode::InvalidRequest, detail)
            .with_header(CONNECTION, HeaderValue::from_static("close")));
    }
    // A part must not replace the whole (RFC 9110 section 14.5).
    let is_part = [Method::PUT, Method::PATCH].contains(&parts.method);
    if is_part && parts.headers.contains_key(CONTENT_RANGE) {
        let detail = "send the whole body, without Content-Range: parts cannot be written";
        return Err(Problem::saying(ProblemCode::InvalidRequest, detail));
    }
    let met = |line: &HeaderValue| line.as_bytes().eq_ignore_ascii_case(b"100-continue");
    if parts.headers.get_all(EXPECT).into_iter().all(met) {
        Ok(())
    } else {
        Err(Problem::new(ProblemCode::ExpectationFailed))
    }
}
