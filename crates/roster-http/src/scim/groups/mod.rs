//! The groups of the SCIM face (RFC 7643 section 4.2).
//!
//! Members are loaded only where they are shown: `excludedAttributes=members` never asks for them.

mod answer;
mod create;
mod delete;
mod get;
mod list;
mod page;
mod patch;
mod replace;

pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use get::get;
pub(crate) use list::{list, part, search};
pub(crate) use patch::{patch, patch_group};
pub(crate) use replace::replace;

use roster_core::{Failure, GroupId, Outcome};
use roster_scim::{ScimError, group::refused};

use super::Refused;

/// The id in a path. A text of any other form names no group.
pub(super) fn group_id(segment: &str) -> Result<GroupId, ScimError> {
    GroupId::parse(segment).ok_or_else(no_such_group)
}

fn no_such_group() -> ScimError {
    ScimError::of_status(404, "there is no group of this id")
}

/// What a write came to; its refusals speak of groups.
pub(super) async fn of_groups(
    write: impl Future<Output = Result<Outcome, Failure>>,
) -> Result<Outcome, Refused> {
    told(write.await)
}

fn told(result: Result<Outcome, Failure>) -> Result<Outcome, Refused> {
    result.map_err(|failure| match failure {
        Failure::Refused(refusal) => refused(&refusal).into(),
        Failure::Store(error) => error.into(),
    })
}
