//! Attributes of SCIM requests that no schema has. Tolerant parsing drops them.
//!
//! Each dropped attribute is counted, and each name is logged once, so that the operator notices. A
//! name is a text that the caller chooses, and may be personal data. Only names as the standard
//! writes them are logged, and only a limited number.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use prometheus_client::metrics::counter::Counter;

/// The maximum number of names that are logged.
const NAMES_MAX: usize = 100;

/// The maximum length of a name in the log, in characters.
const NAME_LENGTH_MAX: usize = 100;

/// The maximum number of digits in a part of a name, so that it is no telephone number and no
/// number of a person.
const DIGITS_MAX: usize = 4;

/// The number of dropped attributes, and the names that were logged.
#[derive(Debug, Default)]
pub(crate) struct DroppedAttributes {
    /// How many attributes were dropped.
    pub(crate) count: Counter,
    logged: Mutex<BTreeSet<String>>,
}

impl DroppedAttributes {
    /// Counts the names, and logs those that are new. Providers send `password` with each user; it
    /// cannot be declared.
    pub(crate) fn add(&self, names: &[String]) {
        let is_password = |name: &str| {
            let last = name.rsplit([':', '.']).next().unwrap_or_default();
            last.eq_ignore_ascii_case("password")
        };
        let names: Vec<_> = names.iter().filter(|name| !is_password(name)).collect();
        if names.is_empty() {
            return;
        }
        self.count.inc_by(u64::try_from(names.len()).unwrap_or(u64::MAX));
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names.into_iter().filter(|name| is_name(name)) {
            if logged.len() >= NAMES_MAX {
                return;
            }
            if logged.insert(name.clone()) {
                tracing::warn!(
                    attribute = name,
                    "an attribute of SCIM requests is dropped; PUT /schema can declare one of users"
                );
            }
        }
    }
}

/// Whether this is a name of an attribute, with or without the URN of its schema and a
/// sub-attribute: parts of letters, digits and some signs (RFC 7643 section 2.1), each of which
/// begins with a letter or, in a URN, is a short number.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_$".contains(&byte);
        !part.is_empty() && digits <= DIGITS_MAX && part.bytes().all(is_allowed)
    };
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$');
    begins && name.len() <= NAME_LENGTH_MAX && name.split([':', '.']).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_and_a_limited_number_is_kept() {
        let dropped = DroppedAttributes::default();
        let names: Vec<String> = (0..150).map(|number| format!("a{number}")).collect();
        dropped.add(&names);
        dropped.add(&names);
        assert_eq!(dropped.count.get(), 300);
        assert_eq!(dropped.logged.lock().unwrap().len(), NAMES_MAX);
        let dropped = DroppedAttributes::default();
        dropped.add(&["password".to_owned(), "urn:x:User:Password".to_owned()]);
        assert_eq!(dropped.count.get(), 0);
    }

    #[test]
    fn only_texts_that_look_like_names_are_logged() {
        for name in [
            "favoriteColor",
            "cost-center_2",
            "$ref",
            "name.middle",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:costCode",
            "urn:example:User:badge",
        ] {
            assert!(is_name(name), "{name}");
        }
        let long = "a".repeat(NAME_LENGTH_MAX + 1);
        for text in [
            "",
            "ssn=123-45-6789",
            "ssn-123-45-6789",
            "ssn:123456789",
            "ada@example.com",
            "Ada King",
            "phone+491701234567",
            "a\nb",
            "naïve",
            "123-45-6789",
            "a..b",
            &long,
        ] {
            assert!(!is_name(text), "{text}");
        }
        let dropped = DroppedAttributes::default();
        dropped.add(&["ssn=123-45-6789".to_owned()]);
        assert_eq!(dropped.count.get(), 1);
        assert!(dropped.logged.lock().unwrap().is_empty());
    }
}
