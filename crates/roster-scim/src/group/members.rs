//! Reads the members of a group, in a body and in a PATCH alike.

use roster_core::{Json, UserId};

use super::stream::{self, Fault};
use crate::{
    error::{ScimError, ScimType},
    schema::GROUP,
    strictness::Strictness,
    value::{Needs, many},
};

/// The maximum length of an id of another system that an error shows.
const SHOWN_MAX: usize = 64;

/// Calls the function with the id of each member in an array of members, or in a single one. `null`
/// has none.
pub(crate) fn each_id(
    value: &[u8],
    strictness: Strictness,
    mut each: impl FnMut(UserId),
) -> Result<(), Fault> {
    let mut one = |member: &[u8]| -> Result<(), Fault> {
        let Some(attribute) = GROUP.schema.attribute("members") else { return Ok(()) };
        let member = Json::Array(vec![stream::member(member)?]);
        for parts in many(attribute, member, strictness, Needs::Whole, format_args!("members"))? {
            if let Some((_, Json::Text(text))) = parts.iter().find(|(name, _)| name == "value") {
                each(member_id(text)?);
            }
        }
        Ok(())
    };
    match value.first() {
        Some(b'[') => stream::items(value, one),
        Some(b'n') => Ok(()),
        _ => one(value),
    }
}

/// Parses the id of a member. The error shows an id of another system, but no address or name of a
/// person.
pub(crate) fn member_id(text: &str) -> Result<UserId, ScimError> {
    let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    UserId::parse(text).ok_or_else(|| {
        let shown = if text.len() <= SHOWN_MAX && text.bytes().all(is_of_id) {
            format!("{text:?}")
        } else {
            "a value".to_owned()
        };
        let detail = format!("members: {shown} is no id: send the id of a user or of a group");
        ScimError::new(ScimType::InvalidValue, detail)
    })
}
