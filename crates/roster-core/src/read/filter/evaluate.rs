//! Evaluates a filter on a user.
//!
//! A test is true if it is true for any value of its path. A path without a value has the single
//! value null, which equals only null, so `title ne "x"` matches a user without a title.
//!
//! Many tests may compare one text, so its normalized form is computed once for each record.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    cmp::Ordering,
    collections::HashMap,
    thread,
};

use super::{
    expression::{Compared, Comparison, Expression, GroupPart, Operand, Operator, Path, Test},
    number,
};
use crate::{
    group::GroupRef,
    id::UserId,
    json::Json,
    text::{email_key, fold_key, phone_key, username_fold},
    timestamp::Timestamp,
    user::{
        Status, User,
        attribute::{Attribute, Kind},
        keys::username_lookup,
        part::Part,
        profile::{Entry, Scalar, Value},
    },
    work::{BYTES_PER_COMPARISON, COMPARISONS_PER_PAUSE, Work},
};

/// Normalizing a byte of a text that is not ASCII takes as long as this many comparisons.
pub(super) const FORM_COMPARISONS_PER_BYTE: usize = 2;

/// What is kept while one record is evaluated: the number of comparisons, and the normalized texts.
#[derive(Debug, Default)]
pub(super) struct Notes {
    comparisons: Cell<usize>,
    /// The number of comparisons after which the thread pauses; `None` if it never does.
    pause_at: Option<Cell<usize>>,
    /// The normalized texts by the address of the text, and whether they are compared for equality
    /// or by a part.
    forms: RefCell<HashMap<(usize, bool, bool), String>>,
}

impl Notes {
    /// Notes of one record that is evaluated as a part of this work.
    pub(super) fn of(work: &Work) -> Self {
        let pause_at = work.pauses().then(|| Cell::new(COMPARISONS_PER_PAUSE));
        Self { pause_at, ..Self::default() }
    }

    /// Counts comparisons.
    pub(super) fn count(&self, comparisons: usize) {
        let all = self.comparisons.get().saturating_add(comparisons);
        self.comparisons.set(all);
        if let Some(pause_at) = self.pause_at.as_ref().filter(|pause_at| all >= pause_at.get()) {
            pause_at.set(all.saturating_add(COMPARISONS_PER_PAUSE));
            thread::yield_now();
        }
    }

    /// The number of comparisons.
    pub(super) const fn comparisons(&self) -> usize {
        self.comparisons.get()
    }
}

/// Whether the user matches the expression. `of_groups` has the results of its tests of groups and
/// its conditions on groups.
pub(super) fn matches(
    expression: &Expression,
    user: &User,
    notes: &Notes,
    of_groups: &dyn Fn(&Expression) -> bool,
) -> bool {
    let test = |test: &Test| match test.path {
        Path::Groups | Path::Group(_) => of_groups(&Expression::Test(test.clone())),
        Path::Member(_) | Path::Part(..) | Path::Free(_) => of_user(test, user, notes),
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
        let matches =
            |entry: &Entry| holds(inner, &|test| of_entry(test, entry, notes), &|_, _| false);
        entries.any(matches) || one.is_some_and(matches)
    })
}

/// Whether a test of groups, or a condition on groups, is true for this group.
pub(super) fn matches_group(term: &Expression, group: &GroupRef, notes: &Notes) -> bool {
    let test = |test: &Test| {
        let found = match test.path {
            Path::Group(GroupPart::Value) => Found::Text(group.id.to_string().into()),
            Path::Group(GroupPart::Display) => text(&group.display_name),
            Path::Groups | Path::Member(_) | Path::Part(..) | Path::Free(_) => Found::Something,
        };
        compares_noted(test, &found, notes)
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

fn of_user(test: &Test, user: &User, notes: &Notes) -> bool {
    let profile = &user.profile;
    let one = |found: Option<Found<'_>>| compares_noted(test, &found.unwrap_or(Found::Null), notes);
    match &test.path {
        Path::Part(attribute, part) => {
            if let Some(Value::One(entry)) = profile.get(*attribute) {
                return one(found_part(test, entry, *part));
            }
            let entries = profile.entries(*attribute).iter();
            any(test, entries.map(|entry| found_part(test, entry, *part)), notes)
        }
        // The caller evaluates tests of groups, because the record does not contain them.
        Path::Groups | Path::Group(_) => false,
        Path::Free(path) => match profile.get(Attribute::Attributes) {
            Some(Value::Object(members)) => of_free(test, members, &path.keys, notes),
            _ => one(None),
        },
        Path::Member(attribute) => match attribute.kind() {
            Kind::ServerMade => one(Some(server_made(*attribute, user))),
            Kind::Status => one(Some(Found::Status(user.status))),
            Kind::ShortForm { list, .. } => one(profile.primary_value(list).map(text)),
            Kind::Mark
            | Kind::Text(_)
            | Kind::Flag { .. }
            | Kind::One(_)
            | Kind::Many(_)
            | Kind::Object => one(profile.get(*attribute).map(|value| match value {
                Value::Text(value) => text(value),
                Value::Flag(flag) => Found::Flag(*flag),
                Value::One(_) | Value::Many(_) | Value::Object(_) => Found::Something,
            })),
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

fn of_entry(test: &Test, entry: &Entry, notes: &Notes) -> bool {
    let Path::Part(_, part) = test.path else { return false };
    compares_noted(test, &found_part(test, entry, part).unwrap_or(Found::Null), notes)
}

fn found_part<'e>(test: &Test, entry: &'e Entry, wanted: Part) -> Option<Found<'e>> {
    let found = entry.parts().iter().find(|(part, _)| *part == wanted);
    match found.map(|(_, scalar)| scalar) {
        Some(Scalar::Text(value)) => Some(text(value)),
        Some(Scalar::Flag(flag)) => Some(Found::Flag(*flag)),
        // An absent `primary` is false (RFC 7643 section 2.4).
        None if wanted == Part::Primary && matches!(test.operand, Operand::Flag(_)) => {
            Some(Found::Flag(false))
        }
        None => None,
    }
}

/// Whether the test is true for any of the values, or for null if there are none.
fn any<'v>(test: &Test, values: impl Iterator<Item = Option<Found<'v>>>, notes: &Notes) -> bool {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return compares_noted(test, &Found::Null, notes);
    }
    values.any(|found| compares_noted(test, &found.unwrap_or(Found::Null), notes))
}

/// Evaluates a test on values below `attributes`: for an array on its elements, at every depth.
fn of_free(test: &Test, members: &[(String, Json)], keys: &[String], notes: &Notes) -> bool {
    let Some((key, keys)) = keys.split_first() else { return false };
    notes.count(members.len() / 8);
    match members.iter().find(|(name, _)| name == key) {
        Some((_, value)) => of_json(test, value, keys, notes),
        None => compares_noted(test, &Found::Null, notes),
    }
}

fn of_json(test: &Test, value: &Json, keys: &[String], notes: &Notes) -> bool {
    match value {
        Json::Array(items) if !items.is_empty() => {
            items.iter().any(|item| of_json(test, item, keys, notes))
        }
        Json::Object(members) if !keys.is_empty() => of_free(test, members, keys, notes),
        Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) | Json::Object(_)
            if keys.is_empty() =>
        {
            compares_noted(test, &Found::Json(value), notes)
        }
        // No value, or a scalar where the path has further keys.
        Json::Null
        | Json::Array(_)
        | Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::Text(_)
        | Json::Object(_) => compares_noted(test, &Found::Null, notes),
    }
}

fn text(value: &str) -> Found<'_> {
    Found::Text(Cow::Borrowed(value))
}

/// Whether the test is true for a value.
pub fn compares<P: Compared>(test: &Test<P>, found: &Found<'_>) -> bool {
    compares_with(test, found, None)
}

/// Whether the test is true for a value of the record that is evaluated. Counts the comparison.
fn compares_noted<P: Compared>(test: &Test<P>, found: &Found<'_>, notes: &Notes) -> bool {
    let bytes = text_of(found).map_or(0, str::len);
    notes.count(1 + bytes / BYTES_PER_COMPARISON);
    compares_with(test, found, Some(notes))
}

fn compares_with<P: Compared>(test: &Test<P>, found: &Found<'_>, notes: Option<&Notes>) -> bool {
    let with_texts = |holds: fn(&str, &str) -> bool| with_texts(test, found, notes, holds);
    let order = || order(test, found, notes);
    let is_null = matches!(found, Found::Null);
    match test.operator {
        Operator::Present => !is_null,
        Operator::Equal => equals(test, found, notes),
        Operator::NotEqual => !equals(test, found, notes),
        Operator::Contains => with_texts(|value, key| value.contains(key)),
        Operator::StartsWith => with_texts(|value, key| value.starts_with(key)),
        Operator::EndsWith => with_texts(|value, key| value.ends_with(key)),
        Operator::Greater => order() == Some(Ordering::Greater),
        Operator::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
        Operator::Less => order() == Some(Ordering::Less),
        Operator::LessOrEqual => order().is_some_and(Ordering::is_le),
    }
}

fn equals<P: Compared>(test: &Test<P>, found: &Found<'_>, notes: Option<&Notes>) -> bool {
    match (found, &test.operand) {
        (Found::Null, operand) => *operand == Operand::Null,
        (Found::Flag(flag) | Found::Json(Json::Bool(flag)), Operand::Flag(wanted)) => {
            flag == wanted
        }
        (Found::Status(status), Operand::Status(wanted)) => status == wanted,
        (Found::Text(id), Operand::Ids(ids)) => {
            UserId::parse(id).is_some_and(|id| ids.contains(&id))
        }
        _ => order(test, found, notes) == Some(Ordering::Equal),
    }
}

/// Compares the value with the operand; `None` if they are not comparable.
fn order<P: Compared>(
    test: &Test<P>,
    found: &Found<'_>,
    notes: Option<&Notes>,
) -> Option<Ordering> {
    match (found, &test.operand) {
        (Found::Time(time), Operand::Time(wanted)) => Some(time.cmp(wanted)),
        (Found::Json(Json::Text(_)) | Found::Text(_), Operand::Time(wanted)) => {
            Timestamp::parse(text_of(found)?).map(|time| time.cmp(wanted))
        }
        (Found::Integer(number), Operand::Integer(wanted)) => Some(number.cmp(wanted)),
        (Found::Integer(number), Operand::Number(wanted)) => {
            number::compare(&Json::Int(*number), &Json::Float(*wanted))
        }
        (Found::Json(value), Operand::Integer(wanted)) => {
            number::compare(value, &Json::Int(*wanted))
        }
        (Found::Json(value), Operand::Number(wanted)) => {
            number::compare(value, &Json::Float(*wanted))
        }
        (Found::Text(_) | Found::Json(Json::Text(_)), Operand::Text { key: Some(key), .. }) => {
            with_form(test, found, notes, |value| value.cmp(key.as_str()))
        }
        _ => None,
    }
}

fn with_texts<P: Compared>(
    test: &Test<P>,
    found: &Found<'_>,
    notes: Option<&Notes>,
    holds: impl Fn(&str, &str) -> bool,
) -> bool {
    let Operand::Text { key: Some(key), .. } = &test.operand else { return false };
    with_form(test, found, notes, |value| holds(value, key)).unwrap_or(false)
}

/// The text of a value, if it is one.
fn text_of<'v>(found: &'v Found<'_>) -> Option<&'v str> {
    if let Found::Text(value) = found {
        Some(value)
    } else if let Found::Json(Json::Text(value)) = found {
        Some(value)
    } else {
        None
    }
}

/// Calls a function with the normalized form of a text, which is computed once for each record.
fn with_form<P: Compared, T>(
    test: &Test<P>,
    found: &Found<'_>,
    notes: Option<&Notes>,
    compare: impl FnOnce(&str) -> T,
) -> Option<T> {
    let value = text_of(found)?;
    let (comparison, operator) = (test.path.comparison(), test.operator);
    // Only a text of the record keeps its address.
    let is_of_record = matches!(found, Found::Text(Cow::Borrowed(_)) | Found::Json(_));
    let is_of_record = is_of_record && !value.is_empty();
    let Some(notes) = notes.filter(|_| is_of_record && !is_plain(comparison, value)) else {
        return Some(compare(&form(comparison, operator, value)));
    };
    let place = (value.as_ptr().addr(), operator.is_equality(), operator.is_by_part());
    if let Some(form) = notes.forms.borrow().get(&place) {
        return Some(compare(form));
    }
    if !value.is_ascii() {
        notes.count(value.len() * FORM_COMPARISONS_PER_BYTE);
    }
    let form = form(comparison, operator, value).into_owned();
    let result = compare(&form);
    notes.forms.borrow_mut().insert(place, form);
    Some(result)
}

/// The normalized form of a text in a comparison.
fn form(comparison: Comparison, operator: Operator, value: &str) -> Cow<'_, str> {
    match comparison {
        Comparison::Exact | Comparison::Json | Comparison::TimeJson => Cow::Borrowed(value),
        // The index has the keys, of which some end with a mark.
        Comparison::Username if operator.is_by_part() => username_fold(value).into(),
        Comparison::Username => username_lookup(value).into(),
        Comparison::Email if operator.is_equality() => email_key(value).into(),
        Comparison::PhoneNumber => phone_key(value).into(),
        Comparison::Email
        | Comparison::Folded
        | Comparison::FoldedJson
        | Comparison::Time
        | Comparison::Integer
        | Comparison::Flag
        | Comparison::Status
        | Comparison::Presence => folded(value),
    }
}

/// The case-folded text, without a copy if it does not change.
fn folded(value: &str) -> Cow<'_, str> {
    if is_folded(value) { Cow::Borrowed(value) } else { fold_key(value).into() }
}

fn is_folded(value: &str) -> bool {
    value.is_ascii() && !value.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Whether a text is its own form, which takes less time to see than to look the form up.
fn is_plain(comparison: Comparison, value: &str) -> bool {
    match comparison {
        Comparison::Exact | Comparison::Json | Comparison::TimeJson => true,
        Comparison::Folded | Comparison::FoldedJson => is_folded(value),
        Comparison::Username
        | Comparison::Email
        | Comparison::PhoneNumber
        | Comparison::Time
        | Comparison::Integer
        | Comparison::Flag
        | Comparison::Status
        | Comparison::Presence => false,
    }
}
