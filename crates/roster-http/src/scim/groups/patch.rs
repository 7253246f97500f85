//! `PATCH /scim/v2/Groups/{id}`: change a group by operations (RFC 7644 section 3.5.2).
//!
//! The operations are applied to the group that the writer loaded. Its list of members is not read
//! for it: the command names the members to add and to remove.

use axum::extract::State;
use http::StatusCode;
use roster_core::{
    Failure, Group, GroupId, Outcome, Refusal, Terms,
    access::{Permit, ReadUsers, WriteUsers},
    group::{GroupEdit, MembersEdit},
};
use roster_scim::{
    Profile,
    group::{self, own_tree},
    patch::{
        self, Operation,
        group::{GroupPatch, MembersChange},
    },
    schema::GROUP,
};

use super::{answer::written, group_id, told};
use crate::{
    request::UnreadCall,
    scim::{
        Answered, Refused,
        asked::{Asked, body},
        edit::{edit, result_of_edit},
    },
    state::AppState,
};

pub(crate) async fn patch(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    let segment = &call.segment().to_owned();
    let asked = Asked::of(&GROUP, &call.parts, call.profile())?;
    let id = group_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| patch::read(tree, profile);
    let (call, operations, bytes) = body(app, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let terms = asked.terms(&call.parts, call.caller(), &bytes);
    let patch = patch_group(app, may, id, operations?, profile, terms);
    let outcome = asked.carry_out(app, patch).await?;
    written(app, may_read, StatusCode::OK, outcome, &asked).await
}

/// Patches a group.
pub(crate) async fn patch_group(
    app: &AppState,
    may: Permit<WriteUsers>,
    id: GroupId,
    operations: Vec<Operation>,
    profile: Profile,
    terms: Terms,
) -> Result<Outcome, Refused> {
    let (edit, refusal) = edit(move |group: &Group| patched(group, &operations, profile));
    match app.directory.groups().edit(may, id, edit, terms).await {
        result @ Err(Failure::Refused(Refusal::EditRefused)) => result_of_edit(result, &refusal),
        result => told(result),
    }
}

/// What the operations make of the group, and of its members.
fn patched(
    current: &Group,
    operations: &[Operation],
    profile: Profile,
) -> Result<(GroupEdit, MembersEdit), Refused> {
    let own = own_tree(current);
    let GroupPatch { tree, members } = patch::group::apply(&own, operations.to_vec(), profile)?;
    let edit = if tree == own {
        GroupEdit::Keep
    } else {
        GroupEdit::Replace(Box::new(group::read(tree, profile)?.draft))
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
