//! Evaluates a filter on a user.
//!
//! A test is true if it is true for any value of its path. A path without a value has the single
//! value null, which equals only null, so `title ne "x"` matches a user without a title.

use std::{borrow::Cow, cmp::Ordering};

use super::{
    expression::{Compared, Comparison, Expression, GroupPart, Operand, Operator, Path, Test},
    number,
};
use crate::{
    attribute::{Attribute, Kind},
    group::GroupRef,
    id::UserId,
    json::Json,
    keys::username_lookup,
    part::Part,
    profile::{Entry, Scalar, Value},
    text::{email_key, fold_key, phone_key},
    timestamp::Timestamp,
    user::{Status, User},
};

/// Whether the user matches the expression. `of_groups` has the results of its tests of groups and
/// its conditions on groups.
pub(super) fn matches(
    expression: &Expression,
    user: &User,
    of_groups: &dyn Fn(&Expression) -> bool,
) -> bool {
    let test = |test: &Test| match test.path {
        Path::Groups | Path::Group(_) => of_groups(&Expression::Test(test.clone())),
        Path::Member(_) | Path::Part(..) | Path::Free(_) => of_user(test, user),
    };
    holds(expression, &test, &|list, inner| {
        let Some(list) = list.attribute() else {
            return of_groups(&Expression::Entry(list.clone(), Box::new(inner.clone())));
        };
        let mut entries = user.profile.entries(list).iter();
        let one = match user.profile.get(list) {
            Some(Value::One(entry)) => Some(entry),
            _ => None,
        };
        let matches = |entry: &Entry| holds(inner, &|test| of_entry(test, entry), &|_, _| false);
        entries.any(matches) || one.is_some_and(matches)
    })
}

/// Whether a test of groups, or a condition on groups, is true for this group.
pub(super) fn matches_group(term: &Expression, group: &GroupRef) -> bool {
    let test = |test: &Test| {
        let found = match test.path {
            Path::Group(GroupPart::Value) => Found::Text(group.id.to_string().into()),
            Path::Group(GroupPart::Display) => text(&group.display_name),
            Path::Groups | Path::Member(_) | Path::Part(..) | Path::Free(_) => Found::Something,
        };
        compares(test, &found)
    };
    holds(term, &test, &|_, inner| holds(inner, &test, &|_, _| false))
}

/// Whether a test of groups is true for a user who is in no group. A condition on groups is not.
pub(super) fn matches_no_group(term: &Expression) -> bool {
    matches!(term, Expression::Test(test) if compares(test, &Found::Null))
}

/// Evaluates the expression, given functions that evaluate its tests and its conditions on entries.
pub fn holds<P>(
    expression: &Expression<P>,
    test: &dyn Fn(&Test<P>) -> bool,
    entry: &dyn Fn(&P, &Expression<P>) -> bool,
) -> bool {
    match expression {
        Expression::And(all) => all.iter().all(|one| holds(one, test, entry)),
        Expression::Or(any) => any.iter().any(|one| holds(one, test, entry)),
        Expression::Not(inner) => !holds(inner, test, entry),
        Expression::Test(one) => test(one),
        Expression::Entry(list, inner) => entry(list, inner),
    }
}

/// A value to compare.
#[derive(Clone, Debug)]
pub enum Found<'v> {
    /// No value.
    Null,
    /// A text.
    Text(Cow<'v, str>),
    /// A time.
    Time(Timestamp),
    /// A whole number.
    Integer(i64),
    /// A boolean.
    Flag(bool),
    /// A status.
    Status(Status),
    /// A value of free JSON.
    Json(&'v Json),
    /// Any value, which is only tested for presence.
    Something,
}

fn of_user(test: &Test, user: &User) -> bool {
    let profile = &user.profile;
    let one = |found: Option<Found<'_>>| compares(test, &found.unwrap_or(Found::Null));
    match &test.path {
        Path::Part(attribute, part) => match profile.get(*attribute) {
            Some(Value::One(entry)) => one(found_part(entry, *part)),
            _ => any(test, profile.entries(*attribute).iter().map(|e| found_part(e, *part))),
        },
        // The caller evaluates tests of groups, because the record does not contain them.
        Path::Groups | Path::Group(_) => false,
        Path::Free(keys) => match profile.get(Attribute::Attributes) {
            Some(Value::Object(members)) => of_free(test, members, keys),
            _ => one(None),
        },
        Path::Member(attribute) => match attribute.kind() {
            Kind::ServerMade => one(Some(server_made(*attribute, user))),
            Kind::Status => one(Some(Found::Status(user.status))),
            Kind::ShortForm { list, .. } => one(profile.primary_value(list).map(text)),
            Kind::Text(_) | Kind::Flag { .. } | Kind::One(_) | Kind::Many(_) | Kind::Object => {
                one(profile.get(*attribute).map(|value| match value {
                    Value::Text(value) => text(value),
                    Value::Flag(flag) => Found::Flag(*flag),
                    Value::One(_) | Value::Many(_) | Value::Object(_) => Found::Something,
                }))
            }
        },
    }
}

fn server_made(attribute: Attribute, user: &User) -> Found<'static> {
    if attribute == Attribute::Id {
        Found::Text(user.id.to_string().into())
    } else if attribute == Attribute::Version {
        Found::Integer(user.version)
    } else if attribute == Attribute::CreatedAt {
        Found::Time(user.id.created_at())
    } else {
        Found::Time(user.updated_at)
    }
}

fn of_entry(test: &Test, entry: &Entry) -> bool {
    let Path::Part(_, part) = test.path else { return false };
    compares(test, &found_part(entry, part).unwrap_or(Found::Null))
}

fn found_part(entry: &Entry, wanted: Part) -> Option<Found<'_>> {
    entry.parts().iter().find(|(part, _)| *part == wanted).map(|(_, scalar)| match scalar {
        Scalar::Text(value) => text(value),
        Scalar::Flag(flag) => Found::Flag(*flag),
    })
}

/// Whether the test is true for any of the values, or for null if there are none.
fn any<'v>(test: &Test, values: impl Iterator<Item = Option<Found<'v>>>) -> bool {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return compares(test, &Found::Null);
    }
    values.any(|found| compares(test, &found.unwrap_or(Found::Null)))
}

/// Evaluates a test on values below `attributes`: for an array on its elements, at every depth.
fn of_free(test: &Test, members: &[(String, Json)], keys: &[String]) -> bool {
    let Some((key, keys)) = keys.split_first() else { return false };
    match members.iter().find(|(name, _)| name == key) {
        Some((_, value)) => of_json(test, value, keys),
        None => compares(test, &Found::Null),
    }
}

fn of_json(test: &Test, value: &Json, keys: &[String]) -> bool {
    match value {
        Json::Array(items) if !items.is_empty() => {
            items.iter().any(|item| of_json(test, item, keys))
        }
        Json::Object(members) if !keys.is_empty() => of_free(test, members, keys),
        Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) | Json::Object(_)
            if keys.is_empty() =>
        {
            compares(test, &Found::Json(value))
        }
        // No value, or a scalar where the path has further keys.
        Json::Null
        | Json::Array(_)
        | Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::Text(_)
        | Json::Object(_) => compares(test, &Found::Null),
    }
}

fn text(value: &str) -> Found<'_> {
    Found::Text(Cow::Borrowed(value))
}

/// Whether the test is true for a value.
pub fn compares<P: Compared>(test: &Test<P>, found: &Found<'_>) -> bool {
    let is_null = matches!(found, Found::Null);
    match test.operator {
        Operator::Present => !is_null,
        Operator::Equal => equals(test, found),
        Operator::NotEqual => !equals(test, found),
        Operator::Contains => with_texts(test, found, |value, key| value.contains(key)),
        Operator::StartsWith => with_texts(test, found, |value, key| value.starts_with(key)),
        Operator::EndsWith => with_texts(test, found, |value, key| value.ends_with(key)),
        Operator::Greater => order(test, found) == Some(Ordering::Greater),
        Operator::GreaterOrEqual => order(test, found).is_some_and(Ordering::is_ge),
        Operator::Less => order(test, found) == Some(Ordering::Less),
        Operator::LessOrEqual => order(test, found).is_some_and(Ordering::is_le),
    }
}

fn equals<P: Compared>(test: &Test<P>, found: &Found<'_>) -> bool {
    match (found, &test.operand) {
        (Found::Null, operand) => *operand == Operand::Null,
        (Found::Flag(flag) | Found::Json(Json::Bool(flag)), Operand::Flag(wanted)) => {
            flag == wanted
        }
        (Found::Status(status), Operand::Status(wanted)) => status == wanted,
        (Found::Text(id), Operand::Ids(ids)) => {
            UserId::parse(id).is_some_and(|id| ids.contains(&id))
        }
        _ => order(test, found) == Some(Ordering::Equal),
    }
}

/// Compares the value with the operand; `None` if they are not comparable.
fn order<P: Compared>(test: &Test<P>, found: &Found<'_>) -> Option<Ordering> {
    match (found, &test.operand) {
        (Found::Time(time), Operand::Time(wanted)) => Some(time.cmp(wanted)),
        (Found::Integer(number), Operand::Integer(wanted)) => Some(number.cmp(wanted)),
        (Found::Json(value), Operand::Integer(wanted)) => {
            number::compare(value, &Json::Int(*wanted))
        }
        (Found::Json(value), Operand::Number(wanted)) => {
            number::compare(value, &Json::Float(*wanted))
        }
        (Found::Text(_) | Found::Json(Json::Text(_)), Operand::Text { key: Some(key), .. }) => {
            form(test, found).map(|value| value.as_ref().cmp(key.as_str()))
        }
        _ => None,
    }
}

fn with_texts<P: Compared>(
    test: &Test<P>,
    found: &Found<'_>,
    holds: impl Fn(&str, &str) -> bool,
) -> bool {
    let Operand::Text { key: Some(key), .. } = &test.operand else { return false };
    form(test, found).is_some_and(|value| holds(&value, key))
}

/// The normalized form of a text that the path compares.
fn form<'v, P: Compared>(test: &Test<P>, found: &'v Found<'_>) -> Option<Cow<'v, str>> {
    let value: &str = if let Found::Text(value) = found {
        value
    } else if let Found::Json(Json::Text(value)) = found {
        value
    } else {
        return None;
    };
    let equality = matches!(test.operator, Operator::Equal | Operator::NotEqual);
    Some(match test.path.comparison() {
        Comparison::Exact | Comparison::Json => Cow::Borrowed(value),
        Comparison::Username => username_lookup(value).into(),
        Comparison::Email if equality => email_key(value).into(),
        Comparison::PhoneNumber => phone_key(value).into(),
        Comparison::Email
        | Comparison::Folded
        | Comparison::Time
        | Comparison::Integer
        | Comparison::Flag
        | Comparison::Status
        | Comparison::Presence => folded(value),
    })
}

/// The case-folded text, without a copy if it does not change.
fn folded(value: &str) -> Cow<'_, str> {
    if value.is_ascii() && !value.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Borrowed(value)
    } else {
        fold_key(value).into()
    }
}
