//! The users of the SCIM face.

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
pub(crate) use patch::{patch, patch_user};
pub(crate) use replace::replace;

use roster_core::UserId;
use roster_scim::ScimError;

/// The id in a path. A text of any other form names no user.
pub(super) fn user_id(segment: &str) -> Result<UserId, ScimError> {
    UserId::parse(segment).ok_or_else(no_such_user)
}

fn no_such_user() -> ScimError {
    ScimError::of_status(404, "there is no user of this id")
}
