//! The change log: `/events`, and `/users/{user_id}/events` for one user.
//!
//! `Roster-Position` says how far a page reaches, also where it shows nothing. A subscriber that
//! continues there misses nothing and sees nothing twice.

mod envelope;
mod list_query;

use axum::{body::Body, extract::State, response::Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, IF_MATCH, LINK};
use roster_core::Position;

use self::{envelope::envelope, list_query::EventListQuery};
use super::{
    page::link,
    respond::{PRIVATE, position},
};
use crate::{
    extract::{EntityTags, JSON, negotiate, parse_user_id, tags},
    pressure::Class,
    problem::{Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// `GET /events`: returns a page of the change log.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    read(&app, &call, None).await
}

/// `GET /users/{user_id}/events`: returns a page of the events of a user.
pub(crate) async fn list_of_user(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, Problem> {
    read(&app, &call, Some(call.segment())).await
}

async fn read(app: &AppState, call: &Call, user: Option<&str>) -> Result<Response, Problem> {
    let parts = &call.parts;
    negotiate(&parts.headers, &[JSON])?;
    let _admitted = app.pressure.admit(Class::of_list(parts.uri.query())).await?;
    // There is no tag that an If-Match could name (RFC 9110 section 13.1.1).
    if matches!(tags(&parts.headers, &IF_MATCH)?, Some(EntityTags::List(_))) {
        let detail = "events have no tag, so no If-Match matches";
        return Err(Problem::saying(ProblemCode::VersionMismatch, detail));
    }
    let id = user.map(parse_user_id).transpose()?;
    let query = EventListQuery::read(parts.uri.query(), id)?;
    let log = app.directory.log_id();
    query.check_log(log)?;
    let permit = call.permit()?;
    let mut page = app.directory.events(permit, query.page).await?;
    page.events.retain(|(_, event)| query.shows.show(event.kind));
    query.check(&page)?;
    if let Some(id) = id
        && page.events.is_empty()
        && !app.directory.is_known(permit, id, page.oldest - 1).await?
    {
        let detail = "the change log has no events of a user with this id";
        return Err(Problem::saying(ProblemCode::UserNotFound, detail));
    }
    let more = page.reached < page.head;
    let next = more.then(|| Position { log, number: page.reached }.to_string());
    let body = envelope(&page, log, &app.settings.base_url, next.as_deref())?;
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    position(headers, log, page.reached);
    let target = next.map(|cursor| query.target(parts.uri.path(), &cursor));
    if let Some(link) = target.as_deref().and_then(link) {
        headers.insert(LINK, link);
    }
    Ok(response)
}
