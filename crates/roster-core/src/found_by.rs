//! By what a user is found beside its primary keys: its words, and the keys of its further
//! addresses and numbers.
//!
//! Engines keep them as rows of live users alone, and exactly those that their record gives; how
//! a decision changes them is told here, once for all.

use crate::{
    attribute::Attribute,
    command::{Command, Rules},
    decide::{Change, Decision, decide},
    failure::Refusal,
    keys::{further_emails, further_phone_numbers},
    user::User,
    words::{WORD_ATTRIBUTES, words_of},
};

/// By what a user is found; each list sorted, nothing twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundBy {
    /// The words.
    pub words: Vec<String>,
    /// The keys of the further e-mail addresses.
    pub emails: Vec<String>,
    /// The keys of the further telephone numbers.
    pub phone_numbers: Vec<String>,
}

/// By what a user is found no more, and by what from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundByChange {
    /// No more.
    pub dropped: FoundBy,
    /// From now on.
    pub added: FoundBy,
}

/// A decision, and what it makes of the rows by which the user is found.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// What it makes of them.
    pub found_by: FoundByChange,
}

/// Decides upon a command, as [`decide()`] does.
pub fn decided(
    rules: Rules,
    current: Option<&User>,
    command: &Command,
) -> Result<Decided, Refusal> {
    let decision = decide(rules, current, command)?;
    let found_by = match (&decision, current) {
        (Decision::Write(change), Some(current)) => revised(change, current),
        (Decision::Write(change), None) | (Decision::Restore(change), _) => {
            FoundByChange { added: FoundBy::of(&change.user), ..FoundByChange::default() }
        }
        (Decision::Remove(_), Some(current)) => {
            FoundByChange { dropped: FoundBy::of(current), ..FoundByChange::default() }
        }
        (Decision::Remove(_) | Decision::Unchanged | Decision::Purge(_), _) => {
            FoundByChange::default()
        }
    };
    Ok(Decided { decision, found_by })
}

fn revised(change: &Change, current: &User) -> FoundByChange {
    if !touches(&change.event.changed) {
        return FoundByChange::default();
    }
    let (before, after) = (FoundBy::of(current), FoundBy::of(&change.user));
    FoundByChange { dropped: before.without(&after), added: after.without(&before) }
}

/// Whether a change of these members may change by what a user is found.
fn touches(changed: &[Attribute]) -> bool {
    changed.iter().any(|attribute| {
        matches!(attribute, Attribute::Emails | Attribute::PhoneNumbers)
            || WORD_ATTRIBUTES.contains(attribute)
    })
}

impl FoundBy {
    /// By what a user is found.
    pub fn of(user: &User) -> Self {
        Self {
            words: words_of(user),
            emails: further_emails(user),
            phone_numbers: further_phone_numbers(user),
        }
    }

    /// What the other one does not have.
    fn without(&self, other: &Self) -> Self {
        Self {
            words: difference(&self.words, &other.words),
            emails: difference(&self.emails, &other.emails),
            phone_numbers: difference(&self.phone_numbers, &other.phone_numbers),
        }
    }
}

fn difference(texts: &[String], others: &[String]) -> Vec<String> {
    texts.iter().filter(|text| others.binary_search(text).is_err()).cloned().collect()
}
