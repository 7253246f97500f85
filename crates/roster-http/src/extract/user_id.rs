//! The id in the path. A text of any other form names no user, so it is a 404.

use roster_core::UserId;

use crate::problem::{Problem, ProblemCode};

pub(crate) fn user_id(segment: &str) -> Result<UserId, Problem> {
    UserId::parse(segment).ok_or_else(|| Problem::new(ProblemCode::UserNotFound))
}
