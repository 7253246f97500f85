//! Attributes of SCIM requests that no schema has. Tolerant parsing drops them.
//!
//! Each dropped attribute is counted, and each name is logged once, so that the operator notices.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use prometheus_client::metrics::counter::Counter;

/// The maximum number of names that are logged.
const NAMES_MAX: usize = 100;

/// The maximum length of a name in the log, in characters.
const NAME_LENGTH_MAX: usize = 100;

/// The number of dropped attributes, and the names that were logged.
#[derive(Debug, Default)]
pub(crate) struct DroppedAttributes {
    /// How many attributes were dropped.
    pub(crate) count: Counter,
    logged: Mutex<BTreeSet<String>>,
}

impl DroppedAttributes {
    /// Counts the names, and logs those that are new.
    pub(crate) fn add(&self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        self.count.inc_by(u64::try_from(names.len()).unwrap_or(u64::MAX));
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            let name: String = name.chars().take(NAME_LENGTH_MAX).collect();
            if logged.len() < NAMES_MAX && logged.insert(name.clone()) {
                tracing::warn!(
                    attribute = name,
                    "an attribute of SCIM requests is dropped: declare it with PUT /schema"
                );
            }
        }
    }
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
    }
}
