//! The layout of the users in one response, computed once per request.
//!
//! It holds everything that does not depend on the user: which members are returned, under which
//! names, in which order.

use roster_core::{Attribute, json::write_text};

use crate::{
    project::{Projection, Selection},
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
pub(super) const ROSTER: &[Attribute] = &[
    Attribute::ExpiresAt,
    Attribute::EmailVerified,
    Attribute::PhoneNumberVerified,
    Attribute::Attributes,
];

/// The members to return, in their order.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) first: Vec<PlannedMember>,
    pub(super) name: Vec<PlannedMember>,
    pub(super) before_active: Vec<PlannedMember>,
    pub(super) active: bool,
    pub(super) lists: Vec<PlannedMember>,
    pub(super) groups: bool,
    pub(super) enterprise: Vec<PlannedMember>,
    pub(super) returns_status: bool,
    pub(super) roster: Vec<PlannedMember>,
    /// `meta`, as texts with the value that follows each.
    pub(super) meta: Vec<(Vec<u8>, Slot)>,
    /// The text after these.
    pub(super) end: Vec<u8>,
}

/// A member to return.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedMember {
    pub(super) attribute: Attribute,
    /// The text that starts it, with the comma.
    pub(super) name: &'static str,
    /// Whether the value is parsed and rewritten. Otherwise its bytes are copied.
    pub(super) is_rewritten: bool,
}

/// The value that follows a fixed text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// The JSON text of a member.
    Text(Attribute),
    /// The user's id without its quotes.
    BareId,
}

impl Plan {
    pub(super) fn new(base: &str, projection: &Projection) -> Self {
        let all = |attributes: &[Attribute]| -> Vec<PlannedMember> {
            attributes.iter().filter_map(|attribute| planned(*attribute, projection)).collect()
        };
        let meta = Meta::new(base, projection);
        Self {
            first: all(FIRST),
            name: all(NAME),
            before_active: all(BEFORE_ACTIVE),
            active: projection.attribute(USER_URN, "active") != Selection::None,
            lists: all(LISTS),
            groups: shows_groups(projection),
            enterprise: all(ENTERPRISE),
            returns_status: projection.requests(ROSTER_URN, "status"),
            roster: all(ROSTER),
            meta: meta.filled,
            end: meta.text,
        }
    }
}

fn planned(attribute: Attribute, projection: &Projection) -> Option<PlannedMember> {
    let path = scim_path(attribute)?;
    // Returned only if the request names it: `/Schemas` cannot describe an object with any keys.
    if attribute == Attribute::Attributes && !projection.requests(path.urn, path.attribute) {
        return None;
    }
    let shown = match path.sub_attribute {
        Some(part) if projection.part(path.urn, path.attribute, part) => Selection::Whole,
        Some(_) => Selection::None,
        None => projection.attribute(path.urn, path.attribute),
    };
    let has_other_parts = matches!(attribute, Attribute::Addresses | Attribute::Manager);
    let is_rewritten = has_other_parts || shown == Selection::Parts;
    (shown != Selection::None).then_some(PlannedMember {
        attribute,
        name: path.member,
        is_rewritten,
    })
}

/// `meta` and the end of the user: texts, the value that follows each, and a last text.
#[derive(Default)]
struct Meta {
    filled: Vec<(Vec<u8>, Slot)>,
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
            let part = scim_path(attribute).and_then(|path| path.sub_attribute);
            if let Some(part) = part.filter(|part| shown(part)) {
                meta.name(part);
                meta.slot(Slot::Text(attribute));
            }
        }
        if shown("location") {
            meta.name("location");
            write_text(&mut meta.text, &format!("{base}/Users/"));
            // The id and the closing quote follow.
            meta.text.pop();
            meta.slot(Slot::BareId);
            meta.text.push(b'"');
        }
        if shown("version") {
            meta.name("version");
            meta.text.extend_from_slice(b"\"W/\\\"");
            meta.slot(Slot::Text(Attribute::Version));
            meta.text.extend_from_slice(b"\\\"\"");
        }
        let end: &[u8] = if meta.is_open { b"}}" } else { b"}" };
        meta.text.extend_from_slice(end);
        meta
    }

    /// Starts a member.
    fn name(&mut self, name: &str) {
        let before: &[u8] = if self.is_open { b"," } else { b",\"meta\":{" };
        self.is_open = true;
        self.text.extend_from_slice(before);
        write_text(&mut self.text, name);
        self.text.push(b':');
    }

    fn slot(&mut self, slot: Slot) {
        self.filled.push((std::mem::take(&mut self.text), slot));
    }
}

/// Whether the projection includes groups, so that they must be loaded.
pub fn shows_groups(projection: &Projection) -> bool {
    projection.attribute(USER_URN, "groups") != Selection::None
}
