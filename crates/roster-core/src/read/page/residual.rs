//! The conditions that no column covers: filter and search words, tested on the record.

use crate::{
    read::{
        filter::{Filter, Memberships, PARSED_BYTES_PER_COMPARISON},
        words::{comparisons_of, matches_words, words_of},
    },
    user::{CorruptRecord, User},
    work::Work,
};

/// The conditions that remain to be tested on a row.
pub struct Residual<'q> {
    filter: Option<Filter>,
    words: &'q [String],
}

impl<'q> Residual<'q> {
    /// A filter, and words that are prefixes of words of the user; none without a search.
    pub const fn new(filter: Option<Filter>, words: &'q [String]) -> Self {
        Self { filter, words }
    }

    /// All rows have the words, so they need no test.
    pub(super) const fn has_words(&mut self) {
        self.words = &[];
    }

    /// Whether there is nothing to test.
    pub const fn is_empty(&self) -> bool {
        self.filter.is_none() && self.words.is_empty()
    }

    /// The filter, if it reads the groups of users.
    pub(super) fn group_filter(&self) -> Option<&Filter> {
        self.filter.as_ref().filter(|filter| filter.reads_groups())
    }

    /// Whether the record matches. `groups` has the results for the user's groups. Counts the
    /// comparisons.
    pub fn matches(
        &self,
        record: &[u8],
        groups: &Memberships,
        work: &Work,
    ) -> Result<bool, CorruptRecord> {
        if let Some(filter) = &self.filter
            && !filter.matches_record(record, groups, work)?
        {
            return Ok(false);
        }
        if self.words.is_empty() {
            return Ok(true);
        }
        let user = User::from_record(record)?;
        work.count(record.len() / PARSED_BYTES_PER_COMPARISON + comparisons_of(&user));
        Ok(matches_words(self.words, &words_of(&user)))
    }
}
