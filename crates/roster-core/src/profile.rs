//! The values of a user: what somebody sent, after normalisation, before server-made members.
//!
//! A profile is a map by attribute, in table order, so that parsing, comparing and writing follow
//! the one table. A member without a value is not in it. Short forms are not in it either: they
//! are read off their lists.

use std::collections::BTreeMap;

use crate::{
    attribute::Attribute,
    json::{self, Json},
    part::Part,
};

/// The members of a user that have a value, by attribute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    values: BTreeMap<Attribute, Value>,
}

/// The value of a member.
#[derive(Clone, Debug)]
pub enum Value {
    /// One text.
    Text(String),
    /// A boolean.
    Flag(bool),
    /// One object of parts.
    One(Entry),
    /// A list of entries, never empty.
    Many(Vec<Entry>),
    /// A free JSON object, never empty.
    Object(Vec<(String, Json)>),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Flag(one), Self::Flag(other)) => one == other,
            (Self::One(one), Self::One(other)) => one == other,
            (Self::Many(one), Self::Many(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => json::same_members(one, other),
            _ => false,
        }
    }
}

/// The value of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// One text.
    Text(String),
    /// A boolean.
    Flag(bool),
}

/// One object of named parts, in the order of its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    parts: Vec<(Part, Scalar)>,
}

impl Entry {
    /// An entry of these parts.
    pub fn new(mut parts: Vec<(Part, Scalar)>) -> Self {
        parts.sort_by_key(|(part, _)| *part);
        Self { parts }
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[(Part, Scalar)] {
        &self.parts
    }

    /// The text of a part.
    pub fn text(&self, wanted: Part) -> Option<&str> {
        self.parts.iter().find_map(|(part, scalar)| match scalar {
            Scalar::Text(text) if *part == wanted => Some(text.as_str()),
            Scalar::Text(_) | Scalar::Flag(_) => None,
        })
    }

    /// Whether the entry is flagged as the primary one.
    pub fn is_primary(&self) -> bool {
        self.parts.contains(&(Part::Primary, Scalar::Flag(true)))
    }

    /// The entry with this part set.
    pub fn with(mut self, part: Part, scalar: Scalar) -> Self {
        self.parts.retain(|(found, _)| *found != part);
        self.parts.push((part, scalar));
        Self::new(self.parts)
    }

    /// The entry without this part.
    pub fn without(mut self, part: Part) -> Self {
        self.parts.retain(|(found, _)| *found != part);
        self
    }
}

/// The primary entry of a list: the flagged one, else the first.
pub fn primary(entries: &[Entry]) -> Option<&Entry> {
    entries.iter().find(|entry| entry.is_primary()).or_else(|| entries.first())
}

impl Profile {
    /// The value of a member.
    pub fn get(&self, attribute: Attribute) -> Option<&Value> {
        self.values.get(&attribute)
    }

    /// Sets or, without a value, clears a member.
    pub fn set(&mut self, attribute: Attribute, value: Option<Value>) {
        match value {
            Some(value) => self.values.insert(attribute, value),
            None => self.values.remove(&attribute),
        };
    }

    /// The members that have a value, in table order.
    pub fn iter(&self) -> impl Iterator<Item = (Attribute, &Value)> {
        self.values.iter().map(|(attribute, value)| (*attribute, value))
    }

    /// The text of a member that holds one.
    pub fn text(&self, attribute: Attribute) -> Option<&str> {
        let Some(Value::Text(text)) = self.get(attribute) else { return None };
        Some(text)
    }

    /// The entries of a list; empty when it is absent.
    pub fn entries(&self, attribute: Attribute) -> &[Entry] {
        let Some(Value::Many(entries)) = self.get(attribute) else { return &[] };
        entries
    }

    /// The value of the primary entry of a list: what its short form shows.
    pub fn primary_value(&self, list: Attribute) -> Option<&str> {
        primary(self.entries(list)).and_then(|entry| entry.text(Part::Value))
    }
}
