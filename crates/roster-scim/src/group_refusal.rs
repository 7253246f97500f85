//! What core refuses of groups alone, in SCIM's words.

use roster_core::{
    GroupRefusal,
    limits::{GROUP_DEPTH_MAX, GROUP_MEMBERS_MAX, GROUPS_OF_MEMBER_MAX},
};

use crate::error::{ScimError, ScimType};

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
