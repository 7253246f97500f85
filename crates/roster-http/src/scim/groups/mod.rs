//! Groups of SCIM (RFC 7643 section 4.2): `/scim/v2/Groups` and `/scim/v2/Groups/{id}`.
//!
//! Members are loaded only if they are shown: `excludedAttributes=members` never loads them.

mod page;
mod shown;

use axum::{extract::State, response::Response};
use http::StatusCode;
use roster_core::{
    Failure, Group, GroupId, Outcome, Refusal, Terms, Work,
    access::{Permit, ReadUsers, WriteUsers},
    group::{GroupEdit, MembersEdit},
    json::separate,
    limits::COMPARISONS_MAX,
};
use roster_scim::{
    ListRequest, ScimError, Strictness,
    group::{self, GroupBody, location, own_tree, refused},
    patch::{
        self,
        group::{GroupOperations, GroupPatch, MembersChange},
    },
    user::entity_tag,
};

use self::{
    page::Asking,
    shown::{Shown, shown},
};
use super::{
    ScimProblem,
    edit::apply_patch,
    extract::{Presentation, ScimBody, ScimGroupId, ScimPreconditions, ScimWrite, no_such_group},
    resources::{Reader, Resources},
    respond::{base, delete_response, not_modified, resource, write_response},
};
use crate::{
    extract::Authorized, limits::admission::Class, request::Call, state::AppState, turns::Turns,
};

/// `POST /scim/v2/Groups`: creates a group with its members in one step (RFC 7644 section 3.3).
pub(crate) async fn create(
    State(app): State<AppState>,
    write: ScimWrite,
    body: ScimBody<GroupBody>,
) -> Result<Response, ScimProblem> {
    let terms = body.terms(&write);
    let GroupBody { draft, members, .. } = body.value;
    let change = Box::pin(app.directory.create_group(body.permit, draft, members, terms));
    let outcome = write.execute(&app, of_groups(change)).await?;
    group_response(&app, body.read_permit, &write, StatusCode::CREATED, outcome).await
}

/// `GET /scim/v2/Groups/{id}`: returns a group (RFC 7644 section 3.4.1).
pub(crate) async fn get(
    State(app): State<AppState>,
    Presentation { media, projection }: Presentation,
    ScimPreconditions { if_match, if_none_match }: ScimPreconditions,
    ScimGroupId(id): ScimGroupId,
    Authorized(permit): Authorized<ReadUsers>,
) -> Result<Response, ScimProblem> {
    let _admitted = app.admission.admit(Class::Reads).await?;
    let shown = shown(&app, permit, id, &projection).await?.ok_or_else(no_such_group)?;
    let version = shown.stored.version;
    if if_match.is_some_and(|tags| !tags.hold(version)) {
        return Err(refused(&Refusal::VersionMismatch { current: version }).into());
    }
    let location = location(&base(&app), id);
    // A change of the members increments the version of the group, so the tag needs no digest.
    let tag = entity_tag(version, &[]);
    if if_none_match.is_some_and(|tags| tags.hold_weakly(&version.to_string())) {
        return Ok(not_modified(&tag, &location));
    }
    Ok(resource(shown.json(&app, &projection)?, media, &tag, &location))
}

/// `PUT /scim/v2/Groups/{id}`: replaces a group and its members. Never creates one (RFC 7644
/// section 3.5.1).
pub(crate) async fn replace(
    State(app): State<AppState>,
    write: ScimWrite,
    ScimGroupId(id): ScimGroupId,
    body: ScimBody<GroupBody>,
) -> Result<Response, ScimProblem> {
    let terms = body.terms(&write);
    let GroupBody { draft, members, .. } = body.value;
    let (edit, members) = (GroupEdit::Replace(Box::new(draft)), MembersEdit::All(members));
    let change = Box::pin(app.directory.change_group(body.permit, id, edit, members, terms));
    let outcome = write.execute(&app, of_groups(change)).await?;
    group_response(&app, body.read_permit, &write, StatusCode::OK, outcome).await
}

/// `PATCH /scim/v2/Groups/{id}`: changes a group by operations (RFC 7644 section 3.5.2).
///
/// The response is 204 without the group, unless the caller requests it: a group may have 100,000
/// members, and a client that adds one of them does not read the others.
pub(crate) async fn patch(
    State(app): State<AppState>,
    write: ScimWrite,
    ScimGroupId(id): ScimGroupId,
    body: ScimBody<GroupOperations>,
) -> Result<Response, ScimProblem> {
    let terms = body.terms(&write);
    let work = Work::new(COMPARISONS_MAX);
    let how = (write.strictness, &work);
    let change = Box::pin(patch_group(&app, body.permit, id, body.value, how, terms));
    let outcome = write.execute(&app, change).await?;
    let status = if write.asks_for_resource() { StatusCode::OK } else { StatusCode::NO_CONTENT };
    group_response(&app, body.read_permit, &write, status, outcome).await
}

/// `DELETE /scim/v2/Groups/{id}`: deletes a group (RFC 7644 section 3.6).
pub(crate) async fn delete(
    State(app): State<AppState>,
    write: ScimWrite,
    ScimGroupId(id): ScimGroupId,
    Authorized(permit): Authorized<WriteUsers>,
    call: Call,
) -> Result<Response, ScimProblem> {
    let change = Box::pin(app.directory.delete_group(permit, id, write.options.terms(&call)));
    Ok(delete_response(&write.execute(&app, of_groups(change)).await?))
}

/// The response to a write: the group as written, and its members as they are now.
async fn group_response(
    app: &AppState,
    permit: Permit<ReadUsers>,
    write: &ScimWrite,
    status: StatusCode,
    outcome: Outcome,
) -> Result<Response, ScimProblem> {
    let location = location(&base(app), outcome.stored.id);
    let (id, projection) = (outcome.stored.id, &write.presentation.projection);
    let body = async {
        let now = shown(app, permit, id, projection).await?;
        let members = now.map(|now| now.members).unwrap_or_default();
        let tag = entity_tag(outcome.stored.version, &[]);
        Ok((Shown { stored: outcome.stored.clone(), members }.json(app, projection)?, tag))
    };
    write_response(write, status, &outcome, &location, body).await
}

/// Patches a group. The operations are applied to the group that the writer loaded. Its members are
/// not read for it: the command names the members to add and to remove.
pub(super) async fn patch_group(
    app: &AppState,
    permit: Permit<WriteUsers>,
    id: GroupId,
    operations: GroupOperations,
    (strictness, work): (Strictness, &Work),
    terms: Terms,
) -> Result<Outcome, ScimProblem> {
    let patch = move |group: &Group, work: &Work| patched(group, &operations, strictness, work);
    let edit = |edit| app.directory.edit_group(permit, id, edit, terms.clone());
    result_of_groups(apply_patch(app, work, patch, edit).await?)
}

/// Applies the operations to the group, and returns the changes of the group and of its members.
fn patched(
    current: &Group,
    operations: &GroupOperations,
    strictness: Strictness,
    work: &Work,
) -> Result<(GroupEdit, MembersEdit), ScimError> {
    let own = own_tree(current);
    let GroupPatch { tree, members } =
        patch::group::apply(own.clone(), operations, strictness, work)?;
    let edit = if tree == own {
        GroupEdit::Keep
    } else {
        GroupEdit::Replace(Box::new(group::read_own(tree, strictness)?))
    };
    let MembersChange { replaces, added, removed } = members;
    let members = if replaces {
        MembersEdit::All(added)
    } else if added.is_empty() && removed.is_empty() {
        MembersEdit::Keep
    } else {
        MembersEdit::Delta { added, removed }
    };
    Ok((edit, members))
}

/// The result of a write of a group. The errors of its refusals are about groups.
pub(super) async fn of_groups(
    write: impl Future<Output = Result<Outcome, Failure>>,
) -> Result<Outcome, ScimProblem> {
    result_of_groups(write.await)
}

fn result_of_groups(result: Result<Outcome, Failure>) -> Result<Outcome, ScimProblem> {
    result.map_err(|failure| match failure {
        Failure::Refused(refusal) => refused(&refusal).into(),
        Failure::Store(error) => error.into(),
    })
}

/// The groups of a page.
pub(super) async fn page(
    app: &AppState,
    reader: Reader<'_>,
    request: &ListRequest,
) -> Result<Resources, ScimProblem> {
    let asking = Asking::read(app, reader, request)?;
    let found = match &request.cursor {
        Some(cursor) => asking.by_cursor(cursor, request.count).await?,
        None => asking.by_index(request.start_index).await?,
    };
    let (mut text, mut turns) = (Vec::new(), Turns::default());
    for (index, shown) in found.items.iter().enumerate() {
        separate(index, &mut text);
        text.extend_from_slice(&shown.json(app, &request.projection)?);
        turns.take(text.len()).await;
    }
    let items = found.items.len();
    let reached = request.start_index.saturating_add(u64::try_from(items).unwrap_or(u64::MAX));
    Ok(Resources {
        total: found.total,
        start_index: found.start_index,
        next_cursor: found.next_cursor,
        items,
        ends: found.total.is_some_and(|total| reached > total),
        text,
    })
}
