//! `GET /scim/v2` and `POST /scim/v2/.search`: one page of all resources, the users before the
//! groups (RFC 7644 sections 3.4.2.1 and 3.4.3).
//!
//! An attribute that only one type has, has no value in resources of the other. If neither type has
//! it, the filter is an error. Pages are by index only.

use axum::{extract::State, response::Response};
use roster_core::{
    json,
    list::{Direction, Sort, SortBy},
};
use roster_scim::{
    ListRequest, ScimError, ScimType,
    list::{COUNT_DEFAULT, Envelope},
    schema::{GROUP, USER},
};

use super::{
    ScimProblem,
    extract::{guard_filter, media, pairs, read_body},
    groups,
    resources::{Reader, enclose},
    respond::json_text,
    users,
};
use crate::{
    extract::{Media, parameters},
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
    let (call, json, _) = read_body(&app, call, json::read).await?;
    let limit = ReadLimit::of(app.settings.read_wait_max, &call.parts.headers);
    let strictness = call.strictness();
    let schema = app.directory.schema();
    let of_users = ListRequest::of_body(&USER, &schema, json.clone(), strictness)?;
    let of_groups = ListRequest::of_body(&GROUP, &schema, json, strictness)?;
    in_time(limit, page(&app, &call, of_users, of_groups, media)).await?
}

/// `GET /scim/v2`: returns a page. Identity providers test a connection with it.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, ScimProblem> {
    let media = media(&call.parts)?;
    let given = parameters(call.parts.uri.query())?;
    let schema = app.directory.schema();
    let of_users = ListRequest::of_parameters(&USER, &schema, pairs(&given))?;
    let of_groups = ListRequest::of_parameters(&GROUP, &schema, pairs(&given))?;
    guard_filter(&app, &of_users)?;
    page(&app, &call, of_users, of_groups, media).await
}

async fn page(
    app: &AppState,
    call: &Call,
    mut of_users: ListRequest,
    mut of_groups: ListRequest,
    media: Media,
) -> Result<Response, ScimProblem> {
    (of_users.all_types, of_groups.all_types) = (true, true);
    let reader = Reader::of(call)?;
    if of_users.cursor.is_some() {
        let detail = "a walk by cursor is one of /Users or of /Groups; here pages go by startIndex";
        return Err(ScimError::new(ScimType::InvalidCursor, detail).into());
    }
    let by_id = Sort { by: SortBy::Id, direction: Direction::Ascending };
    if of_users.sort != by_id || of_groups.sort != by_id {
        let detail = "sortBy: resources of several types can be ordered only by id, ascending";
        return Err(ScimError::new(ScimType::InvalidValue, detail).into());
    }
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
