//! The lookup keys of a user, which uniqueness, equality and order compare.
//!
//! Keys are computed in Rust for every engine and the oracle, so all comparisons agree: an engine
//! stores keys and compares bytes. The order is by code point of the key, not by the alphabet of a
//! language.

use std::collections::BTreeSet;

use crate::{
    text::{email_key, fold_key, phone_key, username_fold, username_key},
    timestamp::Timestamp,
    user::{Status, User, attribute::Attribute, part::Part},
};

/// The keys of one user. `None` means that the member is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The PRECIS key of the username (RFC 8265 UsernameCaseMapped).
    pub username: String,
    /// The key of the primary e-mail address.
    pub email: Option<String>,
    /// The key of the primary telephone number.
    pub phone_number: Option<String>,
    /// The external id, exactly as stored.
    pub external_id: Option<String>,
    /// The case-folded family name.
    pub family_name: Option<String>,
    /// The case-folded full name.
    pub name: Option<String>,
    /// When the user expires, as text: its order is that of times.
    pub expires_at: Option<String>,
    /// The status.
    pub status: Status,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

impl Keys {
    /// The keys of a user.
    pub fn of(user: &User) -> Self {
        let profile = &user.profile;
        Self {
            username: profile.text(Attribute::Username).map(username_lookup).unwrap_or_default(),
            email: profile.primary_value(Attribute::Emails).map(email_key),
            phone_number: profile.primary_value(Attribute::PhoneNumbers).map(phone_key),
            external_id: profile.text(Attribute::ExternalId).map(str::to_owned),
            family_name: profile.text(Attribute::FamilyName).map(fold_key),
            name: profile.text(Attribute::Name).map(fold_key),
            expires_at: profile.text(Attribute::ExpiresAt).map(str::to_owned),
            status: user.status,
            updated_at: user.updated_at,
        }
    }
}

/// The keys of the e-mail addresses other than the primary one; sorted, without duplicates.
pub fn further_emails(user: &User) -> Vec<String> {
    further(user, Attribute::Emails, email_key)
}

/// The keys of the telephone numbers other than the primary one; sorted, without duplicates.
pub fn further_phone_numbers(user: &User) -> Vec<String> {
    further(user, Attribute::PhoneNumbers, phone_key)
}

fn further(user: &User, list: Attribute, key: fn(&str) -> String) -> Vec<String> {
    let entries = user.profile.entries(list);
    if entries.len() < 2 {
        return Vec::new();
    }
    let primary = user.profile.primary_value(list).map(key);
    let keys = entries.iter().filter_map(|entry| entry.text(Part::Value)).map(key);
    let keys: BTreeSet<String> = keys.filter(|key| Some(key) != primary.as_ref()).collect();
    keys.into_iter().collect()
}

/// The key by which a username is looked up and ordered. The key of an invalid username, such as
/// some e-mail addresses are, ends with a space, so no valid username has the same key.
pub fn username_lookup(typed: &str) -> String {
    username_key(typed).unwrap_or_else(|_| format!("{} ", username_fold(typed)))
}
