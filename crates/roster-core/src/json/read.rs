//! The strict JSON parser.
//!
//! serde_json parses; this visitor adds what it does not check: duplicate members at any depth (RFC
//! 8259 section 4), our limits of depth and of values, and integers that do not fit 64 bits, if
//! they would lose digits as floating-point numbers (RFC 7493 section 2.2).

use std::{cell::Cell, collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Json;
use crate::limits::{JSON_DEPTH_MAX, JSON_VALUES_MAX};

/// Why a text is not accepted as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFault {
    /// One sentence for people, with line and column. It contains no value of the text.
    pub detail: String,
}

/// The detail for an integer that would lose digits.
const HUGE_INTEGER: &str =
    "a whole number does not fit 64 bits; below attributes it can be a string";

/// Parses a text that is exactly one JSON value.
pub fn read(text: &[u8]) -> Result<Json, JsonFault> {
    if text.starts_with(b"\xef\xbb\xbf") {
        return Err(JsonFault { detail: "remove the byte order mark at the start".to_owned() });
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    let values = Cell::new(0);
    let tree = Tree { depth: 0, values: &values }
        .deserialize(&mut reader)
        .and_then(|json| reader.end().map(|()| json))
        .map_err(|fault| JsonFault { detail: fault.to_string() })?;
    if has_huge_float(&tree) && has_huge_integer(text) {
        return Err(JsonFault { detail: HUGE_INTEGER.to_owned() });
    }
    Ok(tree)
}

/// Whether the tree has a number that may have been an integer of more than 64 bits.
fn has_huge_float(tree: &Json) -> bool {
    match tree {
        Json::Float(number) => number.fract() == 0.0 && number.abs() >= 9.0e18,
        Json::Array(items) => items.iter().any(has_huge_float),
        Json::Object(members) => members.iter().any(|(_, value)| has_huge_float(value)),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Text(_) => false,
    }
}

/// The floating-point number that JavaScript writes with exactly these digits, as it does below
/// 1e21.
fn float_of(digits: &str) -> Option<f64> {
    let is_so_written = |number: &f64| number.abs() < 1e21 && number.to_string() == digits;
    digits.parse().ok().filter(is_so_written)
}

/// Whether the (valid) text has an integer of 19 or more digits that is neither an `i64` nor the
/// text of a floating-point number.
fn has_huge_integer(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first == b'"' {
            rest = after_string(tail);
        } else if *first == b'-' || first.is_ascii_digit() {
            let in_number =
                |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
            let end = tail.iter().position(|b| !in_number(b)).unwrap_or(tail.len());
            let (digits, after) = tail.split_at(end);
            rest = after;
            let whole = digits.iter().all(u8::is_ascii_digit);
            let literal = std::iter::once(*first).chain(digits.iter().copied()).collect::<Vec<_>>();
            let fits = std::str::from_utf8(&literal)
                .is_ok_and(|text| text.parse::<i64>().is_ok() || float_of(text).is_some());
            if whole && !fits {
                return true;
            }
        }
    }
    false
}

/// The text after a string; `text` starts after its opening quote.
fn after_string(text: &[u8]) -> &[u8] {
    let mut escaped = false;
    for (index, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return text.get(index + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    &[]
}

#[derive(Clone, Copy)]
struct Tree<'c> {
    depth: usize,
    /// The number of values and of names so far.
    values: &'c Cell<usize>,
}

impl Tree<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth >= JSON_DEPTH_MAX {
            return Err(E::custom(format_args!("nested deeper than {JSON_DEPTH_MAX} levels")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn count<E: Error>(self) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > JSON_VALUES_MAX {
            let detail = format_args!("more than {JSON_VALUES_MAX} values and names");
            return Err(E::custom(detail));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        let whole = i64::try_from(value).map(Json::Int).ok();
        whole
            .or_else(|| float_of(&value.to_string()).map(Json::Float))
            .ok_or_else(|| E::custom(HUGE_INTEGER))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let inner = self.deeper()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let inner = self.deeper()?;
        let mut object: Vec<(String, Json)> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            self.count()?;
            // A scan is fastest for few members; the set avoids quadratic time for many.
            let is_duplicate = if object.len() < 16 {
                object.iter().any(|(found, _)| *found == name)
            } else {
                if names.is_empty() {
                    names.extend(object.iter().map(|(found, _)| found.clone()));
                }
                !names.insert(name.clone())
            };
            if is_duplicate {
                return Err(A::Error::custom("an object has the same member twice"));
            }
            object.push((name, members.next_value_seed(inner)?));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(text: &str) -> String {
        read(text.as_bytes()).expect_err(text).detail
    }

    #[test]
    fn values_of_every_kind_are_parsed() {
        let tree = read(br#"{"a":[null,true,-1,1.5,"\u00e9"],"b":{}}"#).expect("valid");
        let array = vec![
            Json::Null,
            Json::Bool(true),
            Json::Int(-1),
            Json::Float(1.5),
            Json::Text("\u{e9}".to_owned()),
        ];
        assert_eq!(tree.member("a"), Some(&Json::Array(array)));
        assert_eq!(tree.member("b"), Some(&Json::Object(vec![])));
    }

    #[test]
    fn the_number_of_values_is_limited() {
        let values = |count: usize| format!("[{}]", vec!["0"; count].join(","));
        assert!(read(values(JSON_VALUES_MAX - 1).as_bytes()).is_ok());
        assert!(detail(&values(JSON_VALUES_MAX)).contains("100000 values"));
        let members = |count: usize| {
            let members: Vec<String> = (0..count).map(|n| format!("\"{n}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(read(members(JSON_VALUES_MAX / 2 - 1).as_bytes()).is_ok());
        assert!(detail(&members(JSON_VALUES_MAX / 2)).contains("100000 values"));
    }

    #[test]
    fn a_duplicate_member_is_rejected_at_any_depth_and_count() {
        assert!(detail(r#"{"a":1,"b":2,"a":3}"#).contains("twice"));
        assert!(detail(r#"[{"x":{"a":1,"\u0061":3}}]"#).contains("twice"));
        let many: Vec<String> = (0..40).map(|n| format!("\"m{n}\":0")).collect();
        assert!(read(format!("{{{}}}", many.join(",")).as_bytes()).is_ok());
        assert!(detail(&format!("{{{},\"m33\":0}}", many.join(","))).contains("twice"));
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in [
            "",
            " ",
            "{",
            "{}{}",
            "{} x",
            "[1,]",
            "{\"a\":NaN}",
            "[Infinity]",
            "[1e999]",
            "[01]",
            "\u{feff}{}",
            "[\"\\ud800\"]",
            "['a']",
            "[\"a\nb\"]",
            "{a:1}",
            "nul",
            "[+1]",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read(b"[\"\xff\"]").is_err());
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
        assert!(detail(&nested(JSON_DEPTH_MAX + 1)).contains("deeper"));
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn an_integer_keeps_its_digits_or_is_rejected() {
        assert_eq!(read(b"9223372036854775807"), Ok(Json::Int(i64::MAX)));
        assert_eq!(read(b"-9223372036854775808"), Ok(Json::Int(i64::MIN)));
        for text in [
            "9223372036854775808",
            "-9223372036854775809",
            "12345678901234567890",
            "1000000000000000000000",
            "[1e300,123456789012345678901234]",
        ] {
            assert!(detail(text).contains("string"), "{text}");
        }
        // As JavaScript writes the numbers 9.3e18, -1e20 and 12345678901234567890.5.
        for (text, number) in [
            ("9300000000000000000", 9.3e18),
            ("-100000000000000000000", -1e20),
            ("12345678901234567000", 12_345_678_901_234_567_890.5),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(Json::Float(number)), "{text}");
        }
        assert_eq!(read(b"[1e300]"), Ok(Json::Array(vec![Json::Float(1e300)])));
        assert!(read(br#"["\"123456789012345678901234", 1E20]"#).is_ok());
    }
}
