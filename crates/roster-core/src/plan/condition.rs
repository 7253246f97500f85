//! The equality conditions as values, and where the rows of the one that drives begin.

use std::cmp::Ordering;

use super::Driver;
use crate::{
    list::{Equals, PageKey, PageQuery, SortBy, SortKey},
    page::order,
};

/// A condition of [`Equals`] on one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The user name.
    Username,
    /// The primary e-mail address.
    Email,
    /// The external id.
    ExternalId,
    /// The primary telephone number.
    PhoneNumber,
    /// The status.
    Status,
}

impl Condition {
    /// Every condition.
    pub const ALL: [Self; 5] =
        [Self::Username, Self::Email, Self::ExternalId, Self::PhoneNumber, Self::Status];

    /// Whether the query has it.
    pub const fn is_in(self, equals: &Equals) -> bool {
        match self {
            Self::Username => equals.username.is_some(),
            Self::Email => equals.email.is_some(),
            Self::ExternalId => equals.external_id.is_some(),
            Self::PhoneNumber => equals.phone_number.is_some(),
            Self::Status => equals.status.is_some(),
        }
    }

    /// Its column, which every engine has.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Username => "username_key",
            Self::Email => "email_key",
            Self::ExternalId => "external_id",
            Self::PhoneNumber => "phone_number_key",
            Self::Status => "status",
        }
    }
}

/// Where the rows of a page begin in the driver's index.
#[derive(Clone, Copy, Debug)]
pub enum Beginning<'q> {
    /// At the first row.
    Start,
    /// After this row.
    After(&'q PageKey),
    /// There are none.
    Nowhere,
}

impl Driver {
    /// The condition that is read along, if it is one.
    pub const fn condition(&self) -> Option<Condition> {
        match self {
            Self::Username => Some(Condition::Username),
            Self::Email => Some(Condition::Email),
            Self::ExternalId => Some(Condition::ExternalId),
            Self::PhoneNumber => Some(Condition::PhoneNumber),
            Self::Status => Some(Condition::Status),
            Self::Ids | Self::Lookups(_) | Self::Words | Self::Range(_) | Self::Sort => None,
        }
    }

    /// The conditions that the driver does not answer.
    pub fn residuals(&self, equals: &Equals) -> impl Iterator<Item = Condition> {
        let driving = self.condition();
        let is_residual =
            move |condition: &Condition| condition.is_in(equals) && Some(*condition) != driving;
        Condition::ALL.into_iter().filter(is_residual)
    }

    /// Where the rows of a page begin. Within one address the order by address is the order by id.
    /// A page may still begin after another address: then all rows follow it, or none.
    pub fn beginning<'q>(&self, query: &'q PageQuery) -> Beginning<'q> {
        let Some(after) = &query.after else { return Beginning::Start };
        if *self != Self::Email || query.sort.by != SortBy::Email {
            return Beginning::After(after);
        }
        let own = SortKey::Text(query.equals.email.clone());
        match order::compare_keys(&own, &after.key, query.sort.direction) {
            Ordering::Less => Beginning::Nowhere,
            Ordering::Equal => Beginning::After(after),
            Ordering::Greater => Beginning::Start,
        }
    }
}
