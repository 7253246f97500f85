//! Groups, and who belongs to them.

mod create;
mod delete;
mod get;
mod list;
mod list_members;
mod list_query;
mod member;
mod patch;
mod replace;

pub(super) use create::create;
pub(super) use delete::delete;
pub(super) use get::get;
pub(super) use list::list;
pub(super) use list_members::list_members;
pub(super) use member::{delete_member, put_member};
pub(super) use patch::patch;
pub(super) use replace::replace;

use roster_core::{Failure, GroupId, Outcome};

use crate::{
    face::Face,
    problem::{Problem, ProblemCode},
    rest::asked::Asked,
};

/// The id in the path. A text of any other form names no group, so it is a 404.
fn group_id(segment: &str) -> Result<GroupId, Problem> {
    GroupId::parse(segment).ok_or_else(|| Problem::new(ProblemCode::GroupNotFound))
}

/// Lets a write pass when there is room for it; its refusals speak of groups.
async fn pass(
    face: &Face,
    asked: &Asked,
    write: impl Future<Output = Result<Outcome, Failure>> + Send,
) -> Result<Outcome, Problem> {
    asked.carry_out(face, async { write.await.map_err(Problem::of_group) }).await
}
