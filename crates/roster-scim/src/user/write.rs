//! From the stored record to a SCIM user, without a tree between them.
//!
//! The texts of the record's members are put in their SCIM places as they stand. Only entries
//! whose parts have other names, or of which some are not to be shown, are taken apart.

use roster_core::{
    Attribute, Json, UserId,
    group::GroupRef,
    json::{self, write_json, write_text},
    project,
};

use crate::{
    project::{Projection, Shown},
    schema::{ENTERPRISE_URN, ROSTER_URN, USER_URN, scim_path},
};

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
const ENTERPRISE: &[Attribute] = &[
    Attribute::EmployeeNumber,
    Attribute::CostCenter,
    Attribute::Organization,
    Attribute::Division,
    Attribute::Department,
    Attribute::Manager,
];
const ROSTER: &[Attribute] =
    &[Attribute::EmailVerified, Attribute::PhoneNumberVerified, Attribute::Attributes];

/// Where a user is, below the base of SCIM.
pub fn location(base: &str, id: UserId) -> String {
    format!("{base}/Users/{id}")
}

/// Writes users of one service, as one request wants to see them.
#[derive(Clone, Copy, Debug)]
pub struct UserWriter<'a> {
    /// The absolute URL that all of SCIM is below, without a slash at its end.
    pub base: &'a str,
    /// What to show.
    pub projection: &'a Projection,
}

/// Whether the groups of users are to be shown, so that they have to be known.
pub fn shows_groups(projection: &Projection) -> bool {
    projection.attribute(USER_URN, "groups") != Shown::No
}

impl UserWriter<'_> {
    /// Appends the user of a record, who is in these groups; `None` if the bytes are no record.
    pub fn write(&self, record: &[u8], groups: &[GroupRef], out: &mut Vec<u8>) -> Option<()> {
        let members = project::members(record)?;
        let mut user = Writing { writer: *self, members, out };
        user.out.push(b'{');
        user.schemas();
        user.id()?;
        user.plain(Attribute::ExternalId)?;
        user.plain(Attribute::Username)?;
        user.complex("name", NAME)?;
        user.all(BEFORE_ACTIVE)?;
        user.active()?;
        user.all(LISTS)?;
        user.groups(groups);
        user.enterprise()?;
        user.roster()?;
        user.meta()?;
        user.out.push(b'}');
        Some(())
    }
}

struct Writing<'a, 'r, 'o> {
    writer: UserWriter<'a>,
    members: Vec<(Attribute, &'r str)>,
    out: &'o mut Vec<u8>,
}

impl<'r> Writing<'_, 'r, '_> {
    fn get(&self, attribute: Attribute) -> Option<&'r str> {
        self.members.iter().find(|(found, _)| *found == attribute).map(|(_, text)| *text)
    }

    /// Begins a member of the object that is being written.
    fn name(&mut self, name: &str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn schemas(&mut self) {
        self.out.extend_from_slice(b"\"schemas\":[\"");
        self.out.extend_from_slice(USER_URN.as_bytes());
        if ENTERPRISE.iter().any(|attribute| self.get(*attribute).is_some()) {
            self.out.extend_from_slice(b"\",\"");
            self.out.extend_from_slice(ENTERPRISE_URN.as_bytes());
        }
        let asks = self.writer.projection.asks(ROSTER_URN, "status");
        if asks || ROSTER.iter().any(|attribute| self.get(*attribute).is_some()) {
            self.out.extend_from_slice(b"\",\"");
            self.out.extend_from_slice(ROSTER_URN.as_bytes());
        }
        self.out.extend_from_slice(b"\"]");
    }

    fn id(&mut self) -> Option<()> {
        let id = self.get(Attribute::Id)?;
        self.name("id");
        self.out.extend_from_slice(id.as_bytes());
        Some(())
    }

    fn all(&mut self, attributes: &[Attribute]) -> Option<()> {
        attributes.iter().try_for_each(|attribute| self.plain(*attribute))
    }

    /// A member whose place is a whole attribute.
    fn plain(&mut self, attribute: Attribute) -> Option<()> {
        let (Some(text), Some(place)) = (self.get(attribute), scim_path(attribute)) else {
            return Some(());
        };
        let shown = self.writer.projection.attribute(place.urn, place.attribute);
        let has_other_parts = matches!(attribute, Attribute::Addresses | Attribute::Manager);
        match shown {
            Shown::No => {}
            Shown::Whole if !has_other_parts => {
                self.name(place.attribute);
                self.out.extend_from_slice(text.as_bytes());
            }
            Shown::Whole | Shown::Parts => {
                let value = json::read(text.as_bytes()).ok()?;
                let projection = self.writer.projection;
                let wanted = |part: &str| projection.part(place.urn, place.attribute, part);
                if let Some(value) = parts(attribute, value, &wanted) {
                    self.name(place.attribute);
                    write_json(self.out, &value);
                }
            }
        }
        Some(())
    }

    /// Members that are the parts of one attribute.
    fn complex(&mut self, name: &str, members: &[Attribute]) -> Option<()> {
        if self.writer.projection.attribute(USER_URN, name) == Shown::No {
            return Some(());
        }
        let before = self.out.len();
        self.name(name);
        self.out.push(b'{');
        let start = self.out.len();
        for member in members {
            let part = scim_path(*member)?.sub_attribute?;
            let Some(text) = self.get(*member) else { continue };
            if self.writer.projection.part(USER_URN, name, part) {
                self.name(part);
                self.out.extend_from_slice(text.as_bytes());
            }
        }
        self.end(before, start);
        Some(())
    }

    /// Ends an object; one without members is taken back.
    fn end(&mut self, before: usize, start: usize) {
        if self.out.len() == start {
            self.out.truncate(before);
        } else {
            self.out.push(b'}');
        }
    }

    fn active(&mut self) -> Option<()> {
        let status = self.get(Attribute::Status)?;
        if self.writer.projection.attribute(USER_URN, "active") != Shown::No {
            self.name("active");
            let active: &[u8] = if status == "\"active\"" { b"true" } else { b"false" };
            self.out.extend_from_slice(active);
        }
        Some(())
    }

    fn groups(&mut self, groups: &[GroupRef]) {
        let UserWriter { base, projection } = self.writer;
        if groups.is_empty() || !shows_groups(projection) {
            return;
        }
        let wanted = |part: &str| projection.part(USER_URN, "groups", part);
        let shown = groups.iter().map(|group| {
            let parts = [
                ("value", group.id.to_string()),
                ("$ref", format!("{base}/Groups/{}", group.id)),
                ("display", group.display_name.clone()),
                ("type", "direct".to_owned()),
            ];
            let parts = parts.into_iter().filter(|(part, _)| wanted(part));
            Json::Object(parts.map(|(part, text)| (part.to_owned(), Json::Text(text))).collect())
        });
        let shown = Json::Array(shown.collect());
        self.name("groups");
        write_json(self.out, &shown);
    }

    fn enterprise(&mut self) -> Option<()> {
        let before = self.out.len();
        self.name(ENTERPRISE_URN);
        self.out.push(b'{');
        let start = self.out.len();
        self.all(ENTERPRISE)?;
        self.end(before, start);
        Some(())
    }

    fn roster(&mut self) -> Option<()> {
        let before = self.out.len();
        self.name(ROSTER_URN);
        self.out.push(b'{');
        let start = self.out.len();
        let status = self.get(Attribute::Status)?;
        if self.writer.projection.asks(ROSTER_URN, "status") {
            self.name("status");
            self.out.extend_from_slice(status.as_bytes());
        }
        self.all(ROSTER)?;
        self.end(before, start);
        Some(())
    }

    fn meta(&mut self) -> Option<()> {
        let projection = self.writer.projection;
        if projection.attribute(USER_URN, "meta") == Shown::No {
            return Some(());
        }
        let before = self.out.len();
        self.name("meta");
        self.out.push(b'{');
        let start = self.out.len();
        if projection.part(USER_URN, "meta", "resourceType") {
            self.name("resourceType");
            self.out.extend_from_slice(b"\"User\"");
        }
        for member in [Attribute::CreatedAt, Attribute::UpdatedAt] {
            let part = scim_path(member)?.sub_attribute?;
            if projection.part(USER_URN, "meta", part) {
                let text = self.get(member)?;
                self.name(part);
                self.out.extend_from_slice(text.as_bytes());
            }
        }
        if projection.part(USER_URN, "meta", "location") {
            self.name("location");
            let id = self.get(Attribute::Id)?.trim_matches('"');
            write_text(self.out, &format!("{}/Users/{id}", self.writer.base));
        }
        if projection.part(USER_URN, "meta", "version") {
            let version = self.get(Attribute::Version)?;
            self.name("version");
            self.out.extend_from_slice(b"\"W/\\\"");
            self.out.extend_from_slice(version.as_bytes());
            self.out.extend_from_slice(b"\\\"\"");
        }
        self.end(before, start);
        Some(())
    }
}

/// The parts of an entry, or of each of a list's, that are shown, by their names in SCIM.
fn parts(attribute: Attribute, value: Json, shows: &dyn Fn(&str) -> bool) -> Option<Json> {
    match value {
        Json::Array(items) => {
            let items = items.into_iter().filter_map(|item| parts(attribute, item, shows));
            let items: Vec<Json> = items.collect();
            (!items.is_empty()).then_some(Json::Array(items))
        }
        Json::Object(members) => {
            let named = members.into_iter().filter_map(|(name, value)| {
                let name = super::value::scim_name(attribute, &name)?;
                shows(name).then(|| (name.to_owned(), value))
            });
            let members: Vec<(String, Json)> = named.collect();
            (!members.is_empty()).then_some(Json::Object(members))
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) => None,
    }
}
