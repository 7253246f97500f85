//! The conditions that no column answers: filter and search words, tested on the record.

use crate::{
    failure::StoreError,
    filter::Filter,
    id::UserId,
    list::PageQuery,
    user::User,
    words::{matches_words, words_of},
};

/// What is still to be tested on a row that the statement showed.
#[derive(Clone, Copy)]
pub(super) struct Residual<'q> {
    filter: Option<&'q Filter>,
    words: &'q [String],
}

impl<'q> Residual<'q> {
    /// All that the query asks beyond its equalities.
    pub(super) fn of(query: &'q PageQuery) -> Self {
        Self { filter: query.filter.as_deref(), words: &query.words }
    }

    /// The words need no test any more.
    pub(super) const fn has_words(&mut self) {
        self.words = &[];
    }

    /// The filter needs no test any more.
    pub(super) const fn meets_filter(&mut self) {
        self.filter = None;
    }

    /// Whether there is nothing to test.
    pub(super) const fn is_empty(&self) -> bool {
        self.filter.is_none() && self.words.is_empty()
    }

    /// Whether the record meets it.
    pub(super) fn matches(&self, id: UserId, record: &[u8]) -> Result<bool, StoreError> {
        if let Some(filter) = self.filter {
            let matched = filter.matches_record(record);
            if !matched.map_err(|fault| corrupt(id, &fault.member))? {
                return Ok(false);
            }
        }
        if self.words.is_empty() {
            return Ok(true);
        }
        let user = User::from_record(record).map_err(|fault| corrupt(id, &fault.member))?;
        Ok(matches_words(self.words, &words_of(&user)))
    }
}

fn corrupt(id: UserId, member: &str) -> StoreError {
    StoreError::Corrupt { place: format!("users.record of {id}, {member}") }
}
