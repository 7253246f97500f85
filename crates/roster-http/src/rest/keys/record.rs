//! A key as JSON.

use roster_core::{
    Json, Timestamp,
    access::{ApiKey, Token},
};

/// The key without its secret. Members without a value are left out.
pub(super) fn record(key: &ApiKey, now: Timestamp) -> Json {
    Json::Object(key.members(now))
}

/// The key with its text, for the responses to creation and rotation.
pub(super) fn revealed(key: &ApiKey, token: &Token, now: Timestamp) -> Json {
    let mut members = key.members(now);
    members.push(("key".to_owned(), Json::Text(token.reveal().to_owned())));
    Json::Object(members)
}
