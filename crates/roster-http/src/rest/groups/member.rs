//! `PUT` and `DELETE /groups/{group_id}/members/{member_id}`: one user or group joins a group, or
//! leaves it. It is the group that changes.

use std::collections::BTreeSet;

use http::Response;
use roster_core::{
    GroupId, Mode, Outcome, UserId,
    group::{GroupEdit, MembersEdit},
};

use super::{group_id, pass};
use crate::{
    extract::{JSON, negotiate},
    face::{Call, Face},
    front::Body,
    problem::{Problem, ProblemCode},
    rest::{
        answer::{gone, rehearsed, written},
        asked::Asked,
    },
};

pub(in crate::rest) async fn put_member(
    face: &Face,
    segments: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    negotiate(&call.parts.headers, &[JSON])?;
    let (group, member) = ids(segments)?;
    let (added, removed) = (BTreeSet::from([member]), BTreeSet::new());
    let edit = MembersEdit::Delta { added, removed };
    let outcome = change(face, group, edit, &asked, call).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(written(face, outcome, asked.wanted))
}

pub(in crate::rest) async fn delete_member(
    face: &Face,
    segments: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    let (group, member) = ids(segments)?;
    let outcome = change(face, group, MembersEdit::Remove(member), &asked, call).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(gone(face, &outcome))
}

async fn change(
    face: &Face,
    group: GroupId,
    members: MembersEdit,
    asked: &Asked,
    call: &Call<'_>,
) -> Result<Outcome, Problem> {
    let terms = asked.terms(call.parts, call.caller(), b"");
    let (desk, may) = (face.directory.groups(), call.permit()?);
    pass(face, asked, desk.change(may, group, GroupEdit::Keep, members, terms)).await
}

/// The two ids of the path.
fn ids(segments: &str) -> Result<(GroupId, UserId), Problem> {
    let (group, member) = segments.split_once('/').unwrap_or((segments, ""));
    let member = member.rsplit_once('/').map_or(member, |(_, member)| member);
    let group = group_id(group)?;
    let member = UserId::parse(member).ok_or_else(|| Problem::new(ProblemCode::MemberNotFound))?;
    Ok((group, member))
}
