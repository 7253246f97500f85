//! The SCIM face (RFC 7644): one handler an operation, each of them short.
//!
//! A handler reads what it needs of the request, has `roster-scim` turn it into what the directory
//! understands, and renders. Everything below `/scim/v2` is answered in SCIM's own form, errors
//! too. It makes no decision about users, and knows nothing of the REST face.

pub(crate) mod bulk;
mod cursor;
pub(crate) mod discovery;
mod edit;
mod extract;
mod fault;
pub(crate) mod groups;
pub(crate) mod limits;
pub(crate) mod list;
mod resources;
mod respond;
pub(crate) mod search;
pub(crate) mod users;
mod walk;

use axum::response::{IntoResponse, Response};
use http::request::Parts;
use roster_core::{Failure, StoreError};
use roster_scim::ScimError;

pub(crate) use fault::from_problem;

use crate::problem::Problem;

/// Why a request is not answered as it was meant.
#[derive(Debug)]
pub(crate) enum ScimProblem {
    /// In SCIM's words.
    Scim(ScimError),
    /// In the words of what all faces share.
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

/// Whether a path is the face's, whatever there is at it.
pub(crate) fn is_below(base_path: &str, parts: &Parts) -> bool {
    let below = parts.uri.path().strip_prefix(base_path);
    let below = below.and_then(|below| below.strip_prefix("/scim/v2"));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Callers are services, none of which is a user (RFC 7644 section 3.11).
pub(crate) fn me_is_not_implemented() -> ScimProblem {
    ScimError::of_status(501, "callers of this service are no users of it: there is no /Me").into()
}
