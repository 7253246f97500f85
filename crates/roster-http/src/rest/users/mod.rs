//! Users: `/users` and `/users/{user_id}`.

pub(crate) mod bulk;
mod list_query;

use axum::{
    extract::{FromRequest as _, FromRequestParts as _, Request, State},
    response::Response,
};
use roster_core::{
    Draft, Json,
    access::{ReadUsers, WriteUsers},
    plan::Plan,
};

use self::list_query::ListQuery;
use super::{
    page::{Envelope, PageResponse},
    respond::{create_response, delete_response, read_response, write_response},
};
use crate::{
    cursor::List,
    extract::{
        Authorized, AuthorizedBody, JSON, NDJSON, ReadOptions, UserIdPath, WriteOptions, negotiate,
        sends_lines,
    },
    pressure::Class,
    problem::{Problem, ProblemCode},
    request::{Call, UnreadCall},
    state::AppState,
};

/// `GET /users`: returns a page of the collection, or all of it as NDJSON.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    let parts = &call.parts;
    let media = negotiate(&parts.headers, &[JSON, NDJSON])?;
    if media == NDJSON {
        return bulk::export(&app, &call).await;
    }
    let permit = call.permit()?;
    let class = Class::of_list(parts.uri.query());
    let _admitted = app.pressure.admit(class).await?;
    let cursors = app.cursors.of(List::Users, call.authority().actor());
    let query = ListQuery::read(parts.uri.query(), cursors)?;
    let response = PageResponse::new(&app, parts, media, true);
    if let Some(response) = response.without_page().await? {
        return Ok(response);
    }
    let is_scan = class == Class::Lists && !Plan::of(&query.page).is_bounded(&query.page);
    let _scan = if is_scan { Some(app.pressure.admit_scan().await?) } else { None };
    let page = app.directory.list(permit, query.page.clone()).await?;
    let next = page.next.as_ref().map(|place| query.seal(place)).transpose()?;
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let (next_cursor, examined) = (next.as_deref(), page.examined);
    let envelope = Envelope { next_cursor, examined, total: page.total };
    let body = match &query.members {
        None => envelope.write_records(&page.items)?,
        Some(members) => {
            envelope.write(&page.items, 0, |item, out| members.project(&item.record, out))?
        }
    };
    Ok(response.page(page.position, body, target.as_deref()))
}

/// `POST /users`: creates a user, or imports users that are sent as NDJSON.
pub(crate) async fn create(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    if sends_lines(request.headers()) {
        return bulk::import(&app, UnreadCall::from_request(request, &app).await?).await;
    }
    let (mut parts, body) = request.into_parts();
    let options = WriteOptions::from_request_parts(&mut parts, &app).await?;
    let request = Request::from_parts(parts, body);
    let body = AuthorizedBody::<Draft>::from_request(request, &app).await?;
    let terms = body.terms(&options);
    let write = app.directory.create(body.permit, body.value, terms);
    let outcome = options.execute(&app, write).await?;
    create_response(&app, &options, outcome, "users")
}

/// `GET /users/{user_id}`: returns a user.
pub(crate) async fn get(
    State(app): State<AppState>,
    ReadOptions(preconditions): ReadOptions,
    UserIdPath(id): UserIdPath,
    Authorized(permit): Authorized<ReadUsers>,
) -> Result<Response, Problem> {
    let get = app.directory.get(permit, id);
    let stored = app.pressure.with_admission(Class::Reads, get).await?;
    let stored = stored.ok_or_else(|| Problem::new(ProblemCode::UserNotFound))?;
    read_response(stored, preconditions)
}

/// `PUT /users/{user_id}`: replaces a user. Never creates one.
///
/// Beside what the extractors fail with: 404 if there is no such user, 409 if another user has the
/// user name, address or external id, 412 if a precondition does not hold, 422 if the record is
/// invalid, and 428 if the body leaves out fields that the user has and names no version.
pub(crate) async fn replace(
    State(app): State<AppState>,
    options: WriteOptions,
    UserIdPath(id): UserIdPath,
    body: AuthorizedBody<Draft>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let write = app.directory.replace(body.permit, id, body.value, terms);
    let outcome = options.execute(&app, write).await?;
    write_response(&app, &options, outcome)
}

/// `PATCH /users/{user_id}`: changes members of a user by JSON Merge Patch (RFC 7396).
pub(crate) async fn patch(
    State(app): State<AppState>,
    options: WriteOptions,
    UserIdPath(id): UserIdPath,
    body: AuthorizedBody<Json>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let write = app.directory.patch(body.permit, id, body.value, terms);
    let outcome = options.execute(&app, write).await?;
    write_response(&app, &options, outcome)
}

/// `DELETE /users/{user_id}`: deletes a user, who can be restored for a while.
pub(crate) async fn delete(
    State(app): State<AppState>,
    options: WriteOptions,
    UserIdPath(id): UserIdPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let write = app.directory.delete(permit, id, options.terms(&call, b""));
    let outcome = options.execute(&app, write).await?;
    delete_response(&app, &options, &outcome)
}
