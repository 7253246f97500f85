//! The change log: `/events`, and `/users/{user_id}/events` for one user.
//!
//! `Roster-Position` states how far a page reaches, even if the page is empty. A subscriber that
//! continues there gets every event exactly once.

mod envelope;
mod list_query;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LINK};
use roster_core::Position;

use self::{envelope::envelope, list_query::EventListQuery};
use super::{
    list::{link, refuse_if_match},
    respond::{PRIVATE, position},
};
use crate::{
    extract::{JSON, negotiate, parse_user_id},
    limits::admission::Class,
    problem::{Fault, Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// Rejects the events of all tenants for other callers than the operator, and below a tenant.
fn admit_to_all_tenants(app: &AppState, call: &Call) -> Result<(), Problem> {
    if app.tenant.is_some() {
        let detail = "the events of all tenants are at the base URL of the service";
        let fault = Fault::of_parameter("tenants", "conflicting-parameter", detail);
        return Err(Problem::saying(ProblemCode::InvalidQuery, detail).with_faults(fault.into()));
    }
    if !call.authority().is_operator() {
        return Err(Problem::new(ProblemCode::OperatorKeyRequired));
    }
    Ok(())
}

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
    let _admitted = app.admission.admit(Class::of_list(parts.uri.query())).await?;
    refuse_if_match(&call.parts.headers, "events have no tag, so no If-Match matches")?;
    let id = user.map(parse_user_id).transpose()?;
    let query = EventListQuery::read(parts.uri.query(), id)?;
    if query.page.all_tenants {
        admit_to_all_tenants(app, call)?;
    }
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
    let body = envelope(&page, log, (&app.base_url, app.tenant.as_ref()), next.as_deref())?;
    let headers = [(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, PRIVATE)];
    let mut response = (headers, body).into_response();
    let headers = response.headers_mut();
    position(headers, log, page.reached);
    let target = next.map(|cursor| query.target(&app.external_path(parts.uri.path()), &cursor));
    if let Some(link) = target.as_deref().and_then(link) {
        headers.insert(LINK, link);
    }
    Ok(response)
}
