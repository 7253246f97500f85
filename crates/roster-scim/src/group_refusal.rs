//! Converts refusals of groups to SCIM errors.

use roster_core::{
    GroupRefusal,
    limits::{GROUP_DEPTH_MAX, GROUP_MEMBERS_MAX, GROUPS_OF_MEMBER_MAX},
};

use crate::error::{ScimError, ScimType};

/// The error for a refusal of a group.
pub(crate) fn of_group(refusal: &GroupRefusal) -> ScimError {
    match refusal {
        GroupRefusal::NotFound => ScimError::of_status(404, "no group has this id"),
        GroupRefusal::NameTaken => {
            let detail = "displayName: another group has it; choose another";
            ScimError::new(ScimType::Uniqueness, detail)
        }
        GroupRefusal::UnknownMembers(ids) => {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            let detail = format!("members: no user or group has the id {}", ids.join(", "));
            ScimError::new(ScimType::InvalidValue, detail)
        }
        GroupRefusal::NotMember => ScimError::of_status(404, "no member of the group has this id"),
        GroupRefusal::Cycle => ScimError::of_status(
            409,
            "members: a group cannot contain itself, directly or through another group",
        ),
        GroupRefusal::TooDeep => {
            let detail = format!("members: groups can be nested {GROUP_DEPTH_MAX} deep at most");
            ScimError::of_status(409, detail)
        }
        GroupRefusal::TooWide => ScimError::of_status(
            409,
            "members: too many groups contain this group or are contained in it",
        ),
        GroupRefusal::TooManyMembers => {
            let detail = format!("members: a group has {GROUP_MEMBERS_MAX} members at most");
            ScimError::of_status(409, detail)
        }
        GroupRefusal::TooManyGroups(id) => {
            let detail = format!("members: {id} is already in {GROUPS_OF_MEMBER_MAX} groups");
            ScimError::of_status(409, detail)
        }
    }
}
