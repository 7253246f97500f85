//! How a page is found: one index drives, the other conditions are tested on its rows.
//!
//! The choice is made here, once for all engines; an engine prints it in its own words. Whatever
//! drives, the answer is the same: only the rows that are looked at differ.

use crate::list::{Equals, PageQuery, SortBy};

/// Most rows that are put in order after they were found by a condition's index.
pub const SORTED_ROWS_MAX: usize = 1000;

/// The index that a page is read along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// The rows of these ids.
    Ids,
    /// At most one row, by its user name.
    Username,
    /// The rows of one e-mail address.
    Email,
    /// The rows of one external id.
    ExternalId,
    /// The rows of one telephone number.
    PhoneNumber,
    /// The rows of one status.
    Status,
    /// All rows, along the index of the order.
    Sort,
}

/// The way to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        } else if status.is_some() {
            (Driver::Status, [SortBy::Id; 2])
        } else {
            return Self { driver: Driver::Sort, sorts: false };
        };
        Self { driver, sorts: !ordered_by.contains(&query.sort.by) }
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
