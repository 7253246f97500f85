//! The SCIM interface (RFC 7644), one module for each resource.
//!
//! A handler gets its values from extractors, has `roster-scim` convert them, calls the directory
//! and builds the response. All responses below `/scim/v2`, including errors, have SCIM's form. A
//! handler makes no decision about users, and does not use the REST interface.

pub(crate) mod bulk;
mod cursor;
pub(crate) mod discovery;
mod edit;
mod extract;
mod fault;
pub(crate) mod groups;
pub(crate) mod list;
mod resources;
mod respond;
pub(crate) mod search;
pub(crate) mod users;
mod walk;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, request::Parts};
use roster_core::{Failure, StoreError};
use roster_scim::ScimError;

pub(crate) use fault::from_problem;

use crate::{
    extract::{JSON, Media, SCIM_JSON, negotiate},
    problem::Problem,
};

/// Why a request fails.
#[derive(Debug)]
pub(crate) enum ScimProblem {
    /// An error of SCIM.
    Scim(ScimError),
    /// A problem that both interfaces share.
    Problem(Problem),
}

impl From<ScimError> for ScimProblem {
    fn from(error: ScimError) -> Self {
        Self::Scim(error)
    }
}

impl From<Problem> for ScimProblem {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for ScimProblem {
    fn from(error: StoreError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<Failure> for ScimProblem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::Scim(roster_scim::user::refused(&refusal)),
            Failure::Store(error) => error.into(),
        }
    }
}

impl IntoResponse for ScimProblem {
    fn into_response(self) -> Response {
        match self {
            Self::Scim(error) => fault::answer(&error),
            Self::Problem(problem) => problem.into_response(),
        }
    }
}

/// Whether a path belongs to SCIM, even if it has no route.
pub(crate) fn is_below(base_path: &str, parts: &Parts) -> bool {
    let below = parts.uri.path().strip_prefix(base_path);
    let below = below.and_then(|below| below.strip_prefix("/scim/v2"));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The media type of errors that a client accepts.
pub(crate) fn accepted(headers: &HeaderMap) -> Media {
    negotiate(headers, &[SCIM_JSON, JSON]).unwrap_or(SCIM_JSON)
}

/// Callers are services, none of which is a user (RFC 7644 section 3.11).
pub(crate) fn me_is_not_implemented() -> ScimProblem {
    ScimError::of_status(501, "callers of this service are no users of it: there is no /Me").into()
}
