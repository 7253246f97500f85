//! What core refuses of a group, in SCIM's words.
//!
//! Matched without a wildcard: a new refusal has no answer until it gets one here.

use roster_core::{GroupRefusal, Refusal};

use crate::{error::ScimError, group_refusal::of_group, user};

/// The answer to a refusal of a command on a group.
pub fn refused(refusal: &Refusal) -> ScimError {
    match refusal {
        Refusal::VersionMismatch { current } => ScimError::of_status(
            412,
            format!(
                "the group is at version W/\"{current}\"; fetch it and apply your change to that"
            ),
        ),
        Refusal::Group(refusal) => of_group(refusal),
        Refusal::NotFound => of_group(&GroupRefusal::NotFound),
        Refusal::PreconditionRequired { .. }
        | Refusal::Invalid(_)
        | Refusal::Taken(_)
        | Refusal::KeyReused
        | Refusal::EditRefused => user::refused(refusal),
    }
}
