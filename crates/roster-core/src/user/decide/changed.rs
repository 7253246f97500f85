//! The members that differ between two states of a user, with their REST names.

use crate::user::{
    User,
    attribute::{Attribute, Kind},
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

/// The members of the client that lost their value, in table order.
pub(super) fn cleared_members(before: &User, after: &User) -> Vec<Attribute> {
    let gone = |(attribute, _): &(Attribute, _)| {
        !matches!(attribute.kind(), Kind::Mark) && after.profile.get(*attribute).is_none()
    };
    before.profile.iter().filter(gone).map(|(attribute, _)| attribute).collect()
}
