//! Errors in SCIM's form (RFC 7644 section 3.12): SCIM errors, and the problems that both
//! interfaces share.

use axum::{body::Body, response::Response};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE},
};
use roster_core::json::write_json;
use roster_scim::{ScimError, ScimType};

use crate::{
    extract::SCIM_JSON,
    problem::{NO_STORE, Problem, ProblemCode},
};

/// The response to an error of SCIM.
pub(super) fn answer(error: &ScimError) -> Response {
    let mut body = Vec::with_capacity(256);
    write_json(&mut body, &error.to_json());
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, SCIM_JSON.header());
    headers.insert(CACHE_CONTROL, NO_STORE);
    response
}

/// The response to a problem of a SCIM request.
pub(crate) fn from_problem(problem: Problem) -> Response {
    let (error, headers) = in_scim(problem);
    let status = error.status;
    let mut response = answer(&error);
    for (name, value) in headers {
        if name != ALLOW || status == 405 {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// A problem in SCIM's form, with its headers.
pub(super) fn in_scim(problem: Problem) -> (ScimError, Vec<(HeaderName, HeaderValue)>) {
    let scim_type = scim_type(problem.code);
    let (status, detail, headers) = problem.into_parts();
    // A body that parses but is invalid is 400 in SCIM, with a `scimType`.
    let status = scim_type.map_or(status, ScimType::status);
    (ScimError { status, scim_type, detail: detail.into() }, headers)
}

/// The `scimType` for a code, if there is one.
fn scim_type(code: ProblemCode) -> Option<ScimType> {
    use ProblemCode as Code;
    match code {
        Code::InvalidQuery | Code::InvalidUser | Code::InvalidGroup | Code::InvalidSchema => {
            Some(ScimType::InvalidValue)
        }
        Code::InvalidCursor => Some(ScimType::InvalidCursor),
        Code::InvalidFilter => Some(ScimType::InvalidFilter),
        Code::MalformedJson => Some(ScimType::InvalidSyntax),
        Code::UsernameTaken
        | Code::EmailTaken
        | Code::ExternalIdTaken
        | Code::AttributeTaken
        | Code::GroupNameTaken => Some(ScimType::Uniqueness),
        // SCIM has no CSV.
        Code::MalformedCsv
        | Code::InvalidColumns
        | Code::InvalidRequest
        | Code::InvalidIdempotencyKey
        | Code::Unauthenticated
        | Code::InsufficientScope
        | Code::ForeignOrigin
        | Code::ForwardedRequest
        | Code::NotFound
        | Code::UserNotFound
        | Code::KeyNotFound
        | Code::TenantNotFound
        | Code::QuotaExceeded
        | Code::TenantSuspended
        | Code::WrongTenant
        | Code::OperatorKeyRequired
        | Code::TenantNameTaken
        | Code::TooManyTenants
        | Code::WebhookNotFound
        | Code::TooManyWebhooks
        | Code::WebhookStale
        | Code::InvalidWebhook
        | Code::InvalidTenant
        | Code::GroupNotFound
        | Code::MemberNotFound
        | Code::IdTaken
        | Code::CountMismatch
        | Code::GroupCycle
        | Code::GroupTooDeep
        | Code::GroupFull
        | Code::ProblemNotFound
        | Code::MethodNotAllowed
        | Code::NotAcceptable
        | Code::BodyTooSlow
        | Code::PositionOutlived
        | Code::KeyEnded
        | Code::TooManyKeys
        | Code::VersionMismatch
        | Code::BodyTooLarge
        | Code::UriTooLong
        | Code::UnsupportedMediaType
        | Code::ExpectationFailed
        | Code::MisdirectedRequest
        | Code::InvalidKey
        | Code::IdempotencyKeyReused
        | Code::PreconditionRequired
        | Code::RateLimited
        | Code::Internal
        | Code::MethodNotImplemented
        | Code::Unavailable
        | Code::Draining
        | Code::Overloaded
        | Code::StorageFull => None,
    }
}
