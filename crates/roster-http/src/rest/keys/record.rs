//! A key as JSON.

use roster_core::{
    Json, Timestamp,
    access::{ApiKey, Reach, Token},
};

/// The key without its secret. Members without a value are left out.
pub(super) fn record(key: &ApiKey, now: Timestamp) -> Json {
    Json::Object(members(key, now))
}

/// The key with its text, for the responses to creation and rotation.
pub(super) fn revealed(key: &ApiKey, token: &Token, now: Timestamp) -> Json {
    let mut members = members(key, now);
    members.push(("key".to_owned(), Json::Text(token.reveal().to_owned())));
    Json::Object(members)
}

fn members(key: &ApiKey, now: Timestamp) -> Vec<(String, Json)> {
    let text = |text: &str| Some(Json::Text(text.to_owned()));
    let time = |moment: Timestamp| Json::Text(moment.to_string());
    let scopes = key.scopes.iter().map(|scope| Json::Text(scope.as_str().to_owned())).collect();
    let former = key.former.filter(|former| former.until > now);
    let members = [
        ("id", text(key.id.as_str())),
        ("name", text(&key.name)),
        ("state", text(key.state(now).as_str())),
        // The same value under the member name that users have.
        ("status", text(key.state(now).as_str())),
        ("scopes", Some(Json::Array(scopes))),
        ("tenants", (key.reach == Reach::All).then(|| Json::Text("all".to_owned()))),
        ("created_at", Some(time(key.created_at))),
        ("created_by", text(&key.created_by)),
        ("expires_at", key.expires_at.map(time)),
        ("rotated_at", key.rotated_at.map(time)),
        ("former_secret_until", former.map(|former| time(former.until))),
        ("revoked_at", key.revoked_at.map(time)),
        ("last_used_at", key.last_used_at.map(time)),
    ];
    let present = |(name, value): (&str, Option<Json>)| value.map(|value| (name.to_owned(), value));
    members.into_iter().filter_map(present).collect()
}
