//! From the stored record to a SCIM user, without a tree between them.
//!
//! The texts of the record's members are put in their SCIM places as they stand. Only entries
//! whose parts have other names, or of which some are not to be shown, are taken apart. What is
//! shown is known before the first user comes.

use std::sync::LazyLock;

use roster_core::{
    Attribute, Json, UserId,
    group::GroupRef,
    json::{self, write_json},
    project::{self, Texts},
};

use super::plan::{ENTERPRISE, Hole, Plan, Put, ROSTER};
use crate::{
    project::{Projection, Shown},
    schema::{ENTERPRISE_URN, ROSTER_URN, USER_URN, scim_path},
};

/// Where a user is, below the base of SCIM.
pub fn location(base: &str, id: UserId) -> String {
    format!("{base}/Users/{id}")
}

/// Writes users of one service, as one request wants to see them.
#[derive(Clone, Debug)]
pub struct UserWriter<'a> {
    base: &'a str,
    projection: &'a Projection,
    plan: Plan,
}

/// Whether the groups of users are to be shown, so that they have to be known.
pub fn shows_groups(projection: &Projection) -> bool {
    projection.attribute(USER_URN, "groups") != Shown::No
}

impl<'a> UserWriter<'a> {
    /// A writer; `base` is the absolute URL that all of SCIM is below, without a slash at its end.
    pub fn new(base: &'a str, projection: &'a Projection) -> Self {
        Self { base, projection, plan: Plan::new(base, projection) }
    }

    /// Appends the user of a record, who is in these groups; `None` if the bytes are no record.
    pub fn write(&self, record: &[u8], groups: &[GroupRef], out: &mut Vec<u8>) -> Option<()> {
        let members = project::members(record)?;
        let plan = &self.plan;
        let mut user = Writing { writer: self, members, out };
        user.opening()?;
        user.all(&plan.first)?;
        user.object("name", None, &plan.name)?;
        user.all(&plan.before_active)?;
        let status = user.members.get(Attribute::Status)?;
        if plan.active {
            let active: &[u8] =
                if status == "\"active\"" { b",\"active\":true" } else { b",\"active\":false" };
            user.out.extend_from_slice(active);
        }
        user.all(&plan.lists)?;
        if plan.groups && !groups.is_empty() {
            user.groups(groups);
        }
        user.object(ENTERPRISE_URN, None, &plan.enterprise)?;
        user.object(ROSTER_URN, plan.asks_status.then_some(status), &plan.roster)?;
        user.end()
    }
}

struct Writing<'w, 'r, 'o> {
    writer: &'w UserWriter<'w>,
    members: Texts<'r>,
    out: &'o mut Vec<u8>,
}

/// How a user begins, up to its id: without an extension, with that of enterprises, with ours,
/// with both.
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

    fn opening(&mut self) -> Option<()> {
        let [neither, enterprise, roster, both] = &*OPENINGS;
        let has_roster = self.writer.plan.asks_status || self.has(ROSTER);
        let opening = match (self.has(ENTERPRISE), has_roster) {
            (false, false) => neither,
            (true, false) => enterprise,
            (false, true) => roster,
            (true, true) => both,
        };
        self.out.extend_from_slice(opening.as_bytes());
        self.out.extend_from_slice(self.members.get(Attribute::Id)?.as_bytes());
        Some(())
    }

    fn all(&mut self, members: &[Put]) -> Option<()> {
        members.iter().try_for_each(|member| self.put(member))
    }

    fn put(&mut self, member: &Put) -> Option<()> {
        let Some(text) = self.members.get(member.attribute) else { return Some(()) };
        if member.taken_apart {
            return self.taken_apart(member, text);
        }
        self.out.extend_from_slice(member.name.as_bytes());
        self.out.extend_from_slice(text.as_bytes());
        Some(())
    }

    fn taken_apart(&mut self, member: &Put, text: &str) -> Option<()> {
        let place = scim_path(member.attribute)?;
        let value = json::read(text.as_bytes()).ok()?;
        let projection = self.writer.projection;
        let wanted = |part: &str| projection.part(place.urn, place.attribute, part);
        if let Some(value) = parts(member.attribute, value, &wanted) {
            self.out.extend_from_slice(member.name.as_bytes());
            write_json(self.out, &value);
        }
        Some(())
    }

    /// Members of an object that is shown if there is any.
    fn object(&mut self, name: &str, status: Option<&str>, members: &[Put]) -> Option<()> {
        let before = self.out.len();
        self.out.extend_from_slice(b",\"");
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        let start = self.out.len();
        if let Some(status) = status {
            self.out.extend_from_slice(b",\"status\":");
            self.out.extend_from_slice(status.as_bytes());
        }
        self.all(members)?;
        // The comma before the first member is where the object begins.
        if let Some(first) = self.out.get_mut(start) {
            *first = b'{';
            self.out.push(b'}');
        } else {
            self.out.truncate(before);
        }
        Some(())
    }

    fn groups(&mut self, groups: &[GroupRef]) {
        let UserWriter { base, projection, .. } = self.writer;
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
        self.out.extend_from_slice(b",\"groups\":");
        write_json(self.out, &shown);
    }

    /// `meta`, and the end of the user.
    fn end(&mut self) -> Option<()> {
        let plan = &self.writer.plan;
        for (text, hole) in &plan.meta {
            let filling = match hole {
                Hole::Text(attribute) => self.members.get(*attribute)?,
                Hole::BareId => self.members.get(Attribute::Id)?.trim_matches('"'),
            };
            self.out.extend_from_slice(text);
            self.out.extend_from_slice(filling.as_bytes());
        }
        self.out.extend_from_slice(&plan.end);
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
