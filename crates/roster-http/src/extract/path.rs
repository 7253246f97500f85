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

macro_rules! id_path {
    ($($(#[$doc:meta])* $name:ident($id:ty) by $parse:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name(pub(crate) $id);

            impl FromRequestParts<AppState> for $name {
                type Rejection = Problem;

                async fn from_request_parts(
                    parts: &mut Parts,
                    _: &AppState,
                ) -> Result<Self, Problem> {
                    ($parse)(segments(parts)?[0]).map(Self)
                }
            }
        )*
    };
}

id_path! {
    /// `{user_id}`: the id of a user.
    UserIdPath(UserId) by parse_user_id;
    /// `{user_id}`: the id of a deleted user.
    DeletedUserIdPath(UserId) by |id| UserId::parse(id).ok_or_else(deleted_user_not_found);
    /// `{group_id}`: the id of a group.
    GroupIdPath(GroupId) by parse_group_id;
    /// `{key_id}`: the id of an API key.
    KeyIdPath(KeyId) by |id| {
        KeyId::parse(id).ok_or_else(|| Problem::new(ProblemCode::KeyNotFound))
    };
}

/// `{group_id}` and `{member_id}`.
pub(crate) struct MemberPath(pub(crate) GroupId, pub(crate) UserId);

impl FromRequestParts<AppState> for MemberPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let [group, member] = segments(parts)?;
        let group = parse_group_id(group)?;
        let member = UserId::parse(member);
        Ok(Self(group, member.ok_or_else(|| Problem::new(ProblemCode::MemberNotFound))?))
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
