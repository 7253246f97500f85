//! Users: `/users` and `/users/{user_id}`.

mod list_query;

use axum::{
    extract::{FromRequest as _, FromRequestParts as _, Request, State},
    response::Response,
};
use roster_core::{
    Draft, Effect, EventKind, Json, OnConflict,
    access::{ReadUsers, RestoreIds, WriteUsers},
    plan::Plan,
};

pub(super) use self::list_query::{ListForm, UserListQuery};
use super::{
    list::{ListRequest, PageFacts},
    respond::{
        create_response, delete_response, read_response, shown, tell_ignored_id, write_response,
    },
};
use crate::{
    extract::{Authorized, AuthorizedBody, Mergeable, ReadRecord, UserIdPath, WriteOptions},
    limits::admission::Class,
    problem::{Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// `GET /users`: returns a page of the collection.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    let list = ListRequest::admit(&app, &call).await?;
    let UserListQuery { page: page_query, fields, query, cursors } =
        UserListQuery::read(&app, &call, ListForm::Page, |_| Ok(false))?;
    if let Some(response) = list.without_page().await? {
        return Ok(response);
    }
    let is_scan = list.class == Class::Lists && !Plan::of(&page_query).is_bounded(&page_query);
    let _place = if is_scan {
        Some(app.admission.admit_scan().await?)
    } else {
        app.admission.admit_page(list.class, page_query.limit).await?
    };
    let page = app.directory.list(call.permit()?, page_query).await?;
    let (position, next) = (page.position, page.next);
    let facts = PageFacts { position, next, total: page.total, examined: page.examined };
    list.respond_records((&query, &cursors), facts, &page.items, &fields)
}

/// `POST /users`: creates a user or updates the one that exists.
pub(crate) async fn create(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let mut options = WriteOptions::from_request_parts(&mut parts, &app).await?;
    let request = Request::from_parts(parts, body);
    let mut body = if options.upsert.on_conflict == OnConflict::Merge {
        AuthorizedBody::<Mergeable>::from_request(request, &app)
            .await?
            .map(|Mergeable(draft)| draft)
    } else {
        AuthorizedBody::<Draft>::from_request(request, &app).await?
    };
    if options.upsert.on_conflict != OnConflict::Fail {
        // The response may contain a user that the caller did not write.
        body.permit_to::<ReadUsers>()?;
    }
    if options.keeps_id {
        app.directory.keep_id(body.permit_to::<RestoreIds>()?, &mut body.value);
    }
    let terms = body.terms(&options);
    let sent_id = body.value.sent_id().map(str::to_owned);
    let write = app.directory.upsert(body.permit, body.value, options.upsert, terms);
    let outcome = options.execute(&app, write).await?;
    let (id, tells_id) = (outcome.stored.id, options.shows(outcome.effect));
    let mut response = if outcome.effect == Effect::Changed(EventKind::Created) {
        create_response(&app, &options, outcome, "users")?
    } else {
        // The caller does not know the id of this user, so `return=minimal` is not applied.
        options.preferred_return = None;
        write_response(&options, outcome)
    };
    if tells_id {
        tell_ignored_id(&mut response, sent_id.as_deref(), id);
    }
    Ok(response)
}

/// `GET /users/{user_id}`: returns a user, or 304 if `If-None-Match` has its tag.
///
/// In addition to the errors of the extractors, fails with 503 if the read is not admitted, with
/// 404 if there is no such user, and with 412 if `If-Match` does not hold.
pub(crate) async fn get(
    State(app): State<AppState>,
    ReadRecord { preconditions, fields }: ReadRecord,
    UserIdPath(id): UserIdPath,
    Authorized(permit): Authorized<ReadUsers>,
) -> Result<Response, Problem> {
    let get = app.directory.get(permit, id);
    let stored = app.admission.with_admission(Class::Reads, get).await?;
    let stored = stored.ok_or_else(|| Problem::new(ProblemCode::UserNotFound))?;
    read_response(shown(stored, &fields)?, preconditions)
}

/// `PUT /users/{user_id}`: replaces a user. Never creates one.
///
/// In addition to the errors of the extractors and of [`WriteOptions::execute`], fails, in this
/// order, with
///
/// - 422 if the `Idempotency-Key` was used for another request,
/// - 404 if there is no such user,
/// - 412 if a precondition does not hold,
/// - 422 if the record is invalid,
/// - 428 if `put_guard` is set, the body leaves out members that the user has, and the request has
///   no precondition and no `version`,
/// - 409 if another user has the username, the e-mail address or the external id.
pub(crate) async fn replace(
    State(app): State<AppState>,
    options: WriteOptions,
    UserIdPath(id): UserIdPath,
    body: AuthorizedBody<Draft>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let write = app.directory.replace(body.permit, id, body.value, terms);
    let outcome = options.execute(&app, write).await?;
    Ok(write_response(&options, outcome))
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
    Ok(write_response(&options, outcome))
}

/// `DELETE /users/{user_id}`: deletes a user, which can be restored until it is purged. A request
/// body is ignored.
///
/// Fails as [`replace`] does with 404, 412 and 503, and with 422 for a reused `Idempotency-Key`.
/// Fails with 428 if `delete_guard` is set and the request has no precondition.
pub(crate) async fn delete(
    State(app): State<AppState>,
    options: WriteOptions,
    UserIdPath(id): UserIdPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let write = app.directory.delete(permit, id, options.terms(&call));
    let outcome = options.execute(&app, write).await?;
    Ok(delete_response(&options, outcome))
}
