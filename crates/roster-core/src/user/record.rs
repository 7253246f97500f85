//! The canonical JSON of a user, which rows, events and REST responses contain.
//!
//! Members have the order of the table; members without a value are absent. Parsing a record gives
//! an equal user even if the rules for new values have changed since it was written.

use std::fmt;

use bytes::Bytes;

use super::{Status, User};
use crate::{
    id::UserId,
    json::{self, Json, separate, write_json, write_text},
    timestamp::Timestamp,
    user::{
        attribute::{Attribute, Kind, PartKind, Shape},
        profile::{Entry, Profile, Scalar, Value},
    },
};

/// A stored record that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptRecord {
    /// The first invalid member, or `its JSON` for the whole record.
    pub member: String,
}

impl fmt::Display for CorruptRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stored record cannot be read at {}", self.member)
    }
}

impl User {
    /// The canonical JSON.
    pub fn to_record(&self) -> Bytes {
        let mut out = Vec::with_capacity(640);
        for attribute in Attribute::ALL {
            self.write_member(&mut out, *attribute);
        }
        out.push(b'}');
        Bytes::from(out)
    }

    fn write_member(&self, out: &mut Vec<u8>, attribute: Attribute) {
        let start = |out: &mut Vec<u8>| {
            out.push(if out.is_empty() { b'{' } else { b',' });
            out.push(b'"');
            out.extend_from_slice(attribute.name().as_bytes());
            out.extend_from_slice(b"\":");
        };
        match attribute.kind() {
            Kind::ServerMade => {
                start(out);
                self.write_server_made(out, attribute);
            }
            Kind::Status => {
                start(out);
                write_text(out, self.status.as_str());
            }
            Kind::ShortForm { list, .. } => {
                if let Some(value) = self.profile.primary_value(list) {
                    start(out);
                    write_text(out, value);
                }
            }
            Kind::Mark
            | Kind::Text(_)
            | Kind::Flag { .. }
            | Kind::One(_)
            | Kind::Many(_)
            | Kind::Object => {
                if let Some(value) = self.profile.get(attribute) {
                    start(out);
                    write_value(out, value);
                }
            }
        }
    }

    fn write_server_made(&self, out: &mut Vec<u8>, attribute: Attribute) {
        if attribute == Attribute::Version {
            json::write_display(out, &self.version);
            return;
        }
        out.push(b'"');
        if attribute == Attribute::Id {
            json::write_display(out, &self.id);
        } else if attribute == Attribute::CreatedAt {
            json::write_display(out, &self.id.created_at());
        } else {
            json::write_display(out, &self.updated_at);
        }
        out.push(b'"');
    }

    /// Parses a record without checking its values, so records that older rules accepted stay
    /// readable.
    pub fn from_record(record: &[u8]) -> Result<Self, CorruptRecord> {
        let corrupt = |member: &str| CorruptRecord { member: member.to_owned() };
        let Ok(Json::Object(members)) = json::read(record) else {
            return Err(corrupt("its JSON"));
        };
        let (mut id, mut version, mut status, mut updated_at) = (None, None, None, None);
        let mut profile = Profile::default();
        for (name, value) in members {
            let attribute = Attribute::from_name(&name).ok_or_else(|| corrupt(&name))?;
            match (attribute.kind(), value) {
                (Kind::ShortForm { .. }, _) => {}
                (Kind::ServerMade, Json::Int(number)) => version = Some(number),
                (Kind::ServerMade, Json::Text(text)) => {
                    if attribute == Attribute::Id {
                        id = UserId::parse(&text);
                    } else if attribute == Attribute::UpdatedAt {
                        updated_at = Timestamp::parse(&text);
                    }
                }
                (Kind::Status, Json::Text(text)) => status = Status::parse(&text),
                (kind, value) => {
                    let value = read_value(kind, value).ok_or_else(|| corrupt(&name))?;
                    profile.set(attribute, Some(value));
                }
            }
        }
        Ok(Self {
            id: id.ok_or_else(|| corrupt("id"))?,
            version: version.ok_or_else(|| corrupt("version"))?,
            status: status.ok_or_else(|| corrupt("status"))?,
            updated_at: updated_at.ok_or_else(|| corrupt("updated_at"))?,
            profile,
        })
    }
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Text(text) => write_text(out, text),
        Value::Flag(flag) => write_json(out, &Json::Bool(*flag)),
        Value::One(entry) => write_entry(out, entry),
        Value::Many(entries) => {
            out.push(b'[');
            for (index, entry) in entries.iter().enumerate() {
                separate(index, out);
                write_entry(out, entry);
            }
            out.push(b']');
        }
        Value::Object(members) => json::write_object(out, members),
    }
}

fn write_entry(out: &mut Vec<u8>, entry: &Entry) {
    out.push(b'{');
    for (index, (part, scalar)) in entry.parts().iter().enumerate() {
        separate(index, out);
        out.push(b'"');
        out.extend_from_slice(part.name().as_bytes());
        out.extend_from_slice(b"\":");
        match scalar {
            Scalar::Text(text) => write_text(out, text),
            Scalar::Flag(flag) => write_json(out, &Json::Bool(*flag)),
        }
    }
    out.push(b'}');
}

fn read_value(kind: Kind, value: Json) -> Option<Value> {
    match (kind, value) {
        (Kind::Text(_), Json::Text(text)) => Some(Value::Text(text)),
        (Kind::Flag { .. } | Kind::Mark, Json::Bool(flag)) => Some(Value::Flag(flag)),
        (Kind::One(shape), value) => read_entry(shape, value).map(Value::One),
        (Kind::Many(shape), Json::Array(items)) => {
            let entries = items.into_iter().map(|item| read_entry(shape, item));
            entries.collect::<Option<Vec<_>>>().map(Value::Many)
        }
        (Kind::Object, Json::Object(members)) => Some(Value::Object(members)),
        _ => None,
    }
}

fn read_entry(shape: &Shape, value: Json) -> Option<Entry> {
    let Json::Object(members) = value else { return None };
    let part = |(name, value): (String, Json)| {
        let (part, kind) = shape.parts.iter().find(|(part, _)| part.name() == name)?;
        match (kind, value) {
            (PartKind::Text(_), Json::Text(text)) => Some((*part, Scalar::Text(text))),
            (PartKind::Flag, Json::Bool(flag)) => Some((*part, Scalar::Flag(flag))),
            _ => None,
        }
    };
    members.into_iter().map(part).collect::<Option<Vec<_>>>().map(Entry::new)
}
