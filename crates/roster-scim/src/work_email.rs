//! A primary e-mail address without a type is a work address in SCIM.
//!
//! Identity providers look users up by `emails[type eq "work"].value` and change the address by the
//! same path. A user that was created by the REST interface often has one address without a type.
//! SCIM returns it with the type `work`, and filters and patches treat it the same way. The record
//! stores no type while the address stays the same.

use std::{borrow::Cow, collections::HashSet};

use roster_core::{
    Attribute, Json, Part, User,
    filter::{Expression, Operand, Operator, Path, Test, compares},
    json::{self, write_json},
    text::nfc,
};

/// The type in SCIM of a primary entry that has none.
pub(crate) const WORK: &str = "work";
const TYPE: Path = Path::Part(Attribute::Emails, Part::Type);

/// Rewrites the tests of `emails.type` in an expression.
pub(crate) fn adapt(expression: Expression) -> Expression {
    in_place(expression, false)
}

fn in_place(expression: Expression, in_entry: bool) -> Expression {
    let all = |links: Vec<Expression>, link: fn(Expression, Expression) -> Expression| {
        links.into_iter().map(|one| in_place(one, in_entry)).reduce(link)
    };
    match expression {
        Expression::And(links) => all(links, Expression::and).unwrap_or_else(Expression::always),
        Expression::Or(links) => all(links, Expression::or).unwrap_or_else(Expression::never),
        Expression::Not(inner) => Expression::Not(Box::new(in_place(*inner, in_entry))),
        Expression::Entry(list, inner) => {
            let is_emails = list == Path::Member(Attribute::Emails);
            Expression::Entry(list, Box::new(in_place(*inner, is_emails)))
        }
        Expression::Test(test) if test.path == TYPE => {
            let of_entry = of_entry(&test);
            if in_entry {
                return of_entry;
            }
            let emails = || Path::Member(Attribute::Emails);
            let has_none = Expression::Not(Box::new(present(emails())));
            // A test of a list is true if it is true for some entry, or for the absent value of a
            // user without entries.
            Expression::Entry(emails(), Box::new(of_entry)).or(Expression::Test(test).and(has_none))
        }
        test @ Expression::Test(_) => test,
    }
}

/// The test of one entry's type. A primary entry without a type has the type `work`.
fn of_entry(test: &Test) -> Expression {
    let is_primary = Expression::Test(Test {
        path: Path::Part(Attribute::Emails, Part::Primary),
        operator: Operator::Equal,
        operand: Operand::Flag(true),
    });
    let is_assumed = Expression::Not(Box::new(present(TYPE))).and(is_primary);
    let holds = compares(test, &roster_core::filter::Found::Text(WORK.into()));
    let test = Expression::Test(test.clone());
    if holds { test.or(is_assumed) } else { test.and(Expression::Not(Box::new(is_assumed))) }
}

fn present(path: Path) -> Expression {
    Expression::Test(Test { path, operator: Operator::Present, operand: Operand::None })
}

/// The record's `emails` as JSON text, with a type for a primary entry that has none.
pub(crate) fn with_types(text: &str) -> Option<Cow<'_, str>> {
    // Quotes without a backslash are only around names and values, so neither text occurs inside a
    // value.
    const PRIMARY: &str = "\"primary\":true";
    let has_types = text.contains("\"type\":");
    if !text.contains(PRIMARY) || (has_types && !text.contains("},{")) {
        return Some(Cow::Borrowed(text));
    }
    if !has_types {
        let typed = format!("\"type\":\"{WORK}\",{PRIMARY}");
        return Some(Cow::Owned(text.replacen(PRIMARY, &typed, 1)));
    }
    let mut entries = json::read(text.as_bytes()).ok()?;
    add_type(&mut entries);
    let mut typed = Vec::with_capacity(text.len() + 16);
    write_json(&mut typed, &entries);
    String::from_utf8(typed).ok().map(Cow::Owned)
}

/// Gives a primary address without a type the type that responses have, and returns the address.
/// It stays without one if it is there as a work address too, because no response has two entries
/// of one value and type.
pub(crate) fn add_type(emails: &mut Json) -> Option<String> {
    let Json::Array(entries) = emails else { return None };
    let assumed = entries.iter().position(|entry| {
        entry.member("type").is_none() && entry.member("primary") == Some(&Json::Bool(true))
    })?;
    let value = entries.get(assumed)?.member("value").cloned();
    let is_work = |entry: &Json| match entry.member("type") {
        Some(Json::Text(of)) => of.eq_ignore_ascii_case(WORK),
        _ => false,
    };
    if entries.iter().any(|entry| entry.member("value") == value.as_ref() && is_work(entry)) {
        return None;
    }
    if let Some(Json::Object(members)) = entries.get_mut(assumed) {
        let at = members.len().min(1);
        members.insert(at, ("type".to_owned(), Json::Text(WORK.to_owned())));
    }
    if let Some(Json::Text(value)) = value { Some(value) } else { None }
}

/// Removes the type of a primary address of a body, if the user has this address without a type, so
/// that responses contain the type only by [`with_types`].
pub(crate) fn without_types(emails: &mut Json, user: &User) {
    let stored = user.profile.entries(Attribute::Emails).iter();
    let untyped = stored.filter(|stored| stored.is_primary() && stored.text(Part::Type).is_none());
    let untyped: HashSet<&str> = untyped.filter_map(|stored| stored.text(Part::Value)).collect();
    remove_type(emails, |value| untyped.contains(&*nfc(value.to_owned())));
}

/// Removes the type of a primary work address if it was stored without one.
pub(crate) fn remove_type(emails: &mut Json, is_untyped: impl Fn(&str) -> bool) {
    let Json::Array(entries) = emails else { return };
    for entry in entries {
        let is_untyped =
            matches!(entry.member("value"), Some(Json::Text(value)) if is_untyped(value));
        if is_untyped
            && entry.member("primary") == Some(&Json::Bool(true))
            && entry.member("type") == Some(&Json::Text(WORK.to_owned()))
            && let Json::Object(members) = entry
        {
            members.retain(|(name, _)| name != "type");
        }
    }
}

#[cfg(test)]
mod tests {
    use roster_core::filter::Filter;

    use super::*;

    #[test]
    fn a_primary_entry_without_a_type_is_shown_as_work() {
        for (stored, expected) in [
            (
                r#"[{"value":"a","primary":true}]"#,
                r#"[{"value":"a","type":"work","primary":true}]"#,
            ),
            (r#"[{"value":"a"}]"#, r#"[{"value":"a"}]"#),
            (
                r#"[{"value":"a","type":"home","primary":true}]"#,
                r#"[{"value":"a","type":"home","primary":true}]"#,
            ),
            (
                r#"[{"value":"a","primary":true},{"value":"b","type":"home"}]"#,
                r#"[{"value":"a","type":"work","primary":true},{"value":"b","type":"home"}]"#,
            ),
            (
                r#"[{"value":"a","type":"Work"},{"value":"a","primary":true}]"#,
                r#"[{"value":"a","type":"Work"},{"value":"a","primary":true}]"#,
            ),
            (
                r#"[{"value":"a","primary":true,"display":"},{\"type\":"}]"#,
                r#"[{"value":"a","type":"work","primary":true,"display":"},{\"type\":"}]"#,
            ),
        ] {
            assert_eq!(with_types(stored).as_deref(), Some(expected), "{stored}");
        }
    }

    #[test]
    fn a_test_of_the_type_covers_the_assumed_one() {
        let adapted = |text: &str| adapt(Filter::parse(text).expect(text).expression().clone());
        let meant = |text: &str| Filter::parse(text).expect(text).expression().clone();
        let assumed = "(not (type pr) and primary eq true)";
        assert_eq!(
            adapted(r#"emails[type eq "WORK" and value eq "a@b.example"]"#),
            meant(&format!(r#"emails[(type eq "WORK" or {assumed}) and value eq "a@b.example"]"#))
        );
        assert_eq!(
            adapted(r#"emails[type eq "home"]"#),
            meant(&format!(r#"emails[type eq "home" and not {assumed}]"#))
        );
        assert_eq!(adapted(r#"ims[type eq "work"]"#), meant(r#"ims[type eq "work"]"#));
    }
}
