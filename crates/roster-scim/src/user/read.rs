//! From what a client sent to a draft.
//!
//! Attributes are found by the table, whatever their case; those that are read-only are passed
//! over (RFC 7644 sections 3.3 and 3.5.1). What a value must be is for core to say. Nothing is
//! judged here but the form.

use roster_core::{Attribute, Draft, Json, Status, attribute::Kind, violation::TOLERATED};

use super::value;
use crate::{
    error::{ScimError, ScimType},
    profile::Profile,
    schema::{
        AttributeSchema, Mutability, ROSTER_URN, Schema, ScimPath, USER, USER_URN, scim_path,
    },
};

/// What a body stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A new user.
    Created,
    /// The whole of a user, as far as its client knows it.
    Replaced,
    /// The whole of a user after a patch: all of it is meant.
    Patched,
}

/// Reads a user off a body.
pub fn read(tree: Json, profile: Profile, sent: Sent) -> Result<Draft, ScimError> {
    let kind = tree.kind();
    let Json::Object(members) = tree else {
        let detail = format!("send one user as a JSON object, not {kind}");
        return Err(ScimError::new(ScimType::InvalidSyntax, detail));
    };
    let mut reading = Reading { profile, values: Vec::new(), names_roster: false };
    if profile == Profile::Strict && sent != Sent::Patched {
        require_schemas(&members)?;
    }
    for (name, value) in members {
        reading.take(&name, value)?;
    }
    if scim_path(Attribute::Username).and_then(|place| reading.value(place)).is_none() {
        return Err(ScimError::new(ScimType::InvalidValue, "userName: it is required"));
    }
    let mut draft = Draft::parse(reading.record());
    if profile == Profile::Tolerant {
        draft.excuse(TOLERATED);
    }
    if sent == Sent::Replaced && !reading.names_roster {
        // A client that does not name the extension cannot know what it holds (RFC 7644
        // section 3.5.1).
        for member in
            [Attribute::EmailVerified, Attribute::PhoneNumberVerified, Attribute::Attributes]
        {
            draft.retain(member);
        }
    }
    Ok(draft)
}

/// `schemas` must say that it is a user, and nothing that is not known.
fn require_schemas(members: &[(String, Json)]) -> Result<(), ScimError> {
    let sent = members.iter().find(|(name, _)| name.eq_ignore_ascii_case("schemas"));
    let refuse = |detail: &'static str| Err(ScimError::new(ScimType::InvalidSyntax, detail));
    let Some((_, Json::Array(urns))) = sent else {
        return refuse("schemas: name the schemas that the body uses, in an array");
    };
    let mut says_user = false;
    for urn in urns {
        let Json::Text(urn) = urn else { return refuse("schemas: it holds URNs as strings") };
        says_user |= urn.eq_ignore_ascii_case(USER_URN);
        if USER.schema_of(urn).is_none() {
            return refuse("schemas: a URN is none of a user's");
        }
    }
    if says_user { Ok(()) } else { refuse("schemas: the URN of a user is missing") }
}

struct Reading {
    profile: Profile,
    /// What was sent, by schema and attribute.
    values: Vec<(&'static Schema, &'static AttributeSchema, Json)>,
    /// Whether the client knows of what only Roster has.
    names_roster: bool,
}

impl Reading {
    fn take(&mut self, name: &str, value: Json) -> Result<(), ScimError> {
        if name.eq_ignore_ascii_case("schemas") {
            self.note_schemas(&value);
            return Ok(());
        }
        if let Some(schema) = USER.schema_of(name) {
            return self.take_extension(schema, value);
        }
        if let Some(attribute) = USER.schema.attribute(name) {
            return self.take_attribute(USER.schema, attribute, value);
        }
        if self.profile == Profile::Strict {
            if name.eq_ignore_ascii_case("groups") {
                return Ok(());
            }
            if name.eq_ignore_ascii_case("password") {
                let detail = "password: no passwords are kept here; leave it out";
                return Err(ScimError::new(ScimType::InvalidValue, detail));
            }
            return Err(value::unknown("", USER.schema.attributes));
        }
        let Some(found) = USER.find(name) else { return Ok(()) };
        self.names_roster |= found.schema.urn == ROSTER_URN;
        match found.sub_attribute {
            None => self.take_attribute(found.schema, found.attribute, value),
            Some(part) => {
                let value = Json::Object(vec![(part.name.to_owned(), value)]);
                self.take_attribute(found.schema, found.attribute, value)
            }
        }
    }

    fn note_schemas(&mut self, urns: &Json) {
        let Json::Array(urns) = urns else { return };
        let is_roster =
            |urn: &Json| matches!(urn, Json::Text(urn) if urn.eq_ignore_ascii_case(ROSTER_URN));
        self.names_roster |= urns.iter().any(is_roster);
    }

    fn take_extension(&mut self, schema: &'static Schema, value: Json) -> Result<(), ScimError> {
        self.names_roster |= schema.urn == ROSTER_URN;
        if value == Json::Null || value == Json::Array(Vec::new()) {
            return Ok(());
        }
        let kind = value.kind();
        let Json::Object(members) = value else {
            let detail = format!("{}: send an object, not {kind}", schema.urn);
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        };
        for (name, value) in members {
            match schema.attribute(&name) {
                Some(attribute) => self.take_attribute(schema, attribute, value)?,
                None if self.profile == Profile::Strict => {
                    return Err(value::unknown(schema.name, schema.attributes));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn take_attribute(
        &mut self,
        schema: &'static Schema,
        attribute: &'static AttributeSchema,
        sent: Json,
    ) -> Result<(), ScimError> {
        if attribute.mutability == Mutability::ReadOnly {
            return Ok(());
        }
        let place = format_args!("{}", attribute.name);
        let Some(read) = value::read(attribute, sent, self.profile, place)? else {
            return Ok(());
        };
        let known = self
            .values
            .iter_mut()
            .find(|(known, found, _)| known.urn == schema.urn && found.name == attribute.name);
        match (known, read) {
            (None, read) => self.values.push((schema, attribute, read)),
            // Parts by dotted names come one by one.
            (Some((_, _, Json::Object(parts))), Json::Object(further))
                if further.iter().all(|(name, _)| parts.iter().all(|(had, _)| had != name)) =>
            {
                parts.extend(further);
            }
            (Some(_), _) => {
                let detail = format!("{}: it stands twice", attribute.name);
                return Err(ScimError::new(ScimType::InvalidSyntax, detail));
            }
        }
        Ok(())
    }

    fn value(&self, place: ScimPath) -> Option<&Json> {
        let found = self.values.iter().find(|(schema, attribute, _)| {
            schema.urn == place.urn && attribute.name == place.attribute
        });
        let (_, _, value) = found?;
        match place.sub_attribute {
            None => Some(value),
            Some(part) => value.member(part),
        }
    }

    /// The record's form of what was sent.
    fn record(&self) -> Json {
        let member = |attribute: &Attribute| {
            let value = self.value(scim_path(*attribute)?)?;
            let value = match attribute.kind() {
                Kind::ServerMade | Kind::ShortForm { .. } => return None,
                Kind::Status => {
                    let active = *value != Json::Bool(false);
                    let status = if active { Status::Active } else { Status::Suspended };
                    Json::Text(status.as_str().to_owned())
                }
                Kind::One(_) | Kind::Many(_) => entries(*attribute, value),
                Kind::Text(_) | Kind::Flag { .. } | Kind::Object => value.clone(),
            };
            Some((attribute.name().to_owned(), value))
        };
        Json::Object(Attribute::ALL.iter().filter_map(member).collect())
    }
}

/// Entries with the names that the record has for their parts.
fn entries(attribute: Attribute, value: &Json) -> Json {
    match value {
        Json::Array(items) => {
            Json::Array(items.iter().map(|item| entries(attribute, item)).collect())
        }
        Json::Object(members) => {
            let named = members.iter().filter_map(|(name, value)| {
                let part = value::record_part(attribute, name)?;
                Some((part.name().to_owned(), value.clone()))
            });
            Json::Object(named.collect())
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) => value.clone(),
    }
}
