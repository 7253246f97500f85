//! Groups and their members: `/groups`, `/groups/{group_id}` and its `/members`.

mod list_query;

use std::collections::BTreeSet;

use axum::{extract::State, response::Response};
use roster_core::{
    Failure, Json, Outcome,
    access::{ReadUsers, WriteUsers},
    group::{GroupDraft, GroupEdit, MembersEdit},
    list::Total,
};

use self::list_query::{GroupListQuery, MemberListQuery};
use super::{
    page::{Envelope, PageResponse},
    respond::{create_response, delete_response, read_response, write_response},
};
use crate::{
    cursor::List,
    extract::{
        AcceptsJson, Authorized, AuthorizedBody, GroupIdPath, JSON, MemberPath, ReadOptions,
        WriteOptions, negotiate, parse_group_id,
    },
    pressure::Class,
    problem::{Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// How many bytes a member takes on a page.
const MEMBER_BYTES: usize = 64;

/// `GET /groups`: returns a page of the groups, in the order of their ids.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    let parts = &call.parts;
    let media = negotiate(&parts.headers, &[JSON])?;
    let _admitted = app.pressure.admit(Class::of_list(parts.uri.query())).await?;
    let cursors = app.cursors.of(List::Groups, call.authority().actor());
    let query = GroupListQuery::read(parts.uri.query(), cursors)?;
    let response = PageResponse::new(&app, parts, media, false);
    if let Some(response) = response.without_page().await? {
        return Ok(response);
    }
    let page = app.directory.groups().list(call.permit()?, query.page.clone()).await?;
    let next = page.next.map(|place| query.seal(place)).transpose()?;
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let envelope =
        Envelope { next_cursor: next.as_deref(), total: page.total, ..Envelope::default() };
    let body = envelope.write_records(&page.items)?;
    Ok(response.page(page.position, body, target.as_deref()))
}

/// `POST /groups`: creates a group.
pub(crate) async fn create(
    State(app): State<AppState>,
    options: WriteOptions,
    body: AuthorizedBody<GroupDraft>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let groups = app.directory.groups();
    let write = groups.create(body.permit, body.value, BTreeSet::new(), terms);
    let outcome = execute(&app, &options, write).await?;
    create_response(&app, &options, outcome, "groups")
}

/// `GET /groups/{group_id}`: returns a group.
pub(crate) async fn get(
    State(app): State<AppState>,
    ReadOptions(preconditions): ReadOptions,
    GroupIdPath(id): GroupIdPath,
    Authorized(permit): Authorized<ReadUsers>,
) -> Result<Response, Problem> {
    let groups = app.directory.groups();
    let stored = app.pressure.with_admission(Class::Reads, groups.get(permit, id)).await?;
    read_response(stored.ok_or_else(not_found)?, preconditions)
}

/// `PUT /groups/{group_id}`: replaces the record of a group. Its members stay.
pub(crate) async fn replace(
    State(app): State<AppState>,
    options: WriteOptions,
    GroupIdPath(id): GroupIdPath,
    body: AuthorizedBody<GroupDraft>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let edit = GroupEdit::Replace(Box::new(body.value));
    let groups = app.directory.groups();
    let write = groups.change(body.permit, id, edit, MembersEdit::Keep, terms);
    let outcome = execute(&app, &options, write).await?;
    write_response(&app, &options, outcome)
}

/// `PATCH /groups/{group_id}`: changes members of the record by JSON Merge Patch (RFC 7396).
pub(crate) async fn patch(
    State(app): State<AppState>,
    options: WriteOptions,
    GroupIdPath(id): GroupIdPath,
    body: AuthorizedBody<Json>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let edit = GroupEdit::Patch(Box::new(body.value));
    let groups = app.directory.groups();
    let write = groups.change(body.permit, id, edit, MembersEdit::Keep, terms);
    let outcome = execute(&app, &options, write).await?;
    write_response(&app, &options, outcome)
}

/// `DELETE /groups/{group_id}`: deletes a group for good. Its members stay.
pub(crate) async fn delete(
    State(app): State<AppState>,
    options: WriteOptions,
    GroupIdPath(id): GroupIdPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let groups = app.directory.groups();
    let write = groups.delete(permit, id, options.terms(&call, b""));
    let outcome = execute(&app, &options, write).await?;
    delete_response(&app, &options, &outcome)
}

/// `GET /groups/{group_id}/members`: returns a page of the direct members of a group.
pub(crate) async fn list_members(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, Problem> {
    let parts = &call.parts;
    let media = negotiate(&parts.headers, &[JSON])?;
    let _admitted = app.pressure.admit(Class::of_list(parts.uri.query())).await?;
    let cursors = app.cursors.of(List::Members, call.authority().actor());
    let id = parse_group_id(call.segment())?;
    let query = MemberListQuery::read(id, parts.uri.query(), cursors)?;
    let (groups, permit) = (app.directory.groups(), call.permit()?);
    // HEAD and a tag that matches read no page. The group must exist for them too.
    groups.get(permit, id).await?.ok_or_else(not_found)?;
    let response = PageResponse::new(&app, parts, media, false);
    if let Some(response) = response.without_page().await? {
        return Ok(response);
    }
    let page = groups.members(permit, query.page).await?.ok_or_else(not_found)?;
    let next = page.next.map(|place| query.seal(place)).transpose()?;
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let total = query.count.then_some(Total::Exactly(page.total));
    let envelope = Envelope { next_cursor: next.as_deref(), total, ..Envelope::default() };
    let body = envelope.write(&page.items, page.items.len() * MEMBER_BYTES, |member, out| {
        let (id, kind) = (member.id, member.kind.as_str());
        out.extend_from_slice(format!("{{\"id\":\"{id}\",\"type\":\"{kind}\"}}").as_bytes());
        Some(())
    })?;
    Ok(response.page(page.position, body, target.as_deref()))
}

/// `PUT /groups/{group_id}/members/{member_id}`: adds a user or a group to a group.
pub(crate) async fn put_member(
    State(app): State<AppState>,
    options: WriteOptions,
    _: AcceptsJson,
    MemberPath(group, member): MemberPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let edit = MembersEdit::Delta { added: BTreeSet::from([member]), removed: BTreeSet::new() };
    let (groups, terms) = (app.directory.groups(), options.terms(&call, b""));
    let write = groups.change(permit, group, GroupEdit::Keep, edit, terms);
    let outcome = execute(&app, &options, write).await?;
    write_response(&app, &options, outcome)
}

/// `DELETE /groups/{group_id}/members/{member_id}`: removes a user or a group from a group.
pub(crate) async fn delete_member(
    State(app): State<AppState>,
    options: WriteOptions,
    MemberPath(group, member): MemberPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let (groups, terms) = (app.directory.groups(), options.terms(&call, b""));
    let edit = MembersEdit::Remove(member);
    let write = groups.change(permit, group, GroupEdit::Keep, edit, terms);
    let outcome = execute(&app, &options, write).await?;
    delete_response(&app, &options, &outcome)
}

fn not_found() -> Problem {
    Problem::new(ProblemCode::GroupNotFound)
}

/// Runs a write of a group. Its refusals speak of groups.
async fn execute(
    app: &AppState,
    options: &WriteOptions,
    write: impl Future<Output = Result<Outcome, Failure>> + Send,
) -> Result<Outcome, Problem> {
    options.execute(app, async { write.await.map_err(Problem::of_group) }).await
}
