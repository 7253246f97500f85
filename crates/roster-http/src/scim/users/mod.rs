//! Users of SCIM: `/scim/v2/Users` and `/scim/v2/Users/{id}`.

mod page;

use std::sync::Arc;

use axum::{extract::State, response::Response};
use http::StatusCode;
use roster_core::{
    Outcome, Refusal, Stored, Terms, User, UserId, Work,
    access::{Permit, ReadUsers, WriteUsers},
    group::GroupsOf,
    json::separate,
    limits::COMPARISONS_MAX,
    list::PageQuery,
};
use roster_scim::{
    ListRequest, Projection, ScimError, ScimType, filter,
    list::COUNT_DEFAULT,
    user::{self, UserBody, UserPatch, UserWriter, entity_tag, location, shows_groups},
};

pub(super) use self::page::lower_bound;
use self::page::{by_cursor, by_index};
use super::{
    ScimProblem,
    edit::apply_patch,
    extract::{
        NewUser, Presentation, ScimBody, ScimPreconditions, ScimUserId, ScimWrite, no_such_user,
    },
    resources::{Reader, Resources},
    respond::{base, delete_response, not_modified, resource, write_response},
};
use crate::limits::scim::PAGE_GROUPS_MAX;
use crate::{
    extract::Authorized,
    limits::admission::Class,
    problem::{Problem, ProblemCode},
    request::Call,
    state::AppState,
    turns::Turns,
};

/// The approximate size of a user in a response, in bytes, in addition to its record.
const USER_BYTES: usize = 640;

/// The number of users whose groups are read at once.
const USERS_AT_ONCE: usize = 100;

/// `POST /scim/v2/Users`: creates a user (RFC 7644 section 3.3).
pub(crate) async fn create(
    State(app): State<AppState>,
    write: ScimWrite,
    body: ScimBody<NewUser>,
) -> Result<Response, ScimProblem> {
    let terms = body.terms(&write);
    let change = app.directory.create(body.permit, body.value.0, terms);
    let outcome = write.execute(&app, change).await?;
    user_response(&app, body.read_permit, &write, StatusCode::CREATED, &outcome).await
}

/// `GET /scim/v2/Users/{id}`: returns a user (RFC 7644 section 3.4.1).
pub(crate) async fn get(
    State(app): State<AppState>,
    Presentation { media, projection }: Presentation,
    ScimPreconditions { if_match, if_none_match }: ScimPreconditions,
    ScimUserId(id): ScimUserId,
    Authorized(permit): Authorized<ReadUsers>,
) -> Result<Response, ScimProblem> {
    let get = app.directory.get(permit, id);
    let stored = app.admission.with_admission(Class::Reads, get).await?.ok_or_else(no_such_user)?;
    let version = stored.version;
    if if_match.is_some_and(|tags| !tags.hold(version)) {
        return Err(user::refused(&Refusal::VersionMismatch { current: version }).into());
    }
    let location = location(&base(&app), id);
    let (body, tag) = user_json(&app, permit, &stored, &projection).await?;
    let opaque = tag.trim_start_matches("W/").trim_matches('"');
    if if_none_match.is_some_and(|tags| tags.hold_weakly(opaque)) {
        return Ok(not_modified(&tag, &location));
    }
    Ok(resource(body, media, &tag, &location))
}

/// `PUT /scim/v2/Users/{id}`: replaces a user. Never creates one (RFC 7644 section 3.5.1).
pub(crate) async fn replace(
    State(app): State<AppState>,
    write: ScimWrite,
    ScimUserId(id): ScimUserId,
    body: ScimBody<UserBody>,
) -> Result<Response, ScimProblem> {
    let terms = body.terms(&write);
    let change = Box::pin(replace_user(&app, body.permit, id, body.value, terms));
    let outcome = write.execute(&app, change).await?;
    user_response(&app, body.read_permit, &write, StatusCode::OK, &outcome).await
}

/// `PATCH /scim/v2/Users/{id}`: changes a user by operations (RFC 7644 section 3.5.2).
///
/// In addition to the errors of the extractors, fails with 404 if there is no such user, with 409
/// if another user has the username, address or external id, with 412 if a precondition does not
/// hold, and with 400 if an operation or the result is invalid.
pub(crate) async fn patch(
    State(app): State<AppState>,
    write: ScimWrite,
    ScimUserId(id): ScimUserId,
    body: ScimBody<UserPatch>,
) -> Result<Response, ScimProblem> {
    let terms = body.terms(&write);
    let work = Work::new(COMPARISONS_MAX);
    let change = Box::pin(patch_user(&app, body.permit, id, body.value, terms, &work));
    let outcome = write.execute(&app, change).await?;
    user_response(&app, body.read_permit, &write, StatusCode::OK, &outcome).await
}

/// `DELETE /scim/v2/Users/{id}`: deletes a user (RFC 7644 section 3.6).
pub(crate) async fn delete(
    State(app): State<AppState>,
    write: ScimWrite,
    ScimUserId(id): ScimUserId,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, ScimProblem> {
    let change = app.directory.delete(permit, id, write.options.terms(&call));
    Ok(delete_response(&write.execute(&app, change).await?))
}

/// The response to a write, with the resource as it is now.
async fn user_response(
    app: &AppState,
    permit: Permit<ReadUsers>,
    write: &ScimWrite,
    status: StatusCode,
    outcome: &Outcome,
) -> Result<Response, ScimProblem> {
    let location = location(&base(app), outcome.stored.id);
    let body = user_json(app, permit, &outcome.stored, &write.presentation.projection);
    write_response(write, status, outcome, &location, body).await
}

/// The JSON of a user, and its entity tag.
async fn user_json(
    app: &AppState,
    permit: Permit<ReadUsers>,
    stored: &Stored,
    projection: &Projection,
) -> Result<(Vec<u8>, String), ScimProblem> {
    let groups = groups_of(app, permit, vec![stored.id], projection).await?;
    let mut body = Vec::with_capacity(stored.record.len() + USER_BYTES);
    let (base, schema) = (base(app), app.directory.schema());
    let writer = UserWriter::new(&base, projection, &schema);
    write_user(&writer, stored, &groups, &mut body)?;
    let groups = groups.get(&stored.id).map(Vec::as_slice).unwrap_or_default();
    Ok((body, entity_tag(stored.version, groups)))
}

fn write_user(
    writer: &UserWriter<'_>,
    stored: &Stored,
    groups: &GroupsOf,
    out: &mut Vec<u8>,
) -> Result<(), Problem> {
    let groups = groups.get(&stored.id).map(Vec::as_slice).unwrap_or_default();
    let written = writer.write(&stored.record, groups, out);
    written.ok_or_else(|| Problem::new(ProblemCode::Internal))
}

/// The direct groups of users, if they are shown. Fails if they are too many for one response.
async fn groups_of(
    app: &AppState,
    permit: Permit<ReadUsers>,
    users: Vec<UserId>,
    projection: &Projection,
) -> Result<GroupsOf, ScimProblem> {
    if users.is_empty() || !shows_groups(projection) {
        return Ok(GroupsOf::new());
    }
    let (mut all, mut shown) = (GroupsOf::new(), 0);
    for users in users.chunks(USERS_AT_ONCE) {
        let groups = app.directory.groups_of(permit, users.to_vec()).await?;
        shown += groups.values().map(Vec::len).sum::<usize>();
        if shown > PAGE_GROUPS_MAX {
            let detail = format!(
                "the users of the page are in more than {PAGE_GROUPS_MAX} groups together: lower \
                 count, or send excludedAttributes=groups"
            );
            return Err(ScimError::new(ScimType::TooMany, detail).into());
        }
        all.extend(groups);
    }
    Ok(all)
}

/// Replaces a user. The members that the client does not know are those of the record that the
/// writer loaded.
pub(super) async fn replace_user(
    app: &AppState,
    permit: Permit<WriteUsers>,
    id: UserId,
    body: UserBody,
    terms: Terms,
) -> Result<Outcome, ScimProblem> {
    let work = Work::new(COMPARISONS_MAX);
    let replace = move |user: &User, work: &Work| body.replacing(user, work);
    let edit = |edit| app.directory.replace_by(permit, id, edit, terms.clone());
    Ok(apply_patch(app, &work, replace, edit).await??)
}

/// Patches a user. The operations are applied to the SCIM form of the record that the writer
/// loaded, so that no other write comes in between.
pub(super) async fn patch_user(
    app: &AppState,
    permit: Permit<WriteUsers>,
    id: UserId,
    patch: UserPatch,
    terms: Terms,
    work: &Work,
) -> Result<Outcome, ScimProblem> {
    let base = base(app);
    let patch = move |user: &User, work: &Work| patch.apply(&base, user, work);
    let edit = |edit| app.directory.edit(permit, id, edit, terms.clone());
    Ok(apply_patch(app, work, patch, edit).await??)
}

/// The users of a page. In a list of all types, the end of the page is stored even if the page has
/// all users, because groups follow.
pub(super) async fn page(
    app: &AppState,
    reader: Reader<'_>,
    request: &ListRequest,
) -> Result<Resources, ScimProblem> {
    let mut query = PageQuery::first(request.count.unwrap_or(COUNT_DEFAULT));
    query.sort = request.sort;
    let schema = app.directory.schema();
    query.schema = Arc::clone(&schema);
    if let Some(text) = &request.filter {
        query =
            query.with(filter::expression(text, reader.strictness, &schema, request.all_types)?);
    }
    let found = match &request.cursor {
        Some(cursor) => by_cursor(app, reader, query, cursor, request.count).await?,
        None => by_index(app, reader, query, request.start_index, request.all_types).await?,
    };
    let ids = found.items.iter().map(|item| item.id).collect();
    let groups = groups_of(app, reader.permit, ids, &request.projection).await?;
    let base = base(app);
    let writer = UserWriter::new(&base, &request.projection, &schema);
    let bytes: usize = found.items.iter().map(|item| item.record.len() + USER_BYTES).sum();
    let mut text = Vec::with_capacity(bytes);
    let mut turns = Turns::default();
    for (index, item) in found.items.iter().enumerate() {
        separate(index, &mut text);
        write_user(&writer, item, &groups, &mut text)?;
        turns.take(text.len()).await;
    }
    // If users were deleted or restored during a walk, the resources after the users are counted
    // from the index at which the users ended. So a resource may be shown twice, but none is
    // missed.
    let total = if request.all_types { found.total.max(found.end) } else { found.total };
    Ok(Resources {
        total,
        start_index: found.start_index,
        next_cursor: found.next_cursor,
        items: found.items.len(),
        ends: found.end.is_some(),
        text,
    })
}
