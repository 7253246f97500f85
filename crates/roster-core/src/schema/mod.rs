//! The schema of users: the members of `attributes` that an operator declares.
//!
//! A write is checked against the declarations of the values that it changes. A stored value is not
//! checked again, so a new declaration makes no user invalid. Members that are not declared may
//! have any JSON value. A store has one schema; its changes are events of the change log.

mod draft;
mod index;
mod record;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bytes::Bytes;

use crate::{
    failure::Refusal,
    id::UserId,
    json::Json,
    limits::INDEX_KEY_LENGTH_MAX,
    text::{Pointer, fold_key},
    timestamp::Timestamp,
    user::{
        Stored,
        attribute::Attribute,
        profile::{Profile, Value},
    },
    write::{
        command::{Command, Sharing},
        event::{Event, EventKind, MembersChanged},
        violation::{Violation, ViolationCode, Violations, not_whole},
    },
};

pub use draft::SchemaDraft;
pub use index::{
    INDEX_KIND_MIN, INDEXES_MAX, IndexStatus, IndexedMember, MemberIndex, NONE, OTHER,
    SHARED_VALUES_MAX, SHARING_USERS_MAX, VALUE, can_be_indexed,
};

/// The id of the schema where the log and idempotency records need one. No user or group has it.
pub const SCHEMA_ID: UserId = UserId::from_bytes([0; 16]);

/// The schema of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSchema {
    /// The version: 1 until the schema is first replaced.
    pub version: i64,
    /// The declared members of `attributes`, in the order of the request.
    pub members: Vec<DeclaredMember>,
    /// The built-in members that have an index because the schema names them.
    pub indexed_members: Vec<Attribute>,
    /// The time of the last change; `None` if there was none.
    pub updated_at: Option<Timestamp>,
    /// The indexes of members. Their statuses change without a new version.
    pub indexes: Vec<MemberIndex>,
}

/// A declared member of `attributes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredMember {
    /// Its name.
    pub name: String,
    /// The type of its value, or of each of its values.
    pub value_type: ValueType,
    /// Whether the value is an array.
    pub multi_valued: bool,
    /// Whether every new user must have it.
    pub required: bool,
    /// Whether users may share a value, if it has an index.
    pub index: Option<Sharing>,
    /// Whether its texts are compared exactly; otherwise regardless of case.
    pub case_exact: bool,
    /// A text for people.
    pub description: Option<String>,
    /// The URN of the SCIM schema extension that has it as an attribute.
    pub scim_schema: Option<String>,
}

/// Whether users may share a value of a declared member, if it has an index. A unique member is
/// found by its index.
const fn index_of_flags(indexed: bool, unique: bool) -> Option<Sharing> {
    match (indexed, unique) {
        (_, true) => Some(Sharing::Unique),
        (true, false) => Some(Sharing::Shared),
        (false, false) => None,
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A string with a time (RFC 3339).
    DateTime,
}

impl ValueType {
    /// Every type.
    pub const ALL: &[Self] =
        &[Self::String, Self::Boolean, Self::Integer, Self::Number, Self::DateTime];

    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::DateTime => "date_time",
        }
    }

    /// The type with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == text)
    }

    /// Checks a value; the error says what to send instead.
    fn check(self, value: &Json) -> Result<(), String> {
        let wanted = match (self, value) {
            (Self::String | Self::DateTime, Json::Text(text)) => {
                let is_time = self == Self::String || Timestamp::parse(text).is_some();
                return if is_time { Ok(()) } else { Err(TIME_EXPECTED.to_owned()) };
            }
            (Self::Boolean, Json::Bool(_))
            | (Self::Integer | Self::Number, Json::Int(_))
            | (Self::Number, Json::Float(_)) => return Ok(()),
            (Self::String, _) => "a string",
            (Self::Boolean, _) => "true or false",
            (Self::Integer, _) => return Err(not_whole(value)),
            (Self::Number, _) => "a number",
            (Self::DateTime, _) => "a time as a string",
        };
        Err(format!("send {wanted}, not {}", value.kind()))
    }
}

const TIME_EXPECTED: &str = "send a time of RFC 3339, like 2026-11-20T23:47:00Z";

impl Default for UserSchema {
    fn default() -> Self {
        let (members, indexed_members, indexes) = Default::default();
        Self { version: 1, members, indexed_members, updated_at: None, indexes }
    }
}

impl UserSchema {
    /// The declared member with this name, regardless of case, of a SCIM extension.
    pub fn scim_member(&self, urn: &str, name: &str) -> Option<&DeclaredMember> {
        self.scim_members(urn).find(|member| member.name.eq_ignore_ascii_case(name))
    }

    /// The declared members of a SCIM extension, whose URN is compared regardless of case.
    pub fn scim_members(&self, urn: &str) -> impl Iterator<Item = &DeclaredMember> {
        let is_of = move |found: &String| found.eq_ignore_ascii_case(urn);
        self.members.iter().filter(move |member| member.scim_schema.as_ref().is_some_and(is_of))
    }

    /// The URNs of the SCIM extensions, each once.
    pub fn scim_schemas(&self) -> Vec<&str> {
        let mut urns: Vec<&str> = Vec::new();
        for urn in self.members.iter().filter_map(|member| member.scim_schema.as_deref()) {
            if !urns.iter().any(|known| known.eq_ignore_ascii_case(urn)) {
                urns.push(urn);
            }
        }
        urns
    }

    /// The record and version, as any stored resource.
    pub fn stored(&self) -> Stored {
        Stored { id: SCHEMA_ID, version: self.version, record: self.to_record() }
    }

    /// Removes declared members that are one text and empty: that is no value, as in every other
    /// member. One that is stored so, from before the declaration, stays as it is.
    pub(crate) fn drop_empty_texts(
        &self,
        profile: &mut Profile,
        stored: Option<&[(String, Json)]>,
    ) {
        let Some(Value::Object(sent)) = profile.get(Attribute::Attributes) else { return };
        if self.members.is_empty() || !sent.iter().any(|(_, value)| value.is_empty_text()) {
            return;
        }
        let is_one_text = |member: &&DeclaredMember| {
            !member.multi_valued
                && matches!(member.value_type, ValueType::String | ValueType::DateTime)
        };
        let texts = self.members.iter().filter(is_one_text).map(|member| member.name.as_str());
        let mut texts: HashSet<&str> = texts.collect();
        let stored = stored.unwrap_or_default().iter();
        for (name, _) in stored.filter(|(_, value)| value.is_empty_text()) {
            texts.remove(name.as_str());
        }
        let mut kept = sent.clone();
        kept.retain(|(name, value)| !value.is_empty_text() || !texts.contains(name.as_str()));
        let kept = (!kept.is_empty()).then_some(Value::Object(kept));
        profile.set(Attribute::Attributes, kept);
    }

    /// The violations of `attributes`, given the stored ones if the user exists. Values that equal
    /// the stored ones are not checked.
    pub(crate) fn violations(
        &self,
        sent: &[(String, Json)],
        stored: Option<&[(String, Json)]>,
    ) -> Violations {
        let mut violations = Violations::default();
        if self.members.is_empty() {
            return violations;
        }
        // A search for each declared member would take time proportional to the product.
        let stored = stored.map(by_name);
        let sent = by_name(sent);
        for member in &self.members {
            let pointer = || Pointer::root().member("attributes").member(&member.name);
            let value = sent.get(member.name.as_str()).copied();
            let is_stored =
                |stored: &HashMap<&str, &Json>| stored.get(member.name.as_str()).copied() == value;
            if stored.as_ref().is_some_and(is_stored) {
                continue;
            }
            let is_absent = value.is_none_or(|value| *value == Json::Array(Vec::new()));
            match value {
                _ if is_absent && member.required => violations.push(|| {
                    let detail = format!("the schema requires {}", member.name);
                    Violation::new(pointer(), ViolationCode::Required, detail)
                }),
                Some(value) => member.check(value, pointer, &mut violations),
                None => {}
            }
        }
        violations
    }
}

fn by_name(members: &[(String, Json)]) -> HashMap<&str, &Json> {
    members.iter().map(|(name, value)| (name.as_str(), value)).collect()
}

impl DeclaredMember {
    /// Whether no two users may have the same value.
    pub fn is_unique(&self) -> bool {
        self.index == Some(Sharing::Unique)
    }

    fn check(&self, value: &Json, pointer: impl Fn() -> Pointer, violations: &mut Violations) {
        let mut add = |pointer: &dyn Fn() -> Pointer, detail| {
            // A string that is no time has the right JSON type.
            let is_text = matches!(value, Json::Text(_));
            let code = if is_text && self.value_type == ValueType::DateTime {
                ViolationCode::InvalidValue
            } else {
                ViolationCode::WrongType
            };
            violations.push(|| Violation::new(pointer(), code, detail));
        };
        if !self.multi_valued {
            if let Err(detail) = self.value_type.check(value) {
                add(&pointer, detail);
            }
            return self.check_length(value, pointer, violations);
        }
        let Json::Array(values) = value else {
            return add(&pointer, format!("send an array, not {}", value.kind()));
        };
        for (index, value) in values.iter().enumerate() {
            if let Err(detail) = self.value_type.check(value) {
                add(&|| pointer().index(index), detail);
            }
        }
        for (index, value) in values.iter().enumerate() {
            self.check_length(value, || pointer().index(index), violations);
        }
        if self.value_type == ValueType::String
            && let Some(index) = values.iter().position(Json::is_empty_text)
        {
            let pointer = || pointer().index(index);
            let code = ViolationCode::Required;
            violations.push(|| Violation::new(pointer(), code, "give a value"));
        }
    }

    /// An index has no key for a longer text.
    fn check_length(
        &self,
        value: &Json,
        pointer: impl Fn() -> Pointer,
        violations: &mut Violations,
    ) {
        let Json::Text(text) = value else { return };
        let is_long = |text: &str| text.chars().nth(INDEX_KEY_LENGTH_MAX).is_some();
        if self.index.is_some() && (is_long(text) || !self.case_exact && is_long(&fold_key(text))) {
            let detail = format!(
                "an indexed value has at most {INDEX_KEY_LENGTH_MAX} characters, also after case \
                 folding"
            );
            violations.push(|| Violation::new(pointer(), ViolationCode::TooLong, detail));
        }
    }
}

/// A change of the schema, which one transaction writes.
#[derive(Clone, Debug)]
pub struct SchemaChange {
    /// The schema after the change.
    pub schema: Arc<UserSchema>,
    /// Its record.
    pub record: Bytes,
    /// The entry of the change log.
    pub event: Arc<Event>,
}

/// Decides a command that replaces the schema by this draft; `None` if it changes nothing.
pub fn decide_schema(
    current: &UserSchema,
    draft: &SchemaDraft,
    command: &Command,
) -> Result<Option<SchemaChange>, Refusal> {
    let version = draft.body_version;
    if !command.preconditions.allow_write(current.version)
        || version.is_some_and(|version| version != current.version)
    {
        return Err(Refusal::VersionMismatch { current: current.version });
    }
    let (members, indexed_members) = draft.members().map_err(Refusal::Invalid)?;
    if members == current.members && indexed_members == current.indexed_members {
        return Ok(None);
    }
    let indexes = current.indexes_for(&members, &indexed_members);
    if indexes.len() > INDEXES_MAX {
        let detail = "the rows of earlier indexes are still being deleted: repeat this later";
        let violation = Violation::new("/attributes", ViolationCode::TooMany, detail);
        return Err(Refusal::Invalid(violation.into()));
    }
    let at = current.updated_at.map_or(command.at, |last| last.max(command.at));
    let updated_at = Some(at);
    let version = current.version + 1;
    let schema = UserSchema { version, members, indexed_members, updated_at, indexes };
    let record = schema.to_record();
    let event = Event {
        kind: EventKind::SchemaUpdated,
        at,
        actor: command.caller.actor.to_string(),
        request_id: command.caller.request_id.clone(),
        user_id: SCHEMA_ID,
        version: schema.version,
        changed: Vec::new(),
        members: MembersChanged::default(),
        record: record.clone(),
    };
    Ok(Some(SchemaChange { schema: Arc::new(schema), record, event: Arc::new(event) }))
}
