//! The documented responses that the tests got.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use super::{Description, Observed};

/// The observed responses, shared by tests.
#[derive(Debug, Default)]
pub struct Ledger {
    seen: Mutex<BTreeSet<(String, u16)>>,
}

impl Ledger {
    /// Records a response; responses outside of the operations are ignored.
    pub fn record(&self, observed: Observed) {
        if let Some(operation_id) = observed.operation_id {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert((operation_id, observed.status));
        }
    }

    /// Every documented operation and status that was never observed and is not exempt.
    pub fn unobserved(
        &self,
        description: &Description,
        exempt: &[(&str, u16)],
    ) -> Vec<(String, u16)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let documented = description.documented().filter(|pair| !exempt.contains(pair));
        let owned = documented.map(|(operation, status)| (operation.to_owned(), status));
        owned.filter(|pair| !seen.contains(pair)).collect()
    }

    /// Exemptions that are not needed: the pair was observed, or is not documented at all.
    pub fn needless<'a>(
        &self,
        description: &Description,
        exempt: &[(&'a str, u16)],
    ) -> Vec<(&'a str, u16)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let documented: BTreeSet<(&str, u16)> = description.documented().collect();
        let needless = exempt.iter().filter(|(operation, status)| {
            seen.contains(&((*operation).to_owned(), *status))
                || !documented.contains(&(*operation, *status))
        });
        needless.copied().collect()
    }
}
