//! JSON as the service reads it: an object has no member twice, and a number keeps its digits.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads a JSON text.
pub(crate) fn read(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Strict(value)| value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        i64::try_from(number).map(Value::from).map_err(|_| too_large())
    }

    /// A whole number that fits no integer comes as this too.
    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        // 2^63
        let is_whole = number.fract() == 0.0 && number.abs() >= 9_223_372_036_854_775_808.0;
        if is_whole { Err(too_large()) } else { Ok(number.into()) }
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            read.push(item);
        }
        Ok(read.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some((name, Strict(value))) = members.next_entry::<String, Strict>()? {
            if read.insert(name, value).is_some() {
                return Err(A::Error::custom("an object has the same member twice"));
            }
        }
        Ok(read.into())
    }
}

fn too_large<E: Error>() -> E {
    E::custom("a whole number does not fit 64 bits: below attributes it can be a string")
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_the_service_would_refuse_or_change_is_an_error() {
        for text in [
            r#"{"a":1,"b":{"c":[-1.5,null,true,"x"]}}"#,
            "9223372036854775807",
            "-9223372036854775808",
            "1.5e10",
        ] {
            assert_eq!(
                read(text).unwrap(),
                serde_json::from_str::<serde_json::Value>(text).unwrap()
            );
        }
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"[{"b":{"a":1,"a":1}}]"#,
            "9223372036854775808",
            "12345678901234567890123",
            "-9223372036854775809",
            "{",
            "1 2",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
