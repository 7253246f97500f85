//! Writes stored records as SCIM users, without parsing them to a tree.
//!
//! The JSON texts of the record's members are copied to their SCIM paths. Only entries that need
//! other names, or of which some parts are not returned, are parsed and rewritten. [`Plan`] is
//! computed before the first user.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::LazyLock,
};

use roster_core::{
    Attribute, Json, UserId, UserSchema,
    group::GroupRef,
    json::{self, write_json, write_text},
    project::{self, Texts},
};

use super::plan::{ENTERPRISE, Plan, PlannedMember, Slot};
use crate::{
    project::Projection,
    schema::{ENTERPRISE_URN, ROSTER_URN, USER_URN, scim_path},
    work_email,
};

/// The URL of a user.
pub fn location(base: &str, id: UserId) -> String {
    format!("{base}/Users/{id}")
}

/// The entity tag of a user with these groups. A change of the groups is no new version of the
/// user, so a response with groups has a digest of them in its tag.
pub fn entity_tag(version: i64, groups: &[GroupRef]) -> String {
    format!("W/\"{version}{}\"", groups_suffix(groups))
}

fn groups_suffix(groups: &[GroupRef]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let mut hasher = DefaultHasher::new();
    for group in groups {
        (group.id.to_string(), &group.display_name).hash(&mut hasher);
    }
    format!("-{:016x}", hasher.finish())
}

/// The version in an entity tag of this service, with or without quotes. `None` for other tags.
pub fn version_of(tag: &str) -> Option<i64> {
    let text = tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"');
    let (version, digest) = text.split_once('-').unwrap_or((text, ""));
    let is_digest = digest.is_empty() || digest.len() == 16;
    version.parse().ok().filter(|number: &i64| is_digest && number.to_string() == version)
}

/// Writes the users of one response.
#[derive(Clone, Debug)]
pub struct UserWriter<'a> {
    base: &'a str,
    projection: &'a Projection,
    plan: Plan,
    /// The declared members to return, by the URN of their extension.
    declared: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> UserWriter<'a> {
    /// `base` is the absolute base URL of SCIM, without a slash at its end.
    pub fn new(base: &'a str, projection: &'a Projection, schema: &'a UserSchema) -> Self {
        let of_urn = |urn: &'a str| {
            let members = schema.scim_members(urn).map(|member| member.name.as_str());
            (urn, members.filter(|name| projection.declared(urn, name)).collect())
        };
        let declared = schema.scim_schemas().into_iter().map(of_urn);
        Self { base, projection, plan: Plan::new(base, projection), declared: declared.collect() }
    }

    /// The objects of the declared extensions of a user. `None` if the bytes are not a record.
    fn declared_objects(&self, members: &Texts<'_>) -> Option<Vec<(&'a str, Json)>> {
        let Some(text) = members.get(Attribute::Attributes) else { return Some(Vec::new()) };
        if self.declared.is_empty() {
            return Some(Vec::new());
        }
        let stored = json::read(text.as_bytes()).ok()?;
        let object = |names: &[&str]| {
            let member = |name: &&str| Some(((*name).to_owned(), stored.member(name)?.clone()));
            names.iter().filter_map(member).collect::<Vec<_>>()
        };
        let objects = self.declared.iter().map(|(urn, names)| (*urn, object(names)));
        let shown = objects.filter(|(_, members)| !members.is_empty());
        Some(shown.map(|(urn, members)| (urn, Json::Object(members))).collect())
    }

    /// Appends the user of a record, who is in these groups. `None` if the bytes are not a record.
    pub fn write(&self, record: &[u8], groups: &[GroupRef], out: &mut Vec<u8>) -> Option<()> {
        let members = project::members(record)?;
        let plan = &self.plan;
        let groups = if plan.groups { groups } else { &[] };
        let declared = self.declared_objects(&members)?;
        let mut user = Writing { writer: self, members, groups, declared, out };
        user.write_opening()?;
        user.write_members(&plan.first)?;
        user.write_object("name", None, &plan.name)?;
        user.write_members(&plan.before_active)?;
        let status = user.members.get(Attribute::Status)?;
        if plan.active {
            let active: &[u8] =
                if status == "\"active\"" { b",\"active\":true" } else { b",\"active\":false" };
            user.out.extend_from_slice(active);
        }
        user.write_members(&plan.lists)?;
        if !groups.is_empty() {
            user.write_groups();
        }
        user.write_object(ENTERPRISE_URN, None, &plan.enterprise)?;
        user.write_object(ROSTER_URN, plan.returns_status.then_some(status), &plan.roster)?;
        user.write_declared();
        user.write_end()
    }
}

struct Writing<'w, 'r, 'o> {
    writer: &'w UserWriter<'w>,
    members: Texts<'r>,
    /// The groups to return.
    groups: &'w [GroupRef],
    declared: Vec<(&'w str, Json)>,
    out: &'o mut Vec<u8>,
}

/// The start of a user up to its id: without extensions, with the enterprise extension, with
/// Roster's, with both.
static OPENINGS: LazyLock<[String; 4]> = LazyLock::new(|| {
    let opening = |urns: &[&str]| format!("{{\"schemas\":[\"{}\"],\"id\":", urns.join("\",\""));
    [
        opening(&[USER_URN]),
        opening(&[USER_URN, ENTERPRISE_URN]),
        opening(&[USER_URN, ROSTER_URN]),
        opening(&[USER_URN, ENTERPRISE_URN, ROSTER_URN]),
    ]
});

impl Writing<'_, '_, '_> {
    fn has(&self, attributes: &[Attribute]) -> bool {
        attributes.iter().any(|attribute| self.members.get(*attribute).is_some())
    }

    fn write_opening(&mut self) -> Option<()> {
        let [neither, enterprise, roster, both] = &*OPENINGS;
        let shown = &self.writer.plan.roster;
        let is_present = |member: &PlannedMember| self.members.get(member.attribute).is_some();
        let has_roster = self.writer.plan.returns_status || shown.iter().any(is_present);
        let opening = match (self.has(ENTERPRISE), has_roster) {
            (false, false) => neither,
            (true, false) => enterprise,
            (false, true) => roster,
            (true, true) => both,
        };
        // The URNs of declared extensions follow the last one of the list.
        let (schemas, id) = opening.split_at(opening.find(']')?);
        self.out.extend_from_slice(schemas.as_bytes());
        for (urn, _) in &self.declared {
            self.out.push(b',');
            write_text(self.out, urn);
        }
        self.out.extend_from_slice(id.as_bytes());
        self.out.extend_from_slice(self.members.get(Attribute::Id)?.as_bytes());
        Some(())
    }

    fn write_members(&mut self, members: &[PlannedMember]) -> Option<()> {
        members.iter().try_for_each(|member| self.write_member(member))
    }

    fn write_member(&mut self, member: &PlannedMember) -> Option<()> {
        let Some(text) = self.members.get(member.attribute) else { return Some(()) };
        let text = if member.attribute == Attribute::Emails {
            work_email::with_types(text)?
        } else {
            Cow::Borrowed(text)
        };
        if member.is_rewritten {
            return self.write_parsed(member, &text);
        }
        self.out.extend_from_slice(member.name.as_bytes());
        self.out.extend_from_slice(text.as_bytes());
        Some(())
    }

    fn write_parsed(&mut self, member: &PlannedMember, text: &str) -> Option<()> {
        let path = scim_path(member.attribute)?;
        let value = json::read(text.as_bytes()).ok()?;
        let projection = self.writer.projection;
        let wanted = |part: &str| projection.part(path.urn, path.attribute, part);
        if let Some(value) = parts(member.attribute, value, &wanted) {
            self.out.extend_from_slice(member.name.as_bytes());
            write_json(self.out, &value);
        }
        Some(())
    }

    /// Writes an object, unless it has no members.
    fn write_object(
        &mut self,
        name: &str,
        status: Option<&str>,
        members: &[PlannedMember],
    ) -> Option<()> {
        let before = self.out.len();
        self.out.extend_from_slice(b",\"");
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        let start = self.out.len();
        if let Some(status) = status {
            self.out.extend_from_slice(b",\"status\":");
            self.out.extend_from_slice(status.as_bytes());
        }
        self.write_members(members)?;
        // The object starts in place of the comma before its first member.
        if let Some(first) = self.out.get_mut(start) {
            *first = b'{';
            self.out.push(b'}');
        } else {
            self.out.truncate(before);
        }
        Some(())
    }

    fn write_declared(&mut self) {
        for (urn, object) in &self.declared {
            self.out.push(b',');
            write_text(self.out, urn);
            self.out.push(b':');
            write_json(self.out, object);
        }
    }

    fn write_groups(&mut self) {
        let UserWriter { base, projection, .. } = self.writer;
        let wanted = |part: &str| projection.part(USER_URN, "groups", part);
        let shown = self.groups.iter().map(|group| {
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
        self.out.extend_from_slice(b",\"groups\":");
        write_json(self.out, &shown);
    }

    /// Writes `meta` and the end of the user.
    fn write_end(&mut self) -> Option<()> {
        let plan = &self.writer.plan;
        for (text, slot) in &plan.meta {
            let filling = match slot {
                Slot::Text(attribute) => self.members.get(*attribute)?,
                Slot::BareId => self.members.get(Attribute::Id)?.trim_matches('"'),
            };
            self.out.extend_from_slice(text);
            self.out.extend_from_slice(filling.as_bytes());
            if matches!(slot, Slot::Text(Attribute::Version)) {
                self.out.extend_from_slice(groups_suffix(self.groups).as_bytes());
            }
        }
        self.out.extend_from_slice(&plan.end);
        Some(())
    }
}

/// The parts to return of an entry, or of each entry of a list, with their SCIM names.
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
