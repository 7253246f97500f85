//! What core refuses of a group, in SCIM's words.
//!
//! Matched without a wildcard: a new refusal has no answer until it gets one here.

use roster_core::{
    GroupRefusal, Refusal,
    limits::{GROUP_DEPTH_MAX, GROUP_MEMBERS_MAX, GROUPS_OF_MEMBER_MAX},
};

use crate::{
    error::{ScimError, ScimType},
    user,
};

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

/// The answer to what groups alone are refused for.
pub(crate) fn of_group(refusal: &GroupRefusal) -> ScimError {
    match refusal {
        GroupRefusal::NotFound => ScimError::of_status(404, "there is no group of this id"),
        GroupRefusal::NameTaken => {
            let detail = "displayName: another group has it; choose another";
            ScimError::new(ScimType::Uniqueness, detail)
        }
        GroupRefusal::UnknownMembers(ids) => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            let detail = format!("members: neither a user nor a group is {}", ids.join(", "));
            ScimError::new(ScimType::InvalidValue, detail)
        }
        GroupRefusal::NotMember => ScimError::of_status(404, "no member of the group has this id"),
        GroupRefusal::Cycle => {
            ScimError::of_status(409, "members: a group cannot belong to itself, at any remove")
        }
        GroupRefusal::TooDeep => {
            let detail = format!("members: at most {GROUP_DEPTH_MAX} groups stand in one another");
            ScimError::of_status(409, detail)
        }
        GroupRefusal::TooWide => {
            ScimError::of_status(409, "members: too many groups stand above or below")
        }
        GroupRefusal::TooManyMembers => {
            let detail = format!("members: a group has at most {GROUP_MEMBERS_MAX}");
            ScimError::of_status(409, detail)
        }
        GroupRefusal::TooManyGroups(id) => {
            let detail = format!("members: {id} is in {GROUPS_OF_MEMBER_MAX} groups already");
            ScimError::of_status(409, detail)
        }
    }
}
