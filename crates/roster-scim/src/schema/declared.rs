//! Schema extensions that the operator declares (`PUT /schema` of the REST interface).
//!
//! Their attributes are members of `attributes` of the record. They are not in the static attribute
//! tables: a request that names one is changed to name the member of `attributes`, and responses
//! and `/Schemas` get them from the schema of users.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
};

use roster_core::{
    Json, UserSchema, json,
    limits::TEXT_LENGTH_MAX,
    schema::{DeclaredMember, ValueType},
};

use crate::{
    error::{ScimError, ScimType},
    schema::AttributeType,
    strictness::{Strictness, as_flag, as_text},
    value::{bare, below, distinct},
};

/// A name of a declared extension.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named<'s> {
    /// The whole extension, by its URN.
    Extension(&'s str),
    /// An attribute of it.
    Attribute(&'s DeclaredMember),
    /// A name that the extension does not declare.
    Unknown(&'s str),
}

/// The declared extensions by their names in lower case, for requests that name many.
pub(crate) struct Extensions<'s> {
    pub(crate) schema: &'s UserSchema,
    /// Made for the first name that may be of an extension.
    by_urn: OnceCell<BTreeMap<String, Extension<'s>>>,
}

/// A declared extension.
struct Extension<'s> {
    urn: &'s str,
    members: HashMap<String, &'s DeclaredMember>,
}

impl<'s> Extensions<'s> {
    pub(crate) const fn of(schema: &'s UserSchema) -> Self {
        Self { schema, by_urn: OnceCell::new() }
    }

    /// Resolves `URN`, `URN:attribute` and `URN:attribute.value`, in any case; `None` if no
    /// declared extension has the URN. Some clients send a dot after the URN in place of the colon.
    pub(crate) fn resolve(&self, name: &str) -> Option<Named<'s>> {
        // Every declared URN begins so.
        if !name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("urn:")) {
            return None;
        }
        let name = name.to_ascii_lowercase();
        if let Some(extension) = self.by_urn().get(&name) {
            return Some(Named::Extension(extension.urn));
        }
        // Several URNs may be a prefix of the name. The one that declares the attribute is used.
        let mut found = None;
        for (at, _) in name.match_indices([':', '.']).filter(|(at, _)| *at <= TEXT_LENGTH_MAX) {
            let Some((urn, attribute)) = name.split_at_checked(at) else { continue };
            let Some(extension) = self.by_urn().get(urn) else { continue };
            let attribute = without_value(attribute.get(1..).unwrap_or_default());
            match extension.members.get(attribute) {
                Some(member) => return Some(Named::Attribute(member)),
                None => found = Some(Named::Unknown(extension.urn)),
            }
        }
        found
    }

    /// The attribute of an extension with this name, in any case.
    pub(crate) fn member(&self, urn: &str, name: &str) -> Option<&'s DeclaredMember> {
        let extension = self.by_urn().get(&urn.to_ascii_lowercase())?;
        extension.members.get(without_value(&name.to_ascii_lowercase())).copied()
    }

    fn by_urn(&self) -> &BTreeMap<String, Extension<'s>> {
        self.by_urn.get_or_init(|| {
            let mut by_urn: BTreeMap<String, Extension<'s>> = BTreeMap::new();
            for member in &self.schema.members {
                let Some(urn) = &member.scim_schema else { continue };
                let known = by_urn.entry(urn.to_ascii_lowercase());
                let extension = known.or_insert_with(|| Extension { urn, members: HashMap::new() });
                extension.members.insert(member.name.to_ascii_lowercase(), member);
            }
            by_urn
        })
    }
}

/// The name of an attribute without `.value`: values of declared lists have no other part.
pub(crate) fn without_value(name: &str) -> &str {
    let (start, end) = name.split_at_checked(name.len().saturating_sub(6)).unwrap_or((name, ""));
    if end.eq_ignore_ascii_case(".value") { start } else { name }
}

/// The declared attribute of this name, in any case, of any extension.
pub(crate) fn without_urn<'s>(schema: &'s UserSchema, name: &str) -> Option<&'s DeclaredMember> {
    let name = without_value(name);
    let mut shown = schema.members.iter().filter(|member| member.scim_schema.is_some());
    shown.find(|member| member.name.eq_ignore_ascii_case(name))
}

/// The declared attributes that the object of an extension has, with the values that were sent.
/// Tolerant parsing drops names that are not declared, and strict parsing rejects them.
pub(crate) fn changes<'s>(
    extensions: &Extensions<'s>,
    urn: &str,
    value: Json,
    strictness: Strictness,
    dropped: &mut Vec<String>,
) -> Result<Vec<(&'s DeclaredMember, Json)>, ScimError> {
    let kind = value.kind();
    let sent = if value == Json::Null { Json::Object(Vec::new()) } else { value };
    let Json::Object(sent) = sent else {
        let detail = format!("{urn}: send an object, not {kind}");
        return Err(ScimError::new(ScimType::InvalidValue, detail));
    };
    let is_empty = sent.is_empty();
    let mut changes = Vec::new();
    for (name, value) in sent {
        if let Some(member) = extensions.member(urn, &name) {
            changes.push((member, value));
        } else {
            unknown(extensions, urn, &name, strictness, dropped)?;
        }
    }
    // In a PUT it would clear the extension.
    if changes.is_empty() && !is_empty {
        return Err(undeclared(urn));
    }
    Ok(changes)
}

/// Drops a name that is not declared; strict parsing rejects it. A path below a declared attribute
/// is always rejected.
pub(crate) fn unknown(
    extensions: &Extensions<'_>,
    urn: &str,
    name: &str,
    strictness: Strictness,
    dropped: &mut Vec<String>,
) -> Result<(), ScimError> {
    if strictness == Strictness::Strict {
        return Err(undeclared(urn));
    }
    let is_whole = name.get(..urn.len()).is_some_and(|start| start.eq_ignore_ascii_case(urn));
    let own = name.get(urn.len() + 1..).filter(|_| is_whole).unwrap_or(name);
    let above = own.split_once(['.', '[']).and_then(|(first, _)| extensions.member(urn, first));
    if let Some(member) = above {
        return Err(below(&member.name));
    }
    dropped.push(format!("{urn}:{name}"));
    Ok(())
}

pub(crate) fn undeclared(urn: &str) -> ScimError {
    let detail = format!("{urn}: the schema declares no such attribute");
    ScimError::new(ScimType::InvalidSyntax, detail)
}

/// Converts what providers send in place of the declared type. `null`, `[]` and an empty string are
/// no value.
pub(crate) fn converted(member: &DeclaredMember, value: Json, strictness: Strictness) -> Json {
    if value == Json::Array(Vec::new()) || value.is_empty_text() {
        return Json::Null;
    }
    if !strictness.is_tolerant() {
        let is_list = member.multi_valued && matches!(value, Json::Array(_));
        return if is_list { Json::Array(distinct(value.into_values())) } else { value };
    }
    let one = |value: Json| match (member.value_type, bare(value)) {
        (ValueType::Boolean, value) => as_flag(value),
        (ValueType::String, value) => as_text(value, strictness),
        (ValueType::Integer | ValueType::Number, Json::Text(text)) => match text.parse() {
            Ok(number) => Json::Int(number),
            // A JSON number with a fraction or an exponent; the type decides whether it may be one.
            Err(_) => match json::read(text.as_bytes()) {
                Ok(number @ Json::Float(_)) => number,
                _ => Json::Text(text),
            },
        },
        (_, value) => value,
    };
    if value == Json::Null {
        return Json::Null;
    }
    if member.multi_valued {
        // A single value is a list of one.
        return Json::Array(distinct(value.into_values().into_iter().map(one).collect()));
    }
    // Some clients send a list of the one value. A list of nothing is an error of its type.
    if let Json::Array(items) = &value
        && let [item] = items.as_slice()
        && !is_nothing(item)
    {
        return one(item.clone());
    }
    one(value)
}

/// Whether it is no value, also in an object as clients send it for a text.
fn is_nothing(value: &Json) -> bool {
    let value = bare(value.clone());
    value == Json::Null || value.is_empty_text()
}

/// The type of an attribute in `/Schemas`.
pub(crate) const fn attribute_type(value_type: ValueType) -> AttributeType {
    match value_type {
        ValueType::String => AttributeType::String,
        ValueType::Boolean => AttributeType::Boolean,
        ValueType::Integer => AttributeType::Integer,
        ValueType::Number => AttributeType::Decimal,
        ValueType::DateTime => AttributeType::DateTime,
    }
}
