//! Users as rows: one column for each member, in the order of the record.
//!
//! A list or an object is JSON in one cell. A list that says no more than its short form is empty,
//! because the short form makes it again. Declared members of `attributes` have columns of their
//! own; `attributes` has the others.

use roster_core::{
    Attribute, Json, UserSchema,
    json::{self, write_json},
    project::Members,
    schema::{DeclaredMember, ValueType},
};

use super::cells::write;

const DELIMITER: u8 = b',';

/// How users are written as rows.
pub(in super::super) struct CsvUsers {
    attributes: Vec<Attribute>,
    /// The declared members of `attributes`.
    declared: Vec<DeclaredMember>,
}

impl CsvUsers {
    /// Rows with these members, or with all of them.
    pub(in super::super) fn new(members: Option<&Members>, schema: &UserSchema) -> Self {
        let is_shown =
            |attribute: &&Attribute| members.is_none_or(|members| members.has(**attribute));
        let attributes: Vec<_> = Attribute::ALL.iter().filter(is_shown).copied().collect();
        let mut declared = Vec::new();
        if attributes.contains(&Attribute::Attributes) {
            declared.extend(schema.members.iter().cloned());
        }
        Self { attributes, declared }
    }

    /// The header row.
    pub(in super::super) fn header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (index, name) in self.names().enumerate() {
            write(&name, DELIMITER, index == 0, &mut out);
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.attributes.iter().flat_map(|attribute| {
            let own = std::iter::once(attribute.name().to_owned());
            let declared: &[_] =
                if *attribute == Attribute::Attributes { &self.declared } else { &[] };
            own.chain(declared.iter().map(|member| format!("attributes.{}", member.name)))
        })
    }

    /// Appends the row of a record, without its end; `None` if the record cannot be read.
    pub(in super::super) fn write(&self, record: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let record = json::read(record).ok()?;
        let mut is_first = true;
        let mut put = |value: &str| {
            write(value, DELIMITER, is_first, out);
            is_first = false;
        };
        for attribute in &self.attributes {
            let value = record.member(attribute.name());
            if *attribute == Attribute::Attributes {
                let (own, others) = self.split(value);
                put(&others);
                for value in &own {
                    put(value);
                }
            } else {
                let value = value.filter(|value| !is_of_short_form(*attribute, value, &record));
                put(&value.map(text).unwrap_or_default());
            }
        }
        Some(())
    }

    /// The texts of the declared members of `attributes`, and of all others together.
    fn split(&self, attributes: Option<&Json>) -> (Vec<String>, String) {
        let Some(Json::Object(members)) = attributes else {
            return (vec![String::new(); self.declared.len()], String::new());
        };
        let fits = |name: &str, value: &Json| {
            let declared = self.declared.iter().find(|member| member.name == name);
            declared.is_some_and(|member| is_read_again(member, value))
        };
        let own = self.declared.iter().map(|member| {
            let is_own =
                |(known, value): &&(String, Json)| *known == member.name && fits(known, value);
            let value = members.iter().find(is_own);
            value.map(|(_, value)| text(value)).unwrap_or_default()
        });
        let others = members.iter().filter(|(name, value)| !fits(name, value)).cloned();
        let others: Vec<_> = others.collect();
        let others = if others.is_empty() { String::new() } else { text(&Json::Object(others)) };
        (own.collect(), others)
    }
}

/// Whether a list has only the entry that its short form makes.
fn is_of_short_form(attribute: Attribute, list: &Json, record: &Json) -> bool {
    let short = attribute.short_form().and_then(|short| record.member(short.name()));
    let (Some(short), Json::Array(entries)) = (short, list) else { return false };
    let [Json::Object(parts)] = entries.as_slice() else { return false };
    let is_part =
        |name: &str, value: &Json| parts.iter().any(|(known, own)| known == name && own == value);
    parts.len() == 2 && is_part("value", short) && is_part("primary", &Json::Bool(true))
}

/// Whether the cell of a value is read as the same value, because it has the declared type. A value
/// that was stored before the declaration may have another.
fn is_read_again(member: &DeclaredMember, value: &Json) -> bool {
    if member.multi_valued {
        return matches!(value, Json::Array(_));
    }
    match (member.value_type, value) {
        (ValueType::String | ValueType::DateTime, Json::Text(text)) => !text.is_empty(),
        (ValueType::Boolean, Json::Bool(_))
        | (ValueType::Integer | ValueType::Number, Json::Int(_) | Json::Float(_)) => true,
        _ => false,
    }
}

/// The text of a value in a cell.
fn text(value: &Json) -> String {
    if let Json::Text(text) = value {
        return text.clone();
    }
    let mut out = Vec::new();
    write_json(&mut out, value);
    String::from_utf8_lossy(&out).into_owned()
}
