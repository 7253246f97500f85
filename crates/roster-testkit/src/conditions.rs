//! Equality conditions of a list, by their keys.

use roster_core::{Attribute, Status, UserId, filter::Expression, list::PageQuery};

/// Conditions that a user must all match. Texts are keys, as [`roster_core::keys`] makes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// One of these ids.
    pub ids: Option<Vec<UserId>>,
    /// The user name.
    pub username: Option<String>,
    /// The primary e-mail address.
    pub email: Option<String>,
    /// The external id.
    pub external_id: Option<String>,
    /// The primary telephone number.
    pub phone_number: Option<String>,
    /// The status.
    pub status: Option<Status>,
}

impl Conditions {
    /// The query with these conditions.
    pub fn of(&self, query: PageQuery) -> PageQuery {
        let texts = [
            (Attribute::Username, &self.username),
            (Attribute::Email, &self.email),
            (Attribute::ExternalId, &self.external_id),
            (Attribute::PhoneNumber, &self.phone_number),
        ];
        let ids = self.ids.clone().map(Expression::ids).into_iter();
        let equal = |(attribute, key): (Attribute, &Option<String>)| {
            Some(Expression::equal(attribute, key.clone()?))
        };
        ids.chain(texts.into_iter().filter_map(equal))
            .chain(self.status.map(Expression::status))
            .fold(query, PageQuery::with)
    }
}
