//! The SCIM face (RFC 7644): one handler an operation, each of them short.
//!
//! A handler reads what it needs of the request, has `roster-scim` turn it into what the directory
//! understands, and renders. Everything below `/scim/v2` is answered in SCIM's own form, errors
//! too. It makes no decision about users, and knows nothing of the REST face.

mod answer;
mod asked;
mod bulk;
mod cursor;
mod discovery;
mod edit;
mod fault;
mod groups;
pub(crate) mod limits;
mod operation;
mod search;
mod users;
mod walk;

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{Response, request::Parts};
use hyper::body::Incoming;
use roster_core::{Failure, StoreError};
use roster_scim::{ScimError, walk::Places};

pub(crate) use fault::from_problem;
pub use operation::{SCIM_ROUTES, ScimOperation};

use crate::{
    face::{Call, Face, UnreadCall},
    front::Body,
    problem::Problem,
    router::Operation,
};

/// What the face remembers.
#[derive(Debug, Default)]
pub(crate) struct Scim {
    places: Mutex<Places>,
}

impl Scim {
    /// Where pages ended.
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a request is not answered as it was meant.
#[derive(Debug)]
enum Refused {
    /// In SCIM's words.
    Scim(ScimError),
    /// In the words of what all faces share.
    Problem(Problem),
}

impl From<ScimError> for Refused {
    fn from(error: ScimError) -> Self {
        Self::Scim(error)
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::Scim(roster_scim::user::refused(&refusal)),
            Failure::Store(error) => error.into(),
        }
    }
}

type Answered = Result<Response<Body>, Refused>;

/// Whether a path is the face's, whatever there is at it.
pub(crate) fn is_below(base_path: &str, parts: &Parts) -> bool {
    let below = parts.uri.path().strip_prefix(base_path);
    let below = below.and_then(|below| below.strip_prefix("/scim/v2"));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Hands a request to its operation.
pub(crate) async fn dispatch(
    face: &Face,
    operation: ScimOperation,
    segment: &str,
    call: Call<'_>,
    body: Incoming,
) -> Result<Response<Body>, Problem> {
    let unread = |call, body| UnreadCall::new(Operation::Scim(operation), call, body);
    let answered = match operation {
        ScimOperation::ListUsers => Box::pin(users::list(face, &call)).await,
        ScimOperation::CreateUser => Box::pin(users::create(face, unread(call, body))).await,
        ScimOperation::SearchUsers => Box::pin(users::search(face, unread(call, body))).await,
        ScimOperation::Search => Box::pin(search::search(face, unread(call, body))).await,
        ScimOperation::GetUser => Box::pin(users::get(face, segment, &call)).await,
        ScimOperation::ReplaceUser => {
            Box::pin(users::replace(face, segment, unread(call, body))).await
        }
        ScimOperation::PatchUser => Box::pin(users::patch(face, segment, unread(call, body))).await,
        ScimOperation::DeleteUser => Box::pin(users::delete(face, segment, &call)).await,
        ScimOperation::ListGroups => Box::pin(groups::list(face, &call)).await,
        ScimOperation::CreateGroup => Box::pin(groups::create(face, unread(call, body))).await,
        ScimOperation::SearchGroups => Box::pin(groups::search(face, unread(call, body))).await,
        ScimOperation::GetGroup => Box::pin(groups::get(face, segment, &call)).await,
        ScimOperation::ReplaceGroup => {
            Box::pin(groups::replace(face, segment, unread(call, body))).await
        }
        ScimOperation::PatchGroup => {
            Box::pin(groups::patch(face, segment, unread(call, body))).await
        }
        ScimOperation::DeleteGroup => Box::pin(groups::delete(face, segment, &call)).await,
        ScimOperation::Bulk => Box::pin(bulk::bulk(face, unread(call, body))).await,
        ScimOperation::GetMe => Err(not_implemented().into()),
        ScimOperation::GetServiceProviderConfig => discovery::get_config(face, &call),
        ScimOperation::ListResourceTypes => discovery::list_resource_types(face, &call),
        ScimOperation::GetResourceType => discovery::get_resource_type(face, segment, &call),
        ScimOperation::ListSchemas => discovery::list_schemas(face, &call),
        ScimOperation::GetSchema => discovery::get_schema(face, segment, &call),
    };
    match answered {
        Ok(response) => Ok(response),
        Err(Refused::Scim(error)) => Ok(fault::answer(&error)),
        Err(Refused::Problem(problem)) => Err(problem),
    }
}

/// Callers are services, none of which is a user (RFC 7644 section 3.11).
fn not_implemented() -> ScimError {
    ScimError::of_status(501, "callers of this service are no users of it: there is no /Me")
}
