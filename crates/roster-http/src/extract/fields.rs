//! `fields`: the members of a record that a response shows.
//!
//! The parameter means the same for every record: names separated by commas, and the parameter may
//! be repeated. `id` and `version` are always shown. Without the parameter all members are shown.

use roster_core::{Attribute, limits::FIELDS_MAX, project::Members, text::nearest};

use super::{ParameterFault, invalid};

/// The members of a group's record.
const OF_GROUPS: [&str; 6] =
    ["id", "version", "display_name", "external_id", "created_at", "updated_at"];

/// The members that a deleted user has besides those of its record.
const OF_DELETION: [&str; 2] = ["deleted_at", "purge_at"];

/// The selected members of a kind of record.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    known: Vec<&'static str>,
    selected: Vec<&'static str>,
}

impl Fields {
    pub(crate) fn of_users() -> Self {
        Self::of(Attribute::ALL.iter().map(|attribute| attribute.name()).collect())
    }

    pub(crate) fn of_deleted_users() -> Self {
        let names = Attribute::ALL.iter().map(|attribute| attribute.name());
        Self::of(names.chain(OF_DELETION).collect())
    }

    pub(crate) fn of_groups() -> Self {
        Self::of(OF_GROUPS.to_vec())
    }

    const fn of(known: Vec<&'static str>) -> Self {
        Self { known, selected: Vec::new() }
    }

    /// Adds the names in a value of the parameter.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), ParameterFault> {
        for name in text.split(',') {
            if self.selected.len() >= FIELDS_MAX {
                return Err(("too-many", format!("give at most {FIELDS_MAX} names")));
            }
            let known = self.known.iter().copied();
            let found = known.clone().find(|known| *known == name);
            self.selected.push(found.ok_or_else(|| match nearest(name, known) {
                Some(known) => invalid(&format!("did you mean {known}?")),
                None => invalid("give names of members, with commas between them"),
            })?);
        }
        Ok(())
    }

    /// The selected members of the record; `None` if all are shown.
    pub(crate) fn members(&self) -> Option<Members> {
        let selected = self.selected.iter().filter_map(|name| Attribute::from_name(name));
        (!self.selected.is_empty()).then(|| Members::new(selected.collect()))
    }

    /// Whether a member that is not in the stored record is shown.
    pub(crate) fn shows(&self, name: &str) -> bool {
        self.selected.is_empty() || self.selected.contains(&name)
    }
}
