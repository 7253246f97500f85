//! Parses a SCIM user.
//!
//! The attribute tables name the attributes. Names ignore case. Read-only attributes are ignored
//! (RFC 7644 sections 3.3 and 3.5.1). This module checks only the form of the body; core validates
//! the values.

use std::collections::{HashMap, HashSet};

use roster_core::{
    Attribute, Draft, Json, Status, User, UserSchema, Value, Work, attribute::Kind,
    json::size_of_members, schema::DeclaredMember, violation::TOLERATED,
};

use super::{plan::ROSTER, schemas::require_schemas, value};
use crate::{
    error::{ScimError, ScimType},
    schema::{
        AttributeSchema, Found, Mutability, Schema, ScimPath, USER,
        declared::{Extensions, Named, changes, converted, unknown, without_urn},
        scim_path,
    },
    strictness::Strictness,
    value::{below, twice, unknown as unknown_name},
    work_email,
};

/// How many bytes of a body are read in the time of one comparison.
const READ_BYTES_PER_COMPARISON: usize = 8;

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

/// A parsed body.
#[derive(Clone, Debug)]
pub struct UserBody {
    /// The members of the record.
    members: Vec<(String, Json)>,
    /// Changes of members of `attributes` that an extension has; null removes.
    changes: Vec<(String, Json)>,
    /// The members that a replacement keeps.
    kept: Vec<Attribute>,
    /// The declared attributes that a replacement keeps.
    kept_declared: Vec<String>,
    /// Whether the client sent the username, which is read from the record otherwise.
    sends_username: bool,
    strictness: Strictness,
    /// The names of the attributes that no schema has. Tolerant parsing drops them.
    pub dropped: Vec<String>,
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
    let (values, changes, dropped) = (Vec::new(), Vec::new(), Vec::new());
    let extensions = Extensions::of(schema);
    if strictness == Strictness::Strict && sent != Sent::Patched {
        require_schemas(&members, &extensions)?;
    }
    let declared = schema;
    let (merged, whole) = (Merged::default(), Vec::new());
    let mut reading =
        Reading { strictness, sent, declared, extensions, values, merged, changes, whole, dropped };
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
    let Reading { changes, dropped, .. } = reading;
    let sends_username = sent == Sent::Replaced;
    Ok(UserBody { members, changes, kept, kept_declared, sends_username, strictness, dropped })
}

impl UserBody {
    /// The user that a create makes of it.
    pub fn created(self) -> Draft {
        let Self { members, changes, strictness, .. } = self;
        draft(members, &changes, strictness)
    }

    /// The user that replaces this one. Fails if the body takes more comparisons than `work`
    /// allows.
    pub fn replacing(&self, user: &User, work: &Work) -> Result<Draft, ScimError> {
        let size = size_of_members(&self.members) + size_of_members(&self.changes);
        work.spend(size / READ_BYTES_PER_COMPARISON)?;
        let mut members = self.members.clone();
        for member in &self.kept {
            let stored = match user.profile.get(*member) {
                Some(Value::Text(text)) => Json::Text(text.clone()),
                Some(Value::Flag(flag)) => Json::Bool(*flag),
                Some(Value::Object(attributes)) => Json::Object(attributes.clone()),
                _ => continue,
            };
            members.push((member.name().to_owned(), stored));
        }
        let emails = members.iter_mut().find(|(name, _)| name == Attribute::Emails.name());
        if let Some((_, emails)) = emails {
            work_email::without_types(emails, user);
        }
        self.keep_declared(&mut members, user);
        let mut draft = draft(members, &self.changes, self.strictness);
        if self.sends_username {
            draft.keep_username();
        }
        Ok(draft)
    }

    /// Keeps the attributes of the declared extensions that the body does not have.
    fn keep_declared(&self, members: &mut Vec<(String, Json)>, user: &User) {
        let Some(Value::Object(stored)) = user.profile.get(Attribute::Attributes) else { return };
        let name = Attribute::Attributes.name();
        let kept: Vec<&(String, Json)> = {
            let sent = members.iter().find(|(found, _)| found == name).map(|(_, sent)| sent);
            let is_sent = |name: &str| sent.is_some_and(|sent| sent.member(name).is_some());
            let is_kept = |name: &String| self.kept_declared.contains(name) && !is_sent(name);
            stored.iter().filter(|(name, _)| is_kept(name)).collect()
        };
        if kept.is_empty() {
            return;
        }
        if members.iter().all(|(found, _)| found != name) {
            members.push((name.to_owned(), Json::Object(Vec::new())));
        }
        if let Some((_, Json::Object(own))) = members.iter_mut().find(|(found, _)| found == name) {
            own.extend(kept.into_iter().cloned());
        }
    }
}

fn draft(
    mut members: Vec<(String, Json)>,
    changes: &[(String, Json)],
    strictness: Strictness,
) -> Draft {
    if !changes.is_empty() {
        let name = Attribute::Attributes.name();
        let at = members.iter().position(|(found, _)| found == name).unwrap_or(members.len());
        if at == members.len() {
            members.push((name.to_owned(), Json::Object(Vec::new())));
        }
        // Anything else is rejected.
        if let Some((_, Json::Object(attributes))) = members.get_mut(at) {
            change(attributes, changes);
        }
    }
    let mut draft = Draft::parse(Json::Object(members));
    if strictness == Strictness::Tolerant {
        draft.excuse(TOLERATED);
    }
    draft
}

/// Sets members of an object.
fn change(members: &mut Vec<(String, Json)>, changes: &[(String, Json)]) {
    let names = members.iter().enumerate().map(|(at, (name, _))| (name.clone(), at));
    let mut places: HashMap<String, usize> = names.collect();
    for (name, value) in changes {
        if let Some((_, found)) = places.get(name).and_then(|at| members.get_mut(*at)) {
            found.clone_from(value);
        } else {
            places.insert(name.clone(), members.len());
            members.push((name.clone(), value.clone()));
        }
    }
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
            Named::Attribute(member) => self.change(member, value)?,
            Named::Unknown(urn) => {
                unknown(&self.extensions, urn, name, strictness, &mut self.dropped)?;
            }
            Named::Extension(urn) => {
                self.whole.push(urn.to_owned());
                let (declared, dropped) = (&self.extensions, &mut self.dropped);
                for (member, value) in changes(declared, urn, value, strictness, dropped)? {
                    self.set_declared(member.name.clone(), value)?;
                }
            }
        }
        Ok(())
    }

    fn change(&mut self, member: &DeclaredMember, value: Json) -> Result<(), ScimError> {
        self.set_declared(member.name.clone(), converted(member, value, self.strictness))
    }

    fn set_declared(&mut self, name: String, value: Json) -> Result<(), ScimError> {
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
