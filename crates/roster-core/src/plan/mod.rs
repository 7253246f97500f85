//! How a page is found: one index drives, the other conditions are tested on its rows.
//!
//! The choice is made here, once for all engines; an engine prints it in its own words. Whatever
//! drives, the answer is the same: only the rows that are looked at differ.

mod condition;
mod filtered;
#[cfg(test)]
mod tests;

use std::{ops::Bound, sync::Arc};

pub use condition::{Beginning, Condition};

use crate::{
    filter::{Expression, Filter},
    id::UserId,
    list::{Direction, Equals, PageKey, PageQuery, SortBy, SortKey},
    timestamp::Timestamp,
};

/// Most rows that are put in order after they were found.
pub const SORTED_ROWS_MAX: usize = 1000;

/// The index that a page is read along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Driver {
    /// The rows of the ids of [`Equals`].
    Ids,
    /// At most one row, by the user name of [`Equals`].
    Username,
    /// The rows of the e-mail address of [`Equals`].
    Email,
    /// The rows of the external id of [`Equals`].
    ExternalId,
    /// The rows of the telephone number of [`Equals`].
    PhoneNumber,
    /// The rows of the status of [`Equals`].
    Status,
    /// The rows that any of these finds.
    Lookups(Vec<Lookup>),
    /// The rows that hold all words of the query.
    Words,
    /// The rows of a range of an order's index.
    Range(Range),
    /// All rows, along the index of the order.
    Sort,
}

/// One key that is looked up in one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The id.
    Id(UserId),
    /// The key of the user name.
    Username(String),
    /// The key of the primary e-mail address.
    Email(String),
    /// The key of any e-mail address.
    AnyEmail(String),
    /// The external id.
    ExternalId(String),
    /// The key of the primary telephone number.
    PhoneNumber(String),
    /// The key of any telephone number.
    AnyPhoneNumber(String),
}

/// A range of an order's index. A user without the key is in none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Whose index.
    pub by: SortBy,
    /// Where it begins.
    pub from: Bound<RangeKey>,
    /// Where it ends.
    pub to: Bound<RangeKey>,
}

/// A bound of a range: of the kind that the order compares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RangeKey {
    /// An id.
    Id(UserId),
    /// A moment.
    Time(Timestamp),
    /// A text key.
    Text(String),
}

impl Range {
    /// Whether a row lies on the inner side of the bound that a walk in that direction begins at.
    pub fn holds_after(&self, row: &PageKey, direction: Direction) -> bool {
        let bound = match direction {
            Direction::Ascending => &self.from,
            Direction::Descending => &self.to,
        };
        let (Bound::Included(bound) | Bound::Excluded(bound)) = bound else { return true };
        let row = match &row.key {
            SortKey::Id => RangeKey::Id(row.id),
            SortKey::Time(moment) => RangeKey::Time(*moment),
            SortKey::Text(Some(text)) => RangeKey::Text(text.clone()),
            SortKey::Text(None) => return direction == Direction::Ascending,
        };
        match direction {
            Direction::Ascending => row >= *bound,
            Direction::Descending => row <= *bound,
        }
    }
}

/// The way to a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The index that is read along.
    pub driver: Driver,
    /// The driver's rows are not in the wanted order. They are sorted if there are at most
    /// [`SORTED_ROWS_MAX`], else the page is read along [`Driver::Sort`].
    pub sorts: bool,
}

impl Plan {
    /// The plan of a page: along the most selective condition.
    pub fn of(query: &PageQuery) -> Self {
        let Equals { ids, username, email, external_id, phone_number, status } = &query.equals;
        let sort = query.sort.by;
        if ids.is_some() {
            return Self { driver: Driver::Ids, sorts: sort != SortBy::Id };
        }
        if username.is_some() {
            return Self { driver: Driver::Username, sorts: false };
        }
        let by_id = |driver| Self { driver, sorts: sort != SortBy::Id };
        if email.is_some() {
            let sorts = !matches!(sort, SortBy::Id | SortBy::Email);
            return Self { driver: Driver::Email, sorts };
        }
        if external_id.is_some() {
            return by_id(Driver::ExternalId);
        }
        if phone_number.is_some() {
            return by_id(Driver::PhoneNumber);
        }
        let filter = query.filter.as_ref().map(|filter| filter.expression());
        if let Some(lookups) = filter.and_then(filtered::lookups) {
            return Self { driver: Driver::Lookups(lookups), sorts: true };
        }
        if !query.words.is_empty() {
            return by_id(Driver::Words);
        }
        if let Some((range, _)) = filter.and_then(|filter| filtered::range(filter, sort)) {
            let sorts = range.by != sort;
            return Self { driver: Driver::Range(range), sorts };
        }
        if status.is_some() {
            return by_id(Driver::Status);
        }
        Self { driver: Driver::Sort, sorts: false }
    }

    /// Whether the rows that the driver finds meet the filter: it asks for one key and nothing
    /// else, so they need no test.
    pub fn meets_filter(&self, query: &PageQuery) -> bool {
        let filter = query.filter.as_ref().map(|filter| filter.expression());
        matches!(self.driver, Driver::Lookups(_)) && matches!(filter, Some(Expression::Test(_)))
    }

    /// Whether an index may find few users before any row is read: worth a try on the thread that
    /// asks.
    pub fn may_find_few(&self) -> bool {
        matches!(self.driver, Driver::Lookups(_) | Driver::Words)
    }

    /// Whether the rows that are looked at are bounded by the page or by
    /// [`SORTED_ROWS_MAX`]: what drives answers every condition, in the wanted order, or finds
    /// few rows whatever is asked. Only such a page is read on the thread that asks.
    pub fn is_bounded(&self, query: &PageQuery) -> bool {
        let few = |lookup: &Lookup| {
            matches!(lookup, Lookup::Id(_) | Lookup::Username(_) | Lookup::Email(_))
        };
        match &self.driver {
            Driver::Username => true,
            Driver::Sort => query.is_unconditional(),
            Driver::Ids => query.filter.is_none() && query.words.is_empty(),
            Driver::Lookups(lookups) => lookups.iter().all(few),
            Driver::Range(_) => !self.sorts && is_alone(query) && is_range(query),
            Driver::Email | Driver::ExternalId | Driver::PhoneNumber | Driver::Status => {
                !self.sorts && is_alone(query)
            }
            Driver::Words => false,
        }
    }
}

/// Whether there is one condition alone.
fn is_alone(query: &PageQuery) -> bool {
    let Equals { ids, username, email, external_id, phone_number, status } = &query.equals;
    let conditions = [
        ids.is_some(),
        username.is_some(),
        email.is_some(),
        external_id.is_some(),
        phone_number.is_some(),
        status.is_some(),
        query.filter.is_some(),
        !query.words.is_empty(),
    ];
    conditions.into_iter().filter(|stands| *stands).count() == 1
}

/// Whether the filter asks for a range of the wanted order and nothing else.
fn is_range(query: &PageQuery) -> bool {
    let filter = query.filter.as_ref().map(|filter| filter.expression());
    filter.and_then(|filter| filtered::range(filter, query.sort.by)).is_some_and(|(_, all)| all)
}

impl PageQuery {
    /// Adds a filter. What it asks for alone, and a status that it asks for beside others, becomes
    /// a condition of its own, which has an index or a kept counter. What all meet is none.
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        let expression = filter.expression();
        if expression.is_always() {
            return self;
        }
        if let Some(lookup) = filtered::alone(expression)
            && self.equals.take(lookup)
        {
            return self;
        }
        let status = filtered::status(expression);
        let alone = matches!(expression, Expression::Test(_));
        match (self.equals.status, status) {
            (None, Some(status)) => {
                self.equals.status = Some(status);
                self.filter = (!alone).then(|| Arc::new(filter));
            }
            _ => self.filter = Some(Arc::new(filter)),
        }
        self
    }
}

impl Equals {
    /// Takes a key that is to be equal; false where there is such a condition already, or none of
    /// that kind.
    fn take(&mut self, lookup: Lookup) -> bool {
        let (condition, key) = match lookup {
            Lookup::Id(id) => {
                let free = self.ids.is_none();
                self.ids.get_or_insert_with(|| vec![id]);
                return free;
            }
            Lookup::Username(key) => (&mut self.username, key),
            Lookup::Email(key) => (&mut self.email, key),
            Lookup::ExternalId(key) => (&mut self.external_id, key),
            Lookup::PhoneNumber(key) => (&mut self.phone_number, key),
            Lookup::AnyEmail(_) | Lookup::AnyPhoneNumber(_) => return false,
        };
        let free = condition.is_none();
        condition.get_or_insert(key);
        free
    }
}
