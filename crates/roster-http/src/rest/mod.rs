//! The REST face: one handler an operation, each of them short.
//!
//! A handler reads what it needs of the request, calls the directory, and renders. It makes no
//! decision about users: those are the directory's.

mod answer;
mod asked;
mod deleted_users;
mod events;
mod groups;
mod health;
mod keys;
mod page;
mod query;
mod service;
mod users;
mod write;

pub(crate) use users::{
    Bulk, EXPORTS_MAX, EXPORTS_PER_CALLER_MAX, IMPORTS_MAX, IMPORTS_PER_CALLER_MAX,
};

use http::Response;
use hyper::body::Incoming;

use crate::{
    face::{Call, Face, UnreadCall},
    front::Body,
    problem::{Problem, ProblemCode},
    router::Operation,
};

/// Hands a request to its operation. Only the future of the fetch is part of every request's own;
/// the larger ones are set aside, so that a request is cheap to move.
pub(crate) async fn dispatch(
    face: &Face,
    operation: Operation,
    segment: &str,
    call: Call<'_>,
    body: Incoming,
) -> Result<Response<Body>, Problem> {
    let unread = |call, body| UnreadCall::new(operation, call, body);
    match operation {
        Operation::ListUsers => Box::pin(users::list(face, &call)).await,
        Operation::CreateUser => Box::pin(users::create(face, unread(call, body))).await,
        Operation::GetUser => users::get(face, segment, &call).await,
        Operation::ReplaceUser => Box::pin(users::replace(face, segment, unread(call, body))).await,
        Operation::PatchUser => Box::pin(users::patch(face, segment, unread(call, body))).await,
        Operation::DeleteUser => Box::pin(users::delete(face, segment, &call)).await,
        Operation::ListUserEvents => Box::pin(events::list_of_user(face, segment, &call)).await,
        Operation::ListDeletedUsers => Box::pin(deleted_users::list(face, &call)).await,
        Operation::GetDeletedUser => Box::pin(deleted_users::get(face, segment, &call)).await,
        Operation::PurgeUser => Box::pin(deleted_users::purge(face, segment, &call)).await,
        Operation::RestoreUser => Box::pin(deleted_users::restore(face, segment, &call)).await,
        Operation::ListGroups => Box::pin(groups::list(face, &call)).await,
        Operation::CreateGroup => Box::pin(groups::create(face, unread(call, body))).await,
        Operation::GetGroup => Box::pin(groups::get(face, segment, &call)).await,
        Operation::ReplaceGroup => {
            Box::pin(groups::replace(face, segment, unread(call, body))).await
        }
        Operation::PatchGroup => Box::pin(groups::patch(face, segment, unread(call, body))).await,
        Operation::DeleteGroup => Box::pin(groups::delete(face, segment, &call)).await,
        Operation::ListMembers => Box::pin(groups::list_members(face, segment, &call)).await,
        Operation::PutMember => Box::pin(groups::put_member(face, segment, &call)).await,
        Operation::DeleteMember => Box::pin(groups::delete_member(face, segment, &call)).await,
        Operation::ListEvents => Box::pin(events::list(face, &call)).await,
        Operation::ListKeys => Box::pin(keys::list(face, &call)).await,
        Operation::CreateKey => Box::pin(keys::create(face, unread(call, body))).await,
        Operation::GetKey => Box::pin(keys::get(face, segment, &call)).await,
        Operation::RevokeKey => Box::pin(keys::revoke(face, segment, &call)).await,
        Operation::RotateKey => Box::pin(keys::rotate(face, segment, &call)).await,
        Operation::GetService => service::get_service(face, &call),
        Operation::GetDescription => service::get_description(face, &call),
        Operation::GetDocs => service::get_docs(face, &call),
        Operation::ListProblems => service::list_problems(face, &call),
        Operation::GetProblem => service::get_problem(face, segment, &call),
        Operation::GetLiveness => Ok(health::get_liveness()),
        Operation::GetReadiness => Box::pin(health::get_readiness(face)).await,
        Operation::Scim(_) => Err(Problem::new(ProblemCode::NotFound)),
        Operation::GetMetrics => Box::pin(health::get_metrics(face, &call)).await,
    }
}
