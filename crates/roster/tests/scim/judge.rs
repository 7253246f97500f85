//! Evaluates filters on resources as SCIM shows them: a second implementation of RFC 7644 section
//! 3.4.2.2, on JSON and on the attributes in the service's own `/Schemas`.
//!
//! It uses no record, plan or index, and shares with the service only the keys by which texts are
//! compared. In addition to the standard (`docs/filter.md`): an absent value is null, which equals
//! only null; names, addresses and telephone numbers are compared by their keys; values below
//! `attributes` are compared only with their own type.

use std::cmp::Ordering;

use roster_core::{
    Timestamp,
    keys::username_lookup,
    text::{email_key, fold_key, phone_key, phone_part, username_fold},
};
use serde_json::{Map, Value};

static FALSE: Value = Value::Bool(false);

/// An attribute of `/Schemas`, or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// The URN of its extension; none in the core schema.
    pub(crate) urn: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) multi_valued: bool,
    pub(crate) case_exact: bool,
    pub(crate) is_read_only: bool,
    pub(crate) parts: Vec<Attribute>,
}

/// A condition on a resource, or on one value of it.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Test(Test),
    /// One value of the attribute matches all of it.
    Value(Attribute, Box<Condition>),
}

/// A test of some values.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) place: Place,
    pub(crate) operator: &'static str,
    pub(crate) literal: Value,
}

/// Which values.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Those of an attribute; for a list, the default part of its values.
    Whole(Attribute),
    /// A part of an attribute's values.
    Part(Attribute, Attribute),
    /// A part of the value to which the brackets apply.
    Here(Attribute, Attribute),
    /// Values below keys of `attributes`.
    Own(Attribute, Vec<String>),
}

impl Attribute {
    pub(crate) fn read(urn: Option<&str>, told: &Value) -> Self {
        let parts = told["subAttributes"].as_array();
        let parts = parts.map(|parts| parts.iter().map(|part| Self::read(urn, part)).collect());
        let name = told["name"].as_str().expect("a name");
        // The schema says that this time is a string.
        let is_time = name == "expires_at";
        let kind = if is_time { "dateTime" } else { told["type"].as_str().expect("a type") };
        Self {
            urn: urn.map(str::to_owned),
            name: name.to_owned(),
            kind: kind.to_owned(),
            multi_valued: told["multiValued"] == true,
            case_exact: told["caseExact"] == true,
            is_read_only: told["mutability"] == "readOnly",
            parts: parts.unwrap_or_default(),
        }
    }

    pub(crate) fn part(&self, name: &str) -> Option<&Self> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The JSON of the resource there.
    fn of<'v>(&self, resource: &'v Value) -> &'v Value {
        match &self.urn {
            Some(urn) => &resource[urn][&self.name],
            None => &resource[&self.name],
        }
    }

    /// The values that the resource has there.
    fn values<'v>(&self, resource: &'v Value) -> Vec<&'v Value> {
        let one = self.of(resource);
        match one.as_array() {
            Some(values) => values.iter().collect(),
            None if one.is_null() => Vec::new(),
            None => vec![one],
        }
    }
}

impl Condition {
    /// Whether the resource matches. `here` is the value to which the brackets around the condition
    /// apply.
    pub(crate) fn holds(&self, resource: &Value, here: &Value) -> bool {
        match self {
            Self::All(all) => all.iter().all(|one| one.holds(resource, here)),
            Self::Any(any) => any.iter().any(|one| one.holds(resource, here)),
            Self::Not(inner) => !inner.holds(resource, here),
            Self::Test(test) => test.holds(resource, here),
            Self::Value(attribute, inner) => {
                attribute.values(resource).into_iter().any(|value| inner.holds(resource, value))
            }
        }
    }
}

impl Test {
    fn holds(&self, resource: &Value, here: &Value) -> bool {
        if let (Place::Whole(attribute), "pr") = (&self.place, self.operator) {
            return !is_nothing(attribute.of(resource));
        }
        let mut found = self.place.found(resource, here);
        // In a value without `primary`, it is false (RFC 7643 section 2.4).
        if self.place.last().name == "primary" && self.operator != "pr" && self.literal.is_boolean()
        {
            found.iter_mut().filter(|one| one.is_null()).for_each(|one| *one = &FALSE);
        }
        if found.is_empty() {
            found.push(&Value::Null);
        }
        found.into_iter().any(|value| self.compares(value))
    }

    fn compares(&self, found: &Value) -> bool {
        let order = || if found.is_null() { None } else { self.order(found) };
        let texts = |holds: fn(&str, &str) -> bool| match (found, &self.literal) {
            (Value::String(one), Value::String(other)) => {
                let other = self.key(other, true);
                !other.is_unmatchable && holds(&self.key(one, false).text, &other.text)
            }
            _ => false,
        };
        match self.operator {
            "pr" => !is_nothing(found),
            "eq" => self.equals(found),
            "ne" => !self.equals(found),
            "co" => texts(|one, other| one.contains(other)),
            "sw" => texts(|one, other| one.starts_with(other)),
            "ew" => texts(|one, other| one.ends_with(other)),
            "gt" => order() == Some(Ordering::Greater),
            "ge" => order().is_some_and(Ordering::is_ge),
            "lt" => order() == Some(Ordering::Less),
            "le" => order().is_some_and(Ordering::is_le),
            other => panic!("no operator: {other}"),
        }
    }

    fn equals(&self, found: &Value) -> bool {
        match (found, &self.literal) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(one), Value::Bool(other)) => one == other,
            _ => self.order(found) == Some(Ordering::Equal),
        }
    }

    fn order(&self, found: &Value) -> Option<Ordering> {
        match (found, &self.literal) {
            (Value::Number(one), Value::Number(other)) => numbers(one, other),
            (Value::String(one), Value::String(other)) if self.place.kind() == "dateTime" => {
                let moment = |text: &str| Timestamp::parse(text).expect("a moment");
                Some(moment(one).cmp(&moment(other)))
            }
            (Value::String(one), Value::String(other)) => {
                let other = self.key(other, true);
                let one = self.key(one, false).text;
                (!other.is_unmatchable).then(|| one.cmp(&other.text))
            }
            _ => None,
        }
    }

    /// How a text is compared.
    fn key(&self, text: &str, is_asked: bool) -> Key {
        let by_equality = ["eq", "ne"].contains(&self.operator);
        let key = match self.place.name().as_str() {
            // A part of a name may be an invalid name.
            "userName" if ["co", "sw", "ew"].contains(&self.operator) => username_fold(text),
            "userName" => username_lookup(text),
            "emails.value" if by_equality => email_key(text),
            "phoneNumbers.value" if is_asked && ["co", "sw", "ew"].contains(&self.operator) => {
                let part = phone_part(text);
                return Key { is_unmatchable: part.is_none(), text: part.unwrap_or_default() };
            }
            "phoneNumbers.value" => {
                let text = phone_key(text);
                return Key { is_unmatchable: is_asked && text.is_empty(), text };
            }
            _ if self.place.is_exact() => text.to_owned(),
            _ => fold_key(text),
        };
        Key { text: key, is_unmatchable: false }
    }
}

/// The key of a text.
struct Key {
    text: String,
    /// No value can match: a telephone number without a digit.
    is_unmatchable: bool,
}

impl Place {
    /// The values that are meant.
    pub(crate) fn found<'v>(&self, resource: &'v Value, here: &'v Value) -> Vec<&'v Value> {
        match self {
            Self::Whole(attribute) => {
                let values = attribute.values(resource).into_iter();
                let whole = |value: &'v Value| match value.as_object() {
                    Some(parts) if attribute.multi_valued => parts.get("value"),
                    Some(_) | None => Some(value),
                };
                values.filter_map(whole).collect()
            }
            Self::Part(attribute, part) => {
                attribute.values(resource).into_iter().map(|value| &value[&part.name]).collect()
            }
            Self::Here(_, part) => vec![&here[&part.name]],
            Self::Own(attribute, keys) => below(attribute.of(resource), keys),
        }
    }

    fn last(&self) -> &Attribute {
        match self {
            Self::Whole(attribute) if attribute.multi_valued => {
                attribute.part("value").unwrap_or(attribute)
            }
            Self::Whole(attribute) | Self::Own(attribute, _) => attribute,
            Self::Part(_, part) | Self::Here(_, part) => part,
        }
    }

    pub(crate) fn kind(&self) -> &str {
        &self.last().kind
    }

    fn is_exact(&self) -> bool {
        matches!(self, Self::Own(..)) || self.last().case_exact
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Whole(attribute) if attribute.multi_valued => format!("{}.value", attribute.name),
            Self::Whole(attribute) => attribute.name.clone(),
            Self::Part(attribute, part) | Self::Here(attribute, part) => {
                format!("{}.{}", attribute.name, part.name)
            }
            Self::Own(attribute, keys) => format!("{}.{}", attribute.name, keys.join(".")),
        }
    }
}

fn is_nothing(found: &Value) -> bool {
    match found {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The values below keys. An array counts as its elements.
fn below<'v>(found: &'v Value, keys: &[String]) -> Vec<&'v Value> {
    match (found, keys.split_first()) {
        (Value::Array(values), _) if !values.is_empty() => {
            values.iter().flat_map(|value| below(value, keys)).collect()
        }
        (Value::Object(members), Some((key, rest))) => below(of(members, key), rest),
        (Value::Array(_), _) | (_, Some(_)) => vec![&Value::Null],
        (value, None) => vec![value],
    }
}

fn of<'v>(members: &'v Map<String, Value>, key: &str) -> &'v Value {
    members.get(key).unwrap_or(&Value::Null)
}

/// Compares two numbers exactly.
fn numbers(one: &serde_json::Number, other: &serde_json::Number) -> Option<Ordering> {
    match (one.as_i64(), other.as_i64()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        (Some(whole), None) => mixed(whole, other.as_f64()?),
        (None, Some(whole)) => mixed(whole, one.as_f64()?).map(Ordering::reverse),
        (None, None) => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn mixed(whole: i64, number: f64) -> Option<Ordering> {
    // Beyond all whole numbers of 64 bits.
    if number.abs() > 1e19 {
        return Some(if number > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let trunk: i128 = format!("{:.0}", number.trunc()).parse().ok()?;
    let of_trunk = i128::from(whole).cmp(&trunk);
    Some(of_trunk.then_with(|| 0.0_f64.partial_cmp(&number.fract()).unwrap_or(Ordering::Equal)))
}
