//! The conditions that no column covers: filter and search words, tested on the record.

use crate::{
    failure::StoreError,
    filter::{Filter, Memberships, PARSED_BYTES_PER_COMPARISON},
    id::UserId,
    user::User,
    words::{comparisons_of, matches_words, words_of},
    work::Work,
};

/// The conditions that remain to be tested on a row.
pub(super) struct Residual<'q> {
    filter: Option<Filter>,
    words: &'q [String],
}

impl<'q> Residual<'q> {
    pub(super) const fn new(filter: Option<Filter>, words: &'q [String]) -> Self {
        Self { filter, words }
    }

    /// All rows have the words, so they need no test.
    pub(super) const fn has_words(&mut self) {
        self.words = &[];
    }

    /// Whether there is nothing to test.
    pub(super) const fn is_empty(&self) -> bool {
        self.filter.is_none() && self.words.is_empty()
    }

    /// The filter, if it reads the groups of users.
    pub(super) fn group_filter(&self) -> Option<&Filter> {
        self.filter.as_ref().filter(|filter| filter.reads_groups())
    }

    /// Whether the record matches. `groups` has the results for the user's groups. Counts the
    /// comparisons.
    pub(super) fn matches(
        &self,
        id: UserId,
        record: &[u8],
        groups: &Memberships,
        work: &Work,
    ) -> Result<bool, StoreError> {
        if let Some(filter) = &self.filter {
            let matched = filter.matches_record(record, groups, work);
            if !matched.map_err(|fault| corrupt(id, &fault.member))? {
                return Ok(false);
            }
        }
        if self.words.is_empty() {
            return Ok(true);
        }
        let user = User::from_record(record).map_err(|fault| corrupt(id, &fault.member))?;
        work.count(record.len() / PARSED_BYTES_PER_COMPARISON + comparisons_of(&user));
        Ok(matches_words(self.words, &words_of(&user)))
    }
}

fn corrupt(id: UserId, member: &str) -> StoreError {
    StoreError::Corrupt { place: format!("users.record of {id}, {member}") }
}
