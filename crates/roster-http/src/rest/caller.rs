//! The caller of the request: `/caller`.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use roster_core::{
    Actor, Json,
    access::{Authority, Permit, Reach},
    json::write_json,
};

use crate::{
    extract::{JSON, PlainJson},
    problem::{NO_STORE, Problem},
    request::Call,
    state::AppState,
};

/// `GET /caller`: returns who the caller is, what its credential permits, and until when.
pub(crate) async fn get(
    State(app): State<AppState>,
    _: PlainJson,
    call: Call,
) -> Result<Response, Problem> {
    let authority = call.authority();
    let (kind, name) = match authority.actor() {
        Actor::Anonymous | Actor::System | Actor::Expiry => ("anonymous", None),
        Actor::Subject { subject, .. } => ("subject", Some(subject.to_string())),
        Actor::Key(id) => {
            let key = app
                .access
                .keys
                .get(Permit::of_the_service(), *id, &Authority::of_the_service())
                .await?;
            ("key", key.map(|key| key.name))
        }
    };
    let is_operator = kind != "anonymous" && authority.reach() == Reach::All;
    let text = |text: &str| Json::Text(text.to_owned());
    let scopes = authority.scopes();
    let members = [
        ("kind", Some(text(kind))),
        ("actor", Some(Json::Text(authority.actor().to_string()))),
        ("name", name.map(Json::Text)),
        ("scopes", Some(Json::Array(scopes.iter().map(|scope| text(scope.as_str())).collect()))),
        ("tenant", app.tenant.as_ref().map(|tenant| text(tenant.as_str()))),
        ("tenants", is_operator.then(|| text("all"))),
        ("expires_at", authority.expires_at().map(|at| Json::Text(at.to_string()))),
        ("open", Some(Json::Bool(app.access.is_open()))),
    ];
    let present = |(name, value): (&str, Option<Json>)| value.map(|value| (name.to_owned(), value));
    let mut out = Vec::new();
    write_json(&mut out, &Json::Object(members.into_iter().filter_map(present).collect()));
    Ok(([(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, NO_STORE)], out).into_response())
}
