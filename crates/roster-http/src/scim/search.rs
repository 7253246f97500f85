//! `GET /scim/v2` and `POST /scim/v2/.search`: one page of all resources, the users before the
//! groups (RFC 7644 sections 3.4.2.1 and 3.4.3).
//!
//! An attribute that only one type has, has no value in resources of the other. If neither type has
//! it, the filter is an error. Pages are by index only.

use axum::{extract::State, response::Response};
use roster_core::json;
use roster_scim::{
    ListRequest,
    list::{COUNT_DEFAULT, Envelope},
};

use super::{
    ScimProblem,
    extract::{NO_TAG, guard_filter, media, pairs, read_body, refuse_parameters},
    groups,
    resources::{Reader, enclose},
    respond::json_text,
    users,
};
use crate::{
    extract::{Media, parameters, refuse_if_match},
    limits::time_limits::{ReadLimit, in_time},
    request::{Call, UnreadCall},
    state::AppState,
};

/// `POST /scim/v2/.search`: returns a page.
pub(crate) async fn search(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, ScimProblem> {
    let media = media(&call.parts)?;
    refuse_if_match(&call.parts.headers, NO_TAG)?;
    refuse_parameters(&call.parts)?;
    let (call, json, _) = read_body(&app, call, json::read).await?;
    let limit = ReadLimit::of(app.settings.read_wait_max, &call.parts.headers);
    let strictness = call.strictness();
    let schema = app.directory.schema();
    let requests = ListRequest::of_body_for_all(&schema, json, strictness)?;
    in_time(limit, page(&app, &call, requests, media)).await?
}

/// `GET /scim/v2`: returns a page. Identity providers test a connection with it.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, ScimProblem> {
    let media = media(&call.parts)?;
    refuse_if_match(&call.parts.headers, NO_TAG)?;
    let given = parameters(call.parts.uri.query())?;
    let schema = app.directory.schema();
    let requests = ListRequest::of_parameters_for_all(&schema, pairs(&given), call.strictness())?;
    let [of_users, _] = &requests;
    guard_filter(&app, of_users)?;
    page(&app, &call, requests, media).await
}

async fn page(
    app: &AppState,
    call: &Call,
    [of_users, mut of_groups]: [ListRequest; 2],
    media: Media,
) -> Result<Response, ScimProblem> {
    let reader = Reader::of(call)?;
    let (start, count) = (of_users.start_index, of_users.count.unwrap_or(COUNT_DEFAULT));
    let first = users::page(app, reader, &of_users).await?;
    let room = count.saturating_sub(first.items);
    of_groups.start_index = start.saturating_sub(first.total.unwrap_or(0)).max(1);
    // A page of users may end early because of its size. The remaining users come first on the next
    // page.
    of_groups.count = Some(if first.ends { room } else { 0 });
    let second = groups::page(app, reader, &of_groups).await?;
    let total = first.total.unwrap_or(0).saturating_add(second.total.unwrap_or(0));
    let envelope = Envelope {
        total: Some(total),
        start_index: Some(start),
        items: first.items + second.items,
        next_cursor: None,
    };
    Ok(json_text(enclose(&envelope, &[&first.text, &second.text]), media))
}
