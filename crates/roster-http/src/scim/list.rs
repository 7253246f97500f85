//! Pages of users and of groups: `GET` and `POST .search` (RFC 7644 sections 3.4.2 and 3.4.3, RFC
//! 9865).

use axum::{extract::State, response::Response};
use roster_core::json;
use roster_scim::{ListRequest, list::Envelope, schema::GROUP};

use super::{
    ScimProblem,
    extract::{NO_TAG, guard_filter, media, pairs, read_body, refuse_parameters, resource_type},
    groups,
    resources::{Reader, Resources, enclose},
    respond::json_text,
    users,
};
use crate::{
    extract::{Media, parameters, refuse_if_match},
    limits::time_limits::{ReadLimit, in_time},
    request::{Call, UnreadCall},
    state::AppState,
};

/// `GET /scim/v2/Users` and `GET /scim/v2/Groups`: returns a page.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, ScimProblem> {
    let media = media(&call.parts)?;
    refuse_if_match(&call.parts.headers, NO_TAG)?;
    let given = parameters(call.parts.uri.query())?;
    let resource_type = resource_type(call.context().operation);
    let (schema, strictness) = (app.directory.schema(), call.strictness());
    let request = ListRequest::of_parameters(resource_type, &schema, pairs(&given), strictness)?;
    guard_filter(&app, &request)?;
    page(&app, &call, &request, media).await
}

/// `POST /scim/v2/Users/.search` and `POST /scim/v2/Groups/.search`: returns a page.
pub(crate) async fn search(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, ScimProblem> {
    let media = media(&call.parts)?;
    refuse_if_match(&call.parts.headers, NO_TAG)?;
    refuse_parameters(&call.parts)?;
    let (call, json, _) = read_body(&app, call, json::read).await?;
    let resource_type = resource_type(call.context().operation);
    let request =
        ListRequest::of_body(resource_type, &app.directory.schema(), json, call.strictness())?;
    let limit = ReadLimit::of(app.settings.read_wait_max, &call.parts.headers);
    in_time(limit, page(&app, &call, &request, media)).await?
}

async fn page(
    app: &AppState,
    call: &Call,
    request: &ListRequest,
    media: Media,
) -> Result<Response, ScimProblem> {
    let reader = Reader::of(call)?;
    let found = if resource_type(call.context().operation).name == GROUP.name {
        groups::page(app, reader, request).await?
    } else {
        users::page(app, reader, request).await?
    };
    let Resources { total, start_index, items, next_cursor, .. } = found;
    let envelope = Envelope { total, start_index, items, next_cursor };
    Ok(json_text(enclose(&envelope, &[&found.text]), media))
}
