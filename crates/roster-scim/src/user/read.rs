//! Parses a SCIM user.
//!
//! The attribute tables name the attributes. Names ignore case. Read-only attributes are ignored
//! (RFC 7644 sections 3.3 and 3.5.1). This module checks only the form of the body; core validates
//! the values.

use std::collections::{HashMap, HashSet};

use roster_core::{Attribute, Json, Status, UserSchema, attribute::Kind, schema::DeclaredMember};

use super::{body::UserBody, plan::ROSTER, schemas::require_schemas, value};
use crate::{
    error::{ScimError, ScimType},
    schema::{
        AttributeSchema, Found, Mutability, Schema, ScimPath, USER,
        declared::{Extensions, Named, changes, converted, unknown, without_urn},
        scim_path,
    },
    strictness::Strictness,
    value::{below, twice, unknown as unknown_name},
};

/// What a parsed body is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// To create a user.
    Created,
    /// To replace a user (PUT). The body has the attributes that the client knows.
    Replaced,
    /// To replace a user by the result of a PATCH, which has all attributes.
    Patched,
}

/// Parses a user from a body. `schema` declares extensions in addition to those of the attribute
/// tables.
pub fn read(
    tree: Json,
    strictness: Strictness,
    sent: Sent,
    schema: &UserSchema,
) -> Result<UserBody, ScimError> {
    let kind = tree.kind();
    let Json::Object(members) = tree else {
        let detail = format!("send one user as a JSON object, not {kind}");
        return Err(ScimError::new(ScimType::InvalidSyntax, detail));
    };
    let (values, dropped) = (Vec::new(), Vec::new());
    let (changes, as_sent) = (Vec::new(), Vec::new());
    let extensions = Extensions::of(schema);
    if strictness == Strictness::Strict && sent != Sent::Patched {
        require_schemas(&members, &extensions)?;
    }
    let declared = schema;
    let (merged, whole) = (Merged::default(), Vec::new());
    let mut reading = Reading {
        strictness,
        sent,
        declared,
        extensions,
        values,
        merged,
        changes,
        as_sent,
        whole,
        dropped,
    };
    for (name, value) in members {
        reading.take(&name, value)?;
    }
    reading.clear_declared();
    if scim_path(Attribute::Username).and_then(|path| reading.value(path)).is_none() {
        return Err(ScimError::new(ScimType::InvalidValue, "userName: it is required"));
    }
    let is_unknown = |member: &Attribute| {
        let is_sent = scim_path(*member).is_some_and(|path| reading.is_sent(path));
        sent == Sent::Replaced && !is_sent
    };
    // A client that does not send an attribute of Roster's extension may not know it (RFC 7644
    // section 3.5.1).
    let kept = ROSTER.iter().copied().filter(is_unknown).collect();
    let kept_declared = reading.kept_declared();
    let members = reading.record();
    let Reading { changes, as_sent, dropped, .. } = reading;
    let attributes = members.iter().find(|(name, _)| name == Attribute::Attributes.name());
    // A response may have had both, with the same value.
    let differs = |(name, sent): &&(String, Json)| {
        let free = attributes.and_then(|(_, free)| free.member(name));
        *sent != Json::Null && free.is_some_and(|free| *free != Json::Null && free != sent)
    };
    if let Some((name, _)) = changes.iter().find(differs) {
        return Err(twice(name));
    }
    let sends_username = sent == Sent::Replaced;
    let reads_app_roles = strictness.is_tolerant() && sent != Sent::Patched;
    Ok(UserBody {
        members,
        changes,
        as_sent,
        kept,
        kept_declared,
        sends_username,
        reads_app_roles,
        strictness,
        dropped,
    })
}

struct Reading<'s> {
    strictness: Strictness,
    sent: Sent,
    declared: &'s UserSchema,
    extensions: Extensions<'s>,
    /// The values of the body, by schema and attribute; `null` for an attribute that was sent
    /// without a value.
    values: Vec<(&'static Schema, &'static AttributeSchema, Json)>,
    merged: Merged,
    /// The values of declared extensions, as changes of `attributes`.
    changes: Vec<(String, Json)>,
    as_sent: Vec<(String, Json)>,
    /// The declared extensions that were sent as objects.
    whole: Vec<String>,
    dropped: Vec<String>,
}

impl Reading<'_> {
    fn take(&mut self, name: &str, value: Json) -> Result<(), ScimError> {
        if name.eq_ignore_ascii_case("schemas") {
            return Ok(());
        }
        if let Some(schema) = USER.schema_of(name) {
            return self.take_extension(schema, value);
        }
        if let Some(attribute) = USER.schema.attribute(name) {
            return self.take_attribute(USER.schema, attribute, value);
        }
        if let Some(named) = self.extensions.resolve(name) {
            return self.take_declared(named, name, value);
        }
        if self.strictness == Strictness::Strict {
            if name.eq_ignore_ascii_case("groups") {
                return Ok(());
            }
            if name.eq_ignore_ascii_case("password") {
                let detail = "password: this service stores no passwords; leave it out";
                return Err(ScimError::new(ScimType::InvalidValue, detail));
            }
            return Err(unknown_name("", USER.schema.attributes));
        }
        // An attribute of an extension may come without its URN.
        let extension =
            USER.extension_with(name).and_then(|schema| schema.attribute(name).zip(Some(schema)));
        if let Some((attribute, schema)) = extension {
            return self.take_attribute(schema, attribute, value);
        }
        let Some(found) = USER.find(name).or_else(|| USER.find_in_extensions(name)) else {
            match without_urn(self.declared, name) {
                Some(member) => self.change(member, value)?,
                None => self.drop_unknown(name)?,
            }
            return Ok(());
        };
        self.take_found(found, value)
    }

    fn take_found(&mut self, found: Found, value: Json) -> Result<(), ScimError> {
        let value = match found.sub_attribute {
            None => value,
            Some(part) => Json::Object(vec![(part.name.to_owned(), value)]),
        };
        self.take_attribute(found.schema, found.attribute, value)
    }

    /// Drops a name that no schema has. A path below a known attribute is an error: in a PUT,
    /// dropping it would clear what it names.
    fn drop_unknown(&mut self, name: &str) -> Result<(), ScimError> {
        let declared = || {
            let (first, _) = name.split_once(['.', '['])?;
            without_urn(self.declared, first).map(|member| member.name.as_str())
        };
        let above = USER.attribute_above(name).map(|attribute| attribute.name);
        if let Some(above) = above.or_else(declared) {
            return Err(below(above));
        }
        self.dropped.push(name.to_owned());
        Ok(())
    }

    fn take_declared(
        &mut self,
        named: Named<'_>,
        name: &str,
        value: Json,
    ) -> Result<(), ScimError> {
        let strictness = self.strictness;
        match named {
            Named::Attribute(_) if strictness == Strictness::Strict => {
                let detail = format!("{name}: send it below the URN of its schema");
                return Err(ScimError::new(ScimType::InvalidSyntax, detail));
            }
            Named::Attribute(member) => self.change(member, value)?,
            Named::Unknown(urn) => {
                unknown(&self.extensions, urn, name, strictness, &mut self.dropped)?;
            }
            Named::Extension(urn) => {
                self.whole.push(urn.to_owned());
                let (declared, dropped) = (&self.extensions, &mut self.dropped);
                for (member, value) in changes(declared, urn, value, strictness, dropped)? {
                    self.change(member, value)?;
                }
            }
        }
        Ok(())
    }

    fn change(&mut self, member: &DeclaredMember, value: Json) -> Result<(), ScimError> {
        let name = member.name.clone();
        let sent = value;
        let value = converted(member, sent.clone(), self.strictness);
        if value != sent {
            self.as_sent.push((name.clone(), sent));
        }
        match self.changes.iter_mut().find(|(known, _)| *known == name) {
            None => self.changes.push((name, value)),
            Some((_, known @ Json::Null)) => *known = value,
            Some(_) if value == Json::Null => {}
            Some(_) => return Err(twice(&name)),
        }
        Ok(())
    }

    /// The declared attributes of extensions of which a PUT has nothing.
    fn kept_declared(&self) -> Vec<String> {
        if self.sent != Sent::Replaced {
            return Vec::new();
        }
        let is_sent = |urn: &str| self.whole.iter().any(|sent| sent.eq_ignore_ascii_case(urn));
        let is_kept = |member: &&DeclaredMember| {
            member.scim_schema.as_ref().is_some_and(|urn| !is_sent(urn))
                && self.changes.iter().all(|(name, _)| *name != member.name)
        };
        self.declared.members.iter().filter(is_kept).map(|member| member.name.clone()).collect()
    }

    /// A PUT removes what an extension that it sends as a whole does not have.
    fn clear_declared(&mut self) {
        if self.sent != Sent::Replaced {
            return;
        }
        for urn in &self.whole {
            for member in self.declared.scim_members(urn) {
                if self.changes.iter().all(|(name, _)| *name != member.name) {
                    self.changes.push((member.name.clone(), Json::Null));
                }
            }
        }
    }

    fn take_extension(&mut self, schema: &'static Schema, value: Json) -> Result<(), ScimError> {
        if value == Json::Null {
            return Ok(());
        }
        let kind = value.kind();
        let Json::Object(members) = value else {
            let detail = format!("{}: send an object, not {kind}", schema.urn);
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        };
        // In a PUT it would clear the extension.
        let mut is_readable = members.is_empty();
        for (name, value) in members {
            match schema.attribute(&name) {
                Some(attribute) => {
                    is_readable = true;
                    self.take_attribute(schema, attribute, value)?;
                }
                None if self.strictness == Strictness::Strict => {
                    return Err(unknown_name(schema.name, schema.attributes));
                }
                None => {
                    let path = format!("{}:{name}", schema.urn);
                    if let Some(found) = USER.find(&path) {
                        is_readable = true;
                        self.take_found(found, value)?;
                    } else {
                        self.drop_unknown(&path)?;
                    }
                }
            }
        }
        if is_readable {
            return Ok(());
        }
        Err(unknown_name(schema.urn, schema.attributes))
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
        // The result of a PATCH has the form of a response.
        let is_patched = self.sent == Sent::Patched;
        let strictness = if is_patched { Strictness::Strict } else { self.strictness };
        let read = value::read(attribute, sent, strictness)?.unwrap_or(Json::Null);
        let read = if is_patched { read } else { value::without_repeats(read) };
        let known = self
            .values
            .iter_mut()
            .find(|(known, found, _)| known.urn == schema.urn && found.name == attribute.name);
        match (known, read) {
            (None, read) => self.values.push((schema, attribute, read)),
            (Some((_, _, known @ Json::Null)), read) => *known = read,
            (Some(_), Json::Null) => {}
            // Each sub-attribute with a dotted name is a separate object, which is merged.
            (Some((_, _, Json::Object(parts))), Json::Object(further))
                if self.merged.add(attribute.name, parts, &further) =>
            {
                parts.extend(further);
            }
            (Some(_), _) => {
                return Err(twice(attribute.name));
            }
        }
        Ok(())
    }

    /// Whether the attribute was sent, even without a value.
    fn is_sent(&self, path: ScimPath) -> bool {
        self.sent_value(path).is_some()
    }

    fn sent_value(&self, path: ScimPath) -> Option<&Json> {
        let mut values = self.values.iter();
        let found = values.find(|(schema, attribute, _)| {
            schema.urn == path.urn && attribute.name == path.attribute
        });
        found.map(|(_, _, value)| value)
    }

    fn value(&self, path: ScimPath) -> Option<&Json> {
        let value = self.sent_value(path).filter(|value| **value != Json::Null)?;
        match path.sub_attribute {
            None => Some(value),
            Some(part) => value.member(part),
        }
    }

    /// The values, with the names of the record.
    fn record(&self) -> Vec<(String, Json)> {
        let member = |attribute: &Attribute| {
            let value = self.value(scim_path(*attribute)?)?;
            let value = match attribute.kind() {
                Kind::ServerMade | Kind::Mark | Kind::ShortForm { .. } => return None,
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
        Attribute::ALL.iter().filter_map(member).collect()
    }
}

/// The names of the objects that are sent in parts, by attribute. A body may have thousands of
/// parts, so the names are not collected again for each.
#[derive(Default)]
struct Merged(HashMap<&'static str, HashSet<String>>);

impl Merged {
    /// Adds the names of a further part. Returns whether the parts before have none of them.
    fn add(
        &mut self,
        attribute: &'static str,
        parts: &[(String, Json)],
        further: &[(String, Json)],
    ) -> bool {
        let names = self.0.entry(attribute);
        let names = names.or_insert_with(|| parts.iter().map(|(name, _)| name.clone()).collect());
        further.iter().all(|(name, _)| names.insert(name.clone()))
    }
}

/// Renames the parts of entries to the names of the record.
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
