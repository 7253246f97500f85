//! The ids in a path, read from the path as it was sent, without decoding.
//!
//! Each extractor fails with 404 for a malformed id: the status that handlers give for an unknown
//! one.

use axum::extract::FromRequestParts;
use http::request::Parts;
use roster_core::{GroupId, UserId, access::KeyId};

use crate::{
    problem::{Problem, ProblemCode},
    request::RequestContext,
    state::AppState,
};

/// `{user_id}`: the id of a user.
pub(crate) struct UserIdPath(pub(crate) UserId);

/// `{user_id}`: the id of a deleted user.
pub(crate) struct DeletedUserIdPath(pub(crate) UserId);

/// `{group_id}`: the id of a group.
pub(crate) struct GroupIdPath(pub(crate) GroupId);

/// `{group_id}` and `{member_id}`.
pub(crate) struct MemberPath(pub(crate) GroupId, pub(crate) UserId);

/// `{key_id}`: the id of an API key.
pub(crate) struct KeyIdPath(pub(crate) KeyId);

impl FromRequestParts<AppState> for UserIdPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        parse_user_id(segments(parts)?[0]).map(Self)
    }
}

impl FromRequestParts<AppState> for DeletedUserIdPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        UserId::parse(segments(parts)?[0]).map(Self).ok_or_else(deleted_user_not_found)
    }
}

impl FromRequestParts<AppState> for GroupIdPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        parse_group_id(segments(parts)?[0]).map(Self)
    }
}

impl FromRequestParts<AppState> for MemberPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let [group, member] = segments(parts)?;
        let group = parse_group_id(group)?;
        let member = UserId::parse(member);
        Ok(Self(group, member.ok_or_else(|| Problem::new(ProblemCode::MemberNotFound))?))
    }
}

impl FromRequestParts<AppState> for KeyIdPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let id = KeyId::parse(segments(parts)?[0]);
        id.map(Self).ok_or_else(|| Problem::new(ProblemCode::KeyNotFound))
    }
}

/// No deleted user has the id.
pub(crate) fn deleted_user_not_found() -> Problem {
    let detail = "no deleted user has this id; look it up with GET /deleted-users";
    Problem::saying(ProblemCode::UserNotFound, detail)
}

/// Parses the id of a user.
pub(crate) fn parse_user_id(segment: &str) -> Result<UserId, Problem> {
    UserId::parse(segment).ok_or_else(|| Problem::new(ProblemCode::UserNotFound))
}

/// Parses the id of a group.
pub(crate) fn parse_group_id(segment: &str) -> Result<GroupId, Problem> {
    GroupId::parse(segment).ok_or_else(|| Problem::new(ProblemCode::GroupNotFound))
}

/// The segments of the path that the route has in braces.
fn segments(parts: &Parts) -> Result<[&str; 2], Problem> {
    Ok(RequestContext::of(parts)?.segments(parts.uri.path()))
}
