//! Compares a JSON value with the part of it that a row expects.
//!
//! An object may have further members. `null` is an absent member. An array has exactly the given
//! elements, in order; after a first element `"..."` it contains at least the given ones. A text
//! `"..."` is any value, and `"...x..."` is a text that contains `x`.

use serde_json::Value;

const ANY: &str = "...";

/// The first difference, with its place.
pub(crate) fn difference(expected: &Value, found: Option<&Value>, at: &str) -> Option<String> {
    let shown = || found.map_or("nothing".to_owned(), Value::to_string);
    let differs = || Some(format!("{at}: expected {expected}, not {}", shown()));
    match (expected, found) {
        (Value::Null, None | Some(Value::Null)) => None,
        (Value::String(any), Some(_)) if any == ANY => None,
        (Value::String(text), Some(Value::String(found))) => {
            let part = text.strip_prefix(ANY).and_then(|rest| rest.strip_suffix(ANY));
            let holds = part.map_or(text == found, |part| found.contains(part));
            if holds { None } else { differs() }
        }
        (Value::Object(members), Some(Value::Object(found))) => members
            .iter()
            .find_map(|(name, value)| difference(value, found.get(name), &format!("{at}/{name}"))),
        (Value::Array(items), Some(Value::Array(found))) => match items.split_first() {
            Some((first, some)) if first == ANY => {
                let is_in = |item: &Value| {
                    found.iter().any(|found| difference(item, Some(found), at).is_none())
                };
                if some.iter().all(is_in) { None } else { differs() }
            }
            _ if items.len() != found.len() => differs(),
            _ => items.iter().zip(found).enumerate().find_map(|(index, (item, found))| {
                difference(item, Some(found), &format!("{at}/{index}"))
            }),
        },
        (expected, Some(found)) if expected == found => None,
        _ => differs(),
    }
}
