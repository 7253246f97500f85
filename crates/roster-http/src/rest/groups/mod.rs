//! Groups and their members: `/groups`, `/groups/{group_id}` and its `/members`.

mod list_query;

use std::collections::{BTreeMap, BTreeSet};

use axum::{extract::State, response::Response};
use roster_core::{
    Failure, Json, Member, MemberKind, Outcome, Stored, UserId,
    access::{Permit, ReadUsers, WriteUsers},
    filter::Expression,
    group::{GroupDraft, GroupEdit, GroupQuery, MembersEdit, MembersQuery},
    limits::{ID_PARAMETERS_MAX, NESTED_MEMBERSHIPS_MAX, PAGE_BYTES_MAX},
    list::{PageKey, PageQuery, SortKey, Total},
    project::Members,
};

pub(super) use self::list_query::GroupListQuery;
use super::{
    list::{ListQuery, ListRequest, PageFacts},
    respond::{
        create_response, delete_response, read_response, shown, tell_ignored_id, write_response,
    },
};
use crate::{
    cursor::List,
    extract::{
        AcceptsJson, Authorized, AuthorizedBody, Fields, GroupIdPath, MemberPath, ReadRecord,
        WriteOptions, boolean, parse_group_id, parse_user_id, refused, unknown,
    },
    limits::admission::Class,
    problem::{Fault, Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// The size of a member on a page, in bytes.
const MEMBER_BYTES: usize = 64;

/// `GET /groups`: returns a page of the groups.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    let list = ListRequest::admit(&app, &call).await?;
    let GroupListQuery { page: group_query, fields, query, cursors } =
        GroupListQuery::read(&app, &call)?;
    if let Some(response) = list.without_page().await? {
        return Ok(response);
    }
    let is_scan = list.class == Class::Lists && group_query.has_tests();
    let _scan = if is_scan { Some(app.admission.admit_scan().await?) } else { None };
    let page = app.directory.list_groups(call.permit()?, group_query).await?;
    let (position, next) = (page.position, page.next);
    let facts = PageFacts { position, next, total: page.total, examined: page.examined };
    list.respond_records((&query, &cursors), facts, &page.items, &fields)
}

/// `GET /users/{user_id}/groups`: returns a page of the groups that a user is a direct member of;
/// with `nested`, also of the groups that contain these.
pub(crate) async fn list_of_user(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, Problem> {
    let list = ListRequest::admit(&app, &call).await?;
    let user = parse_user_id(call.segment())?;
    let (mut nested, mut fields) = (false, Fields::of_groups());
    let query = ListQuery::read(call.parts.uri.query(), |parameter| {
        match parameter.name.as_ref() {
            "nested" => nested = boolean(&parameter.value())?,
            "fields" => fields.add(&parameter.value())?,
            _ => return Err(unknown()),
        }
        Ok(())
    })?;
    let cursors = app.cursors_of(List::Groups, call.authority().actor());
    let cursors = cursors.with("user_id", Some(user)).with("nested", nested.then_some("true"));
    let after = query.after(&cursors, id_of)?;
    let permit = call.permit()?;
    // HEAD and a matching tag need no page, but the user must exist.
    let found = app.directory.get(permit, user).await?;
    found.ok_or_else(|| Problem::new(ProblemCode::UserNotFound))?;
    if let Some(response) = list.without_page().await? {
        return Ok(response);
    }
    // Nested groups are read in several snapshots, of which this is the first.
    let before = if nested { Some(app.directory.head().await?.position) } else { None };
    let (ids, member) = if nested {
        let found = app.directory.nested_groups_of(permit, user).await?;
        (Some(found.ok_or_else(too_many_nested)?), None)
    } else {
        (None, Some(user))
    };
    let first = GroupQuery::first(query.limit);
    let after = after.map(key_of);
    let group_query = GroupQuery { after, count: query.count, ids, member, ..first };
    let page = app.directory.list_groups(permit, group_query).await?;
    let (position, next) = (before.unwrap_or(page.position), page.next);
    let facts = PageFacts { position, next, total: page.total, examined: None };
    list.respond_records((&query, &cursors), facts, &page.items, &fields)
}

/// `POST /groups`: creates a group.
pub(crate) async fn create(
    State(app): State<AppState>,
    options: WriteOptions,
    body: AuthorizedBody<GroupDraft>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let sent_id = body.value.sent_id().map(str::to_owned);
    let write = app.directory.create_group(body.permit, body.value, BTreeSet::new(), terms);
    let outcome = execute(&app, &options, write).await?;
    let (id, tells_id) = (outcome.stored.id, options.shows(outcome.effect));
    let mut response = create_response(&app, &options, outcome, "groups")?;
    if tells_id {
        tell_ignored_id(&mut response, sent_id.as_deref(), id);
    }
    Ok(response)
}

/// `GET /groups/{group_id}`: returns a group.
pub(crate) async fn get(
    State(app): State<AppState>,
    ReadRecord { preconditions, fields }: ReadRecord,
    GroupIdPath(id): GroupIdPath,
    Authorized(permit): Authorized<ReadUsers>,
) -> Result<Response, Problem> {
    let stored =
        app.admission.with_admission(Class::Reads, app.directory.get_group(permit, id)).await?;
    read_response(shown(stored.ok_or_else(not_found)?, &fields)?, preconditions)
}

/// `PUT /groups/{group_id}`: replaces the record of a group. Its members do not change.
pub(crate) async fn replace(
    State(app): State<AppState>,
    options: WriteOptions,
    GroupIdPath(id): GroupIdPath,
    body: AuthorizedBody<GroupDraft>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let edit = GroupEdit::Replace(Box::new(body.value));
    let write = app.directory.change_group(body.permit, id, edit, MembersEdit::Keep, terms);
    let outcome = execute(&app, &options, write).await?;
    Ok(write_response(&options, outcome))
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
    let write = app.directory.change_group(body.permit, id, edit, MembersEdit::Keep, terms);
    let outcome = execute(&app, &options, write).await?;
    Ok(write_response(&options, outcome))
}

/// `DELETE /groups/{group_id}`: deletes a group permanently. Its members are not deleted.
pub(crate) async fn delete(
    State(app): State<AppState>,
    options: WriteOptions,
    GroupIdPath(id): GroupIdPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let write = app.directory.delete_group(permit, id, options.terms(&call));
    let outcome = execute(&app, &options, write).await?;
    Ok(delete_response(&options, outcome))
}

/// `GET /groups/{group_id}/members`: returns a page of the direct members of a group.
pub(crate) async fn list_members(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, Problem> {
    let list = ListRequest::admit(&app, &call).await?;
    let group = parse_group_id(call.segment())?;
    let mut fields = Fields::of_users();
    let query =
        ListQuery::read(call.parts.uri.query(), |parameter| match parameter.name.as_ref() {
            "fields" => fields.add(&parameter.value()),
            _ => Err(unknown()),
        })?;
    let shown = fields.members();
    if shown.is_some() && query.limit > ID_PARAMETERS_MAX {
        let detail = format!("with fields, ask for at most {ID_PARAMETERS_MAX} members");
        return Err(refused(Fault::of_parameter("limit", "out-of-range", detail).into()));
    }
    let cursors = app.cursors_of(List::Members, call.authority().actor());
    let cursors = cursors.with("group_id", Some(group));
    let after = query.after(&cursors, id_of)?;
    let permit = call.permit()?;
    // HEAD and a matching tag need no page, but the group must exist.
    app.directory.get_group(permit, group).await?.ok_or_else(not_found)?;
    if let Some(response) = list.without_page().await? {
        return Ok(response);
    }
    let records_max = if shown.is_some() { query.limit } else { 0 };
    let _place = app.admission.admit_page(list.class, records_max).await?;
    let members_query = MembersQuery { group, after, limit: query.limit };
    let mut page =
        app.directory.list_members(permit, members_query).await?.ok_or_else(not_found)?;
    let records = match &shown {
        Some(shown) => records_of(&app, permit, &page.items, shown).await?,
        None => BTreeMap::new(),
    };
    let mut bytes = 0;
    let fits = |member: &&Member| {
        bytes += MEMBER_BYTES + records.get(&member.id).map_or(0, Vec::len);
        bytes <= PAGE_BYTES_MAX
    };
    let count = page.items.iter().take_while(fits).count().max(1);
    if count < page.items.len() {
        page.items.truncate(count);
        page.next = page.items.last().map(|member| member.id);
    }
    let total = query.count.then_some(Total::Exactly(page.total));
    let (position, next) = (page.position, page.next.map(key_of));
    let facts = PageFacts { position, next, total, examined: None };
    let items = (page.items.as_slice(), bytes);
    list.respond((&query, &cursors), facts, items, |member, out| {
        let (id, kind) = (member.id, member.kind.as_str());
        out.extend_from_slice(format!("{{\"id\":\"{id}\",\"type\":\"{kind}\"").as_bytes());
        // A member without a record was deleted after the page was read.
        if let Some(record) = records.get(&id) {
            out.extend_from_slice(format!(",\"{kind}\":").as_bytes());
            out.extend_from_slice(record);
        }
        out.push(b'}');
        Some(())
    })
}

/// The records of these members by their ids, with the selected members.
async fn records_of(
    app: &AppState,
    permit: Permit<ReadUsers>,
    members: &[Member],
    shown: &Members,
) -> Result<BTreeMap<UserId, Vec<u8>>, Problem> {
    let ids = |kind| {
        let found = members.iter().filter(move |member| member.kind == kind);
        found.map(|member| member.id).collect::<Vec<_>>()
    };
    let (users, groups) = (ids(MemberKind::User), ids(MemberKind::Group));
    let mut found = BTreeMap::new();
    let mut take = |items: Vec<Stored>| {
        for Stored { id, record, .. } in items {
            let mut part = Vec::new();
            shown.project(&record, &mut part).ok_or_else(|| Problem::new(ProblemCode::Internal))?;
            found.insert(id, part);
        }
        Ok::<_, Problem>(())
    };
    // A page may end early, because its records are large.
    let mut query = PageQuery::first(users.len()).with(Expression::ids(users));
    while query.limit > 0 {
        let page = app.directory.list(permit, query.clone()).await?;
        take(page.items)?;
        query.limit = if page.next.is_some() { query.limit } else { 0 };
        query.after = page.next;
    }
    let limit = groups.len();
    let mut query = GroupQuery { ids: Some(groups), ..GroupQuery::first(limit) };
    while query.limit > 0 {
        let page = app.directory.list_groups(permit, query.clone()).await?;
        take(page.items)?;
        query.limit = if page.next.is_some() { limit } else { 0 };
        query.after = page.next;
    }
    Ok(found)
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
    let terms = options.terms(&call);
    let write = app.directory.change_group(permit, group, GroupEdit::Keep, edit, terms);
    let outcome = execute(&app, &options, write).await?;
    Ok(write_response(&options, outcome))
}

/// `DELETE /groups/{group_id}/members/{member_id}`: removes a user or a group from a group.
pub(crate) async fn delete_member(
    State(app): State<AppState>,
    options: WriteOptions,
    MemberPath(group, member): MemberPath,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, Problem> {
    let terms = options.terms(&call);
    let edit = MembersEdit::Remove(member);
    let write = app.directory.change_group(permit, group, GroupEdit::Keep, edit, terms);
    let outcome = execute(&app, &options, write).await?;
    Ok(delete_response(&options, outcome))
}

/// The id in a cursor for the order of ids.
fn id_of(after: &PageKey) -> Option<UserId> {
    (after.key == SortKey::Id).then_some(after.id)
}

fn key_of(id: UserId) -> PageKey {
    PageKey { key: SortKey::Id, id }
}

/// The problem of a user around whom too many memberships lead to groups.
fn too_many_nested() -> Problem {
    let detail = format!(
        "more than {NESTED_MEMBERSHIPS_MAX} memberships lead to the groups of this user; leave \
         nested out, and read the groups of each group"
    );
    refused(Fault::of_parameter("nested", "too-many", detail).into())
}

fn not_found() -> Problem {
    Problem::new(ProblemCode::GroupNotFound)
}

/// Runs a write of a group. The problems of its refusals are about groups.
async fn execute(
    app: &AppState,
    options: &WriteOptions,
    write: impl Future<Output = Result<Outcome, Failure>> + Send,
) -> Result<Outcome, Problem> {
    options.execute(app, async { write.await.map_err(Problem::of_group) }).await
}
