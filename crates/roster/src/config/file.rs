//! The settings file (TOML).
//!
//! One flat table: each key is the key of a setting, each value has its TOML type. An unknown key
//! is a fault that suggests the nearest known key. Each value has its line, so a fault can be
//! found.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::claim::Claim;
use super::fault::{Faults, Origin};
use super::kind::Kind;
use super::nearest::did_you_mean;
use super::table::{SETTINGS, Setting};

/// Reads the file at `path`; an error is a fault.
pub(super) fn read(path: &Path, faults: &mut Faults) -> Vec<Claim> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(path, &text, faults),
        Err(error) => {
            let origin = Origin::File { path: path.to_owned(), line: None };
            faults.push(origin, format!("cannot be read: {error}"));
            Vec::new()
        }
    }
}

/// Parses the text of a file.
pub(super) fn parse(path: &Path, text: &str, faults: &mut Faults) -> Vec<Claim> {
    let origin_at = |span: Option<Range<usize>>| Origin::File {
        path: path.to_owned(),
        line: span.and_then(|span| line_of(text, span.start)),
    };
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            faults.push(origin_at(error.span()), format!("is not TOML: {}", error.message()));
            return Vec::new();
        }
    };
    // The parser returns keys in alphabetical order; report them in the order of the file.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut claims = Vec::new();
    for (key, value) in entries {
        let origin = origin_at(Some(key.span()));
        let name: &str = key.get_ref();
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == name) else {
            let hint = did_you_mean(name, SETTINGS.iter().map(|setting| setting.key));
            faults.push(origin, format!("there is no setting {name:?}{hint}"));
            continue;
        };
        match text_of(setting, value.get_ref()) {
            Ok(text) => claims.push(Claim { setting, text, origin }),
            Err(detail) => faults.push(origin, detail),
        }
    }
    claims
}

/// The value as text, if it has the TOML type of the setting.
fn text_of(setting: &Setting, value: &DeValue<'_>) -> Result<String, String> {
    let expected = match (&setting.kind, value) {
        (Kind::Switch(_) | Kind::OptionalSwitch(_), DeValue::Boolean(on)) => {
            return Ok(on.to_string());
        }
        (Kind::OptionalSwitch(_), DeValue::String(text)) if text.is_empty() => {
            return Ok(String::new());
        }
        (Kind::Switch(_) | Kind::OptionalSwitch(_), _) => "true or false",
        (
            Kind::Count { .. } | Kind::Bytes { .. } | Kind::Millis { .. },
            DeValue::Integer(number),
        ) => {
            if number.radix() == 10 {
                return Ok(number.as_str().to_owned());
            }
            "a decimal number"
        }
        (Kind::Count { .. } | Kind::Bytes { .. } | Kind::Millis { .. }, _) => "a whole number",
        (Kind::Hosts(_) | Kind::Networks(_) | Kind::Origins(_), DeValue::Array(names)) => {
            let names: Option<Vec<&str>> = names
                .iter()
                .map(|name| name.get_ref().as_str().filter(|name| is_single(name)))
                .collect();
            match names {
                Some(names) => return Ok(names.join(",")),
                None => "a list of single strings, none of them empty",
            }
        }
        (Kind::Hosts(_), _) => "a list, as in [\"directory.example.com\"]",
        (Kind::Networks(_), _) => "a list, as in [\"10.0.0.0/8\"]",
        (Kind::Origins(_), _) => "a list, as in [\"https://admin.example.com\"]",
        (_, DeValue::String(text)) => return Ok(text.to_string()),
        (_, _) => "a string in quotes",
    };
    Err(format!("{} must be {expected}", setting.key))
}

/// Whether a text is one part of a list. The list becomes a text with commas, in which one empty
/// part would be no part at all.
fn is_single(text: &str) -> bool {
    !text.contains(',') && !text.trim().is_empty()
}

/// The line of a byte, counted from 1.
fn line_of(text: &str, offset: usize) -> Option<usize> {
    text.get(..offset).map(|before| before.matches('\n').count() + 1)
}
