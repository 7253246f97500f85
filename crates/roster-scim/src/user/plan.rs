//! What one request wants to see of users, laid out once for all of them.
//!
//! Everything that does not depend on the user is looked up here: what is shown, under which name,
//! in which order. Knows no record.

use roster_core::{Attribute, json::write_text};

use crate::{
    project::{Projection, Shown},
    schema::{ROSTER_URN, USER_URN, scim_path},
};

const FIRST: &[Attribute] = &[Attribute::ExternalId, Attribute::Username];
const NAME: &[Attribute] = &[
    Attribute::Name,
    Attribute::FamilyName,
    Attribute::GivenName,
    Attribute::MiddleName,
    Attribute::HonorificPrefix,
    Attribute::HonorificSuffix,
];
const BEFORE_ACTIVE: &[Attribute] = &[
    Attribute::DisplayName,
    Attribute::Nickname,
    Attribute::Profile,
    Attribute::Title,
    Attribute::UserType,
    Attribute::PreferredLanguage,
    Attribute::Locale,
    Attribute::Zoneinfo,
];
const LISTS: &[Attribute] = &[
    Attribute::Emails,
    Attribute::PhoneNumbers,
    Attribute::Ims,
    Attribute::Photos,
    Attribute::Addresses,
    Attribute::Entitlements,
    Attribute::Roles,
    Attribute::X509Certificates,
];
pub(super) const ENTERPRISE: &[Attribute] = &[
    Attribute::EmployeeNumber,
    Attribute::CostCenter,
    Attribute::Organization,
    Attribute::Division,
    Attribute::Department,
    Attribute::Manager,
];
pub(super) const ROSTER: &[Attribute] =
    &[Attribute::EmailVerified, Attribute::PhoneNumberVerified, Attribute::Attributes];

/// What is shown, in the order in which it is.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) first: Vec<Put>,
    pub(super) name: Vec<Put>,
    pub(super) before_active: Vec<Put>,
    pub(super) active: bool,
    pub(super) lists: Vec<Put>,
    pub(super) groups: bool,
    pub(super) enterprise: Vec<Put>,
    pub(super) asks_status: bool,
    pub(super) roster: Vec<Put>,
    /// `meta`, as texts with what stands after each.
    pub(super) meta: Vec<(Vec<u8>, Hole)>,
    /// What stands after these.
    pub(super) end: Vec<u8>,
}

/// A member that is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put {
    pub(super) attribute: Attribute,
    /// The text that begins it, comma included.
    pub(super) name: &'static str,
    /// Whether its value is not shown as it stands.
    pub(super) taken_apart: bool,
}

/// What stands after a ready text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hole {
    /// The text of a member.
    Text(Attribute),
    /// The user's id without its quotes.
    BareId,
}

impl Plan {
    pub(super) fn new(base: &str, projection: &Projection) -> Self {
        let all = |attributes: &[Attribute]| -> Vec<Put> {
            attributes.iter().filter_map(|attribute| put(*attribute, projection)).collect()
        };
        let meta = Meta::new(base, projection);
        Self {
            first: all(FIRST),
            name: all(NAME),
            before_active: all(BEFORE_ACTIVE),
            active: projection.attribute(USER_URN, "active") != Shown::No,
            lists: all(LISTS),
            groups: super::shows_groups(projection),
            enterprise: all(ENTERPRISE),
            asks_status: projection.asks(ROSTER_URN, "status"),
            roster: all(ROSTER),
            meta: meta.filled,
            end: meta.text,
        }
    }
}

fn put(attribute: Attribute, projection: &Projection) -> Option<Put> {
    let place = scim_path(attribute)?;
    let shown = match place.sub_attribute {
        Some(part) if projection.part(place.urn, place.attribute, part) => Shown::Whole,
        Some(_) => Shown::No,
        None => projection.attribute(place.urn, place.attribute),
    };
    let has_other_parts = matches!(attribute, Attribute::Addresses | Attribute::Manager);
    let taken_apart = has_other_parts || shown == Shown::Parts;
    (shown != Shown::No).then_some(Put { attribute, name: place.member, taken_apart })
}

/// `meta` and the end of the user, as texts with what stands after each and a last text.
#[derive(Default)]
struct Meta {
    filled: Vec<(Vec<u8>, Hole)>,
    text: Vec<u8>,
    is_open: bool,
}

impl Meta {
    fn new(base: &str, projection: &Projection) -> Self {
        let shown = |part: &str| projection.part(USER_URN, "meta", part);
        let mut meta = Self::default();
        if shown("resourceType") {
            meta.name("resourceType");
            meta.text.extend_from_slice(b"\"User\"");
        }
        for attribute in [Attribute::CreatedAt, Attribute::UpdatedAt] {
            let part = scim_path(attribute).and_then(|place| place.sub_attribute);
            if let Some(part) = part.filter(|part| shown(part)) {
                meta.name(part);
                meta.hole(Hole::Text(attribute));
            }
        }
        if shown("location") {
            meta.name("location");
            write_text(&mut meta.text, &format!("{base}/Users/"));
            // The quote comes after the id.
            meta.text.pop();
            meta.hole(Hole::BareId);
            meta.text.push(b'"');
        }
        if shown("version") {
            meta.name("version");
            meta.text.extend_from_slice(b"\"W/\\\"");
            meta.hole(Hole::Text(Attribute::Version));
            meta.text.extend_from_slice(b"\\\"\"");
        }
        let end: &[u8] = if meta.is_open { b"}}" } else { b"}" };
        meta.text.extend_from_slice(end);
        meta
    }

    /// Begins a member.
    fn name(&mut self, name: &str) {
        let before: &[u8] = if self.is_open { b"," } else { b",\"meta\":{" };
        self.is_open = true;
        self.text.extend_from_slice(before);
        write_text(&mut self.text, name);
        self.text.push(b':');
    }

    fn hole(&mut self, hole: Hole) {
        self.filled.push((std::mem::take(&mut self.text), hole));
    }
}
