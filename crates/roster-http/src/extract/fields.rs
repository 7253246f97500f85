//! `fields`: the members of a record that a response shows.
//!
//! The parameter means the same for every record: names separated by commas, and the parameter may
//! be repeated. `id` and `version` are always shown. Without the parameter all members are shown.

use roster_core::{Attribute, limits::FIELDS_MAX, project::Members, text::nearest};

use super::{ParameterFault, invalid};

/// The members of a group's record.
const OF_GROUPS: [&str; 7] =
    ["id", "version", "display_name", "external_id", "member_count", "created_at", "updated_at"];

/// The members of a deleted user in addition to those of its record.
const OF_DELETION: [&str; 2] = ["deleted_at", "purge_at"];

/// A kind of record.
#[derive(Clone, Copy, Debug)]
enum Record {
    User,
    DeletedUser,
    Group,
}

impl Record {
    fn members(self) -> impl Iterator<Item = &'static str> + Clone {
        let (of_users, others): (&[Attribute], &[&str]) = match self {
            Self::User => (Attribute::ALL, &[]),
            Self::DeletedUser => (Attribute::ALL, &OF_DELETION),
            Self::Group => (&[], &OF_GROUPS),
        };
        of_users.iter().map(|attribute| attribute.name()).chain(others.iter().copied())
    }
}

/// The selected members of a record.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    record: Record,
    selected: Vec<&'static str>,
}

impl Fields {
    pub(crate) const fn of_users() -> Self {
        Self::of(Record::User)
    }

    pub(crate) const fn of_deleted_users() -> Self {
        Self::of(Record::DeletedUser)
    }

    pub(crate) const fn of_groups() -> Self {
        Self::of(Record::Group)
    }

    const fn of(record: Record) -> Self {
        Self { record, selected: Vec::new() }
    }

    /// Adds the names in a value of the parameter.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), ParameterFault> {
        for name in text.split(',') {
            if self.selected.len() >= FIELDS_MAX {
                return Err(("too-many", format!("give at most {FIELDS_MAX} names")));
            }
            let known = self.record.members();
            let found = known.clone().find(|known| *known == name);
            self.selected.push(found.ok_or_else(|| match nearest(name, known) {
                Some(known) => invalid(&format!("did you mean {known}?")),
                None if is_like_a_name(name) => {
                    invalid(&format!("there is no member {name} that can be selected"))
                }
                None => invalid("give names of members, with commas between them"),
            })?);
        }
        Ok(())
    }

    /// The selected members of the record; `None` if all are shown.
    pub(crate) fn members(&self) -> Option<Members> {
        (!self.selected.is_empty()).then(|| Members::named(self.selected.clone()))
    }

    /// Whether a member that is not in the stored record is shown.
    pub(crate) fn shows(&self, name: &str) -> bool {
        self.selected.is_empty() || self.selected.contains(&name)
    }
}

/// Whether a text that is no name can be shown in an error.
fn is_like_a_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}
