//! Deleted users: `/deleted-users` and `/deleted-users/{user_id}`. They can be restored or purged.
//!
//! Error texts here mention deleted users, so that callers do not search the collection.

mod list_query;
mod record;

use axum::{extract::State, response::Response};
use bytes::Bytes;
use http::header::CONTENT_LOCATION;
use roster_core::{
    Failure, Mode, Outcome, Refusal, Stored, Taken,
    access::{PreviewPurges, PurgeUsers, ReadDeletedUsers, WriteUsers},
    list::{DeletedKey, PageKey, SortKey, Total},
};

use self::record::size;
pub(super) use self::{
    list_query::DeletedListQuery,
    record::{Shown, purge_at},
};
use super::{
    list::{ListRequest, PageFacts},
    respond::{delete_response, insert, read_response, write_response},
};
use crate::{
    extract::{
        AcceptsJson, Authorized, DeletedUserIdPath, ReadRecord, WriteOptions,
        deleted_user_not_found,
    },
    limits::admission::Class,
    problem::{Fault, Problem, ProblemCode, pointer_of},
    request::Call,
    state::AppState,
};

/// `GET /deleted-users`: returns a page of the deleted users, the last deleted first.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    let list = ListRequest::admit(&app, &call).await?;
    let DeletedListQuery { page: deleted_query, shown, query, cursors } =
        DeletedListQuery::read(&app, &call)?;
    if let Some(response) = list.without_page().await? {
        return Ok(response);
    }
    let _place = if deleted_query.has_tests() {
        Some(app.admission.admit_scan().await?)
    } else {
        app.admission.admit_page(list.class, deleted_query.limit).await?
    };
    let page =
        app.directory.list_deleted(call.permit::<ReadDeletedUsers>()?, deleted_query).await?;
    let total = query.count.then_some(Total::Exactly(page.total));
    let next = page.next.map(|DeletedKey { at, id }| PageKey { key: SortKey::Time(at), id });
    let facts = PageFacts { position: page.position, next, total, examined: page.examined };
    let items = (page.items.as_slice(), page.items.iter().map(size).sum());
    list.respond((&query, &cursors), facts, items, |deleted, out| shown.write(deleted, out))
}

/// `GET /deleted-users/{user_id}`: returns a deleted user.
pub(crate) async fn get(
    State(app): State<AppState>,
    ReadRecord { preconditions, fields }: ReadRecord,
    DeletedUserIdPath(id): DeletedUserIdPath,
    Authorized(permit): Authorized<ReadDeletedUsers>,
) -> Result<Response, Problem> {
    let get = app.directory.get_deleted(permit, id);
    let deleted = app.admission.with_admission(Class::Reads, get).await?;
    let deleted = deleted.ok_or_else(deleted_user_not_found)?;
    let mut out = Vec::with_capacity(size(&deleted));
    let written = Shown::new(&fields, app.settings.deleted_keep).write(&deleted, &mut out);
    written.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    let stored = Stored { record: Bytes::from(out), ..deleted.stored };
    read_response(stored, preconditions)
}

/// `DELETE /deleted-users/{user_id}`: purges a deleted user permanently.
///
/// In addition to the errors of the extractors, fails with 404 if there is no such deleted user,
/// and with 412 if a precondition does not hold.
pub(crate) async fn purge(
    State(app): State<AppState>,
    Authorized(permit): Authorized<PurgeUsers>,
    options: WriteOptions,
    DeletedUserIdPath(id): DeletedUserIdPath,
    call: Call,
) -> Result<Response, Problem> {
    let terms = options.terms(&call);
    let write =
        async { app.directory.purge(permit, id, terms).await.map_err(deleted_user_problem) };
    let mut outcome = options.execute(&app, write).await?;
    if options.mode == Mode::DryRun && options.may_read {
        // The outcome of a purge has no record. A dry run shows the one that a purge would erase.
        let may_see = call.permit::<PreviewPurges>()?;
        let deleted = app.directory.get_deleted(may_see, id).await?;
        let deleted = deleted.ok_or_else(deleted_user_not_found)?;
        outcome = Outcome { stored: deleted.stored, ..outcome };
    }
    Ok(delete_response(&options, outcome))
}

/// `POST /deleted-users/{user_id}/restore`: returns a deleted user to the collection.
pub(crate) async fn restore(
    State(app): State<AppState>,
    options: WriteOptions,
    _: AcceptsJson,
    DeletedUserIdPath(id): DeletedUserIdPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let terms = options.terms(&call);
    let restore = app.directory.restore(permit, id, options.joins_groups, terms);
    let write = async { restore.await.map_err(deleted_user_problem) };
    let outcome = options.execute(&app, write).await?;
    let mut response = write_response(&options, outcome);
    if options.mode == Mode::Write {
        // The content is the user at its own URL (RFC 9110 section 8.7).
        let location = format!("{}/users/{id}", app.base_path());
        insert(response.headers_mut(), CONTENT_LOCATION, location)?;
    }
    Ok(response)
}

/// The problem of a failed write of a deleted user. Its text mentions deleted users.
fn deleted_user_problem(failure: Failure) -> Problem {
    match failure {
        Failure::Refused(Refusal::NotFound) => deleted_user_not_found(),
        Failure::Refused(Refusal::Taken(by_others)) => taken(by_others),
        Failure::Refused(refusal) => refusal.into(),
        Failure::Store(error) => error.into(),
    }
}

/// The problem if other users took unique values of the deleted one meanwhile.
fn taken(by_others: Taken) -> Problem {
    let Taken { username, email, external_id, indexed } = by_others;
    let held = [
        (username.is_some(), ProblemCode::UsernameTaken, "/username", "username"),
        (email, ProblemCode::EmailTaken, "/email", "primary address"),
        (external_id, ProblemCode::ExternalIdTaken, "/external_id", "external id"),
    ];
    let held = held.into_iter().filter(|(taken, ..)| *taken);
    let held = held.map(|(_, code, pointer, name)| (code, pointer.to_owned(), name.to_owned()));
    let of_index = |member: String| (ProblemCode::AttributeTaken, pointer_of(&member), member);
    let held: Vec<_> = held.chain(indexed.into_iter().map(of_index)).collect();
    let code = held.first().map_or(ProblemCode::UsernameTaken, |(code, ..)| *code);
    let names: Vec<&str> = held.iter().map(|(.., name)| name.as_str()).collect();
    let detail = format!(
        "another user has the {} now; change or delete that user, then restore this one",
        names.join(" and the ")
    );
    let faults = held.into_iter().map(|(code, pointer, name)| {
        Fault::at(pointer, code.as_str(), format!("another user has this {name} now"))
    });
    Problem::saying(code, detail).with_faults(faults.collect())
}
