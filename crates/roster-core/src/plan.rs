//! How a page is found: one index drives, the other conditions are tested on its rows.
//!
//! The choice is made here, once for all engines; an engine prints it in its own words. Whatever
//! drives, the answer is the same: only the rows that are looked at differ.

use std::ops::Bound;

use crate::{
    id::UserId,
    list::{Equals, PageQuery, SortBy},
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeKey {
    /// An id.
    Id(UserId),
    /// A moment.
    Time(Timestamp),
    /// A text key.
    Text(String),
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
        let (driver, ordered_by) = if ids.is_some() {
            return Self { driver: Driver::Ids, sorts: query.sort.by != SortBy::Id };
        } else if username.is_some() {
            return Self { driver: Driver::Username, sorts: false };
        } else if email.is_some() {
            (Driver::Email, [SortBy::Id, SortBy::Email])
        } else if external_id.is_some() {
            (Driver::ExternalId, [SortBy::Id; 2])
        } else if phone_number.is_some() {
            (Driver::PhoneNumber, [SortBy::Id; 2])
        } else if !query.words.is_empty() {
            (Driver::Words, [SortBy::Id; 2])
        } else if status.is_some() {
            (Driver::Status, [SortBy::Id; 2])
        } else {
            return Self { driver: Driver::Sort, sorts: false };
        };
        Self { driver, sorts: !ordered_by.contains(&query.sort.by) }
    }

    /// Whether the rows that are looked at are bounded by the page or by
    /// [`SORTED_ROWS_MAX`]: what drives answers every condition, in the wanted order, or finds
    /// few rows whatever is asked. Only such a page is read on the thread that asks.
    pub fn is_bounded(&self, query: &PageQuery) -> bool {
        match &self.driver {
            Driver::Username => true,
            Driver::Sort => query.is_unconditional(),
            Driver::Ids => query.filter.is_none() && query.words.is_empty(),
            Driver::Email | Driver::ExternalId | Driver::PhoneNumber | Driver::Status => {
                !self.sorts && self.is_alone(query)
            }
            Driver::Lookups(_) | Driver::Words | Driver::Range(_) => false,
        }
    }

    /// Whether the driver's condition is the only one.
    fn is_alone(&self, query: &PageQuery) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{list::SortBy, user::Status};

    fn plan(by: SortBy, equals: Equals) -> Plan {
        let mut query = PageQuery::first(50);
        query.sort.by = by;
        query.equals = equals;
        Plan::of(&query)
    }

    #[test]
    fn the_most_selective_condition_drives() {
        let both = Equals {
            email: Some("ada@example.com".to_owned()),
            status: Some(Status::Active),
            ..Equals::default()
        };
        assert_eq!(plan(SortBy::Id, both), Plan { driver: Driver::Email, sorts: false });
    }

    #[test]
    fn a_condition_whose_index_has_another_order_sorts() {
        let active = Equals { status: Some(Status::Active), ..Equals::default() };
        let status = Driver::Status;
        assert_eq!(plan(SortBy::Name, active.clone()), Plan { driver: status, sorts: true });
        assert_eq!(plan(SortBy::Id, active), Plan { driver: status, sorts: false });
    }

    #[test]
    fn without_a_condition_the_order_drives() {
        let sort = Plan { driver: Driver::Sort, sorts: false };
        assert_eq!(plan(SortBy::UpdatedAt, Equals::default()), sort);
    }
}
