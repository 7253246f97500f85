//! `PATCH /scim/v2/Groups/{id}`: change a group by operations (RFC 7644 section 3.5.2).
//!
//! The members are never read for it: who joins and who leaves is told to the directory as such. A
//! change of the group's own attributes is held to the version that was read; where somebody was
//! faster and the client named no version, the operations are carried out again.

use http::StatusCode;
use roster_core::{
    Failure, Group, GroupId, Outcome, Preconditions, Refusal, Tags, Terms,
    access::{Permit, ReadUsers, WriteUsers},
    group::{GroupEdit, MembersEdit},
};
use roster_scim::{
    Profile,
    group::{self, own_tree, refused},
    patch::{
        self, Operation,
        group::{GroupPatch, MembersChange},
    },
    schema::GROUP,
};

use super::{
    answer::{group_of, written},
    group_id, no_such_group, told,
};
use crate::{
    face::{Face, UnreadCall},
    scim::{
        Answered, Refused,
        asked::{Asked, body, unless_repeated},
    },
};

/// How often a patch is carried out while others are faster each time.
const ATTEMPTS_MAX: usize = 8;

pub(in crate::scim) async fn patch(face: &Face, segment: &str, call: UnreadCall<'_>) -> Answered {
    let asked = Asked::of(&GROUP, call.parts, call.profile())?;
    let id = group_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| patch::read(tree, profile);
    let (call, operations, bytes) = body(face, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let operations = operations?;
    let terms = asked.terms(call.parts, call.caller(), &bytes);
    let patch = carry_out(face, (may, may_read), id, &operations, asked.profile, &terms);
    let outcome = asked.carry_out(face, patch).await?;
    written(face, may_read, StatusCode::OK, outcome, &asked).await
}

/// Carries operations out upon a group, once for each mark.
pub(in crate::scim) async fn carry_out(
    face: &Face,
    may: (Permit<WriteUsers>, Permit<ReadUsers>),
    id: GroupId,
    operations: &[Operation],
    profile: Profile,
    terms: &Terms,
) -> Result<Outcome, Refused> {
    let result = attempt(face, may, id, operations, profile, terms).await;
    unless_repeated(face, may.0, terms.idempotency, result).await
}

async fn attempt(
    face: &Face,
    (may, may_read): (Permit<WriteUsers>, Permit<ReadUsers>),
    id: GroupId,
    operations: &[Operation],
    profile: Profile,
    terms: &Terms,
) -> Result<Outcome, Refused> {
    let desk = face.directory.groups();
    for attempt in 1.. {
        let stored = desk.get(may_read, id).await?.ok_or_else(no_such_group)?;
        if !terms.held.allow_write(stored.version) {
            return Err(refused(&Refusal::VersionMismatch { current: stored.version }).into());
        }
        let current = group_of(&stored)?;
        let (edit, members) = patched(&current, operations, profile)?;
        let held = match &edit {
            GroupEdit::Keep => terms.held.clone(),
            GroupEdit::Replace(_) | GroupEdit::Patch(_) => Preconditions {
                if_match: Some(Tags::Versions(vec![stored.version])),
                if_none_match: None,
            },
        };
        let held_terms = Terms { held, ..terms.clone() };
        match desk.change(may, id, edit, members, held_terms).await {
            Err(Failure::Refused(Refusal::VersionMismatch { .. }))
                if terms.held.is_empty() && attempt < ATTEMPTS_MAX => {}
            result => return told(result),
        }
    }
    Err(no_such_group().into())
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
