//! The index rows by which a user is found, in addition to its key columns: words, the keys of the
//! addresses and numbers that are not primary, and those of the indexes that the schema names.
//!
//! Engines store these rows for live users only.

use crate::{
    read::words::{WORD_ATTRIBUTES, words_of},
    schema::{IndexedMember, MemberIndex},
    user::{
        User,
        attribute::Attribute,
        keys::{further_emails, further_phone_numbers},
    },
};

/// The search keys of a user; each list is sorted and has no duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchKeys {
    /// The words.
    pub words: Vec<String>,
    /// The keys of the further e-mail addresses.
    pub emails: Vec<String>,
    /// The keys of the further telephone numbers.
    pub phone_numbers: Vec<String>,
    /// The keys in the indexes of the schema, each with the number of its index.
    pub indexed: Vec<(i16, String)>,
}

/// How a change alters the search keys of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexDelta {
    /// Rows to delete.
    pub removed: SearchKeys,
    /// Rows to insert.
    pub added: SearchKeys,
}

impl IndexDelta {
    /// The difference between two search keys.
    pub fn between(before: &SearchKeys, after: &SearchKeys) -> Self {
        Self { removed: before.without(after), added: after.without(before) }
    }

    /// The delta of this change and a later one together.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        Self {
            removed: self.removed.without(&later.added).with(later.removed.without(&self.added)),
            added: self.added.without(&later.removed).with(later.added.without(&self.removed)),
        }
    }

    /// The delta of an update that changed these attributes.
    pub(crate) fn of_update(
        before: &User,
        after: &User,
        changed: &[Attribute],
        indexes: &[MemberIndex],
    ) -> Self {
        let is_indexed = |attribute| {
            indexes.iter().any(|index| match &index.member {
                IndexedMember::Declared(_) => attribute == Attribute::Attributes,
                IndexedMember::BuiltIn(own) => attribute == *own,
            })
        };
        if changed.iter().any(|attribute| is_searched(*attribute) || is_indexed(*attribute)) {
            Self::between(&SearchKeys::of(before, indexes), &SearchKeys::of(after, indexes))
        } else {
            Self::default()
        }
    }
}

/// Whether a change of this attribute may change the search keys.
fn is_searched(attribute: Attribute) -> bool {
    matches!(attribute, Attribute::Emails | Attribute::PhoneNumbers)
        || WORD_ATTRIBUTES.contains(&attribute)
}

impl SearchKeys {
    /// The search keys of a user.
    pub fn of(user: &User, indexes: &[MemberIndex]) -> Self {
        let live = indexes.iter().filter(|index| index.is_live());
        let keys = |index: &MemberIndex| {
            let kind = index.kind;
            index.keys(user).into_iter().map(move |key| (kind, key))
        };
        let mut of_indexes: Vec<(i16, String)> = live.flat_map(keys).collect();
        of_indexes.sort_unstable();
        Self {
            words: words_of(user),
            emails: further_emails(user),
            phone_numbers: further_phone_numbers(user),
            indexed: of_indexes,
        }
    }

    /// The keys of both.
    fn with(mut self, other: Self) -> Self {
        let both = [
            (&mut self.words, other.words),
            (&mut self.emails, other.emails),
            (&mut self.phone_numbers, other.phone_numbers),
        ];
        for (texts, others) in both {
            add(texts, others);
        }
        add(&mut self.indexed, other.indexed);
        self
    }

    /// The keys that the other one does not have.
    fn without(&self, other: &Self) -> Self {
        Self {
            words: difference(&self.words, &other.words),
            emails: difference(&self.emails, &other.emails),
            phone_numbers: difference(&self.phone_numbers, &other.phone_numbers),
            indexed: difference(&self.indexed, &other.indexed),
        }
    }
}

fn add<T: Ord>(keys: &mut Vec<T>, others: Vec<T>) {
    keys.extend(others);
    keys.sort_unstable();
    keys.dedup();
}

fn difference<T: Ord + Clone>(keys: &[T], others: &[T]) -> Vec<T> {
    keys.iter().filter(|key| others.binary_search(key).is_err()).cloned().collect()
}
