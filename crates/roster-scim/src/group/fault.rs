//! Converts refusals of commands on groups to SCIM errors.
//!
//! The match has no wildcard: a new refusal does not compile until it has an error here.

use roster_core::{GroupRefusal, Refusal};

use crate::{error::ScimError, group_refusal::of_group, user};

/// The error for a refusal of a command on a group.
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
        | Refusal::IdTaken
        | Refusal::QuotaExceeded
        | Refusal::TenantNotFound
        | Refusal::KeyReused
        | Refusal::EditRefused => user::refused(refusal),
    }
}
