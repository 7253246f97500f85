//! The attributes of a user, as clients sent them, normalized, without the members that the server
//! sets.
//!
//! A profile is a map by attribute, in table order, so parsing, comparing and writing follow the
//! one table. It contains neither members without a value nor short forms, which are values of
//! their lists.

use std::collections::BTreeMap;

use crate::{
    json::{self, Json},
    user::{attribute::Attribute, part::Part},
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

impl Value {
    /// The number of bytes that the value takes at least as JSON.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len() + 2,
            Self::Flag(_) => 2,
            Self::One(entry) => entry.size(),
            Self::Many(entries) => entries.iter().map(Entry::size).sum(),
            Self::Object(members) => json::size_of_members(members),
        }
    }
}

/// The value of a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// One text.
    Text(String),
    /// A boolean.
    Flag(bool),
}

/// One object of named parts, in the order of its shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry {
    parts: Vec<(Part, Scalar)>,
}

impl Entry {
    /// An entry of these parts.
    pub fn new(mut parts: Vec<(Part, Scalar)>) -> Self {
        parts.sort_by_key(|(part, _)| *part);
        Self { parts }
    }

    /// The parts, in the order of the canonical JSON.
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

    fn size(&self) -> usize {
        let size = |scalar: &Scalar| match scalar {
            Scalar::Text(text) => text.len() + 2,
            Scalar::Flag(_) => 4,
        };
        self.parts.iter().map(|(part, scalar)| part.name().len() + 4 + size(scalar)).sum::<usize>()
            + 3
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

    /// Sets a member, or clears it if the value is `None`.
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

    /// The text of a member that has one.
    pub fn text(&self, attribute: Attribute) -> Option<&str> {
        let Some(Value::Text(text)) = self.get(attribute) else { return None };
        Some(text)
    }

    /// Whether the username is the primary e-mail address because the user has none of its own.
    pub fn is_username_from_email(&self) -> bool {
        self.values.contains_key(&Attribute::UsernameFromEmail)
    }

    /// The entries of a list; empty if it is absent.
    pub fn entries(&self, attribute: Attribute) -> &[Entry] {
        let Some(Value::Many(entries)) = self.get(attribute) else { return &[] };
        entries
    }

    /// The value of the primary entry of a list, which is the value of its short form.
    pub fn primary_value(&self, list: Attribute) -> Option<&str> {
        primary(self.entries(list)).and_then(|entry| entry.text(Part::Value))
    }
}
