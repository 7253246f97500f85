//! The members that differ between two states of a user, with their REST names.

use std::collections::HashSet;

use crate::user::{
    User,
    attribute::{Attribute, Kind},
    profile::Value,
};

/// The members that differ, in table order: with short forms, without the members that the server
/// sets.
pub(super) fn changed_members(before: Option<&User>, after: &User) -> Vec<Attribute> {
    let differs = |attribute: &&Attribute| match attribute.kind() {
        Kind::ServerMade => false,
        Kind::Status => before.is_none_or(|before| before.status != after.status),
        Kind::ShortForm { list, .. } => {
            before.and_then(|before| before.profile.primary_value(list))
                != after.profile.primary_value(list)
        }
        Kind::Mark
        | Kind::Text(_)
        | Kind::Flag { .. }
        | Kind::One(_)
        | Kind::Many(_)
        | Kind::Object => {
            before.and_then(|before| before.profile.get(**attribute))
                != after.profile.get(**attribute)
        }
    };
    Attribute::ALL.iter().filter(differs).copied().collect()
}

/// The members of the client that lost their value, in table order. `attributes` is one of them if
/// any of its members did.
pub(super) fn cleared_members(before: &User, after: &User) -> Vec<Attribute> {
    let gone = |(attribute, value): &(Attribute, &Value)| {
        !matches!(attribute.kind(), Kind::Mark) && has_lost(value, after.profile.get(*attribute))
    };
    before.profile.iter().filter(gone).map(|(attribute, _)| attribute).collect()
}

fn has_lost(before: &Value, after: Option<&Value>) -> bool {
    match (before, after) {
        (Value::Object(before), Some(Value::Object(after))) => {
            let kept: HashSet<&str> = after.iter().map(|(name, _)| name.as_str()).collect();
            before.iter().any(|(name, _)| !kept.contains(name.as_str()))
        }
        (_, after) => after.is_none(),
    }
}
