//! The REST face: one handler an operation, each of them short.
//!
//! A handler reads what it needs of the request, calls the directory, and renders. It makes no
//! decision about users: those are the directory's.

mod health;
mod service;
mod users;

use http::Response;

use crate::{
    app::{App, Call},
    body::Body,
    problem::Problem,
    router::Operation,
};

/// Hands a request to its operation. Only the future of the fetch is part of every request's own;
/// the larger ones are set aside, so that a request is cheap to move.
pub(crate) async fn dispatch(
    app: &App,
    operation: Operation,
    segment: &str,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    match operation {
        Operation::ListUsers => Box::pin(users::list(app, &call)).await,
        Operation::CreateUser => Box::pin(users::create(app, call)).await,
        Operation::GetUser => users::get(app, segment, &call).await,
        Operation::ReplaceUser => Box::pin(users::replace(app, segment, call)).await,
        Operation::PatchUser => Box::pin(users::patch(app, segment, call)).await,
        Operation::DeleteUser => Box::pin(users::delete(app, segment, &call)).await,
        Operation::GetService => service::get_service(app, &call),
        Operation::GetDescription => service::get_description(app, &call),
        Operation::GetDocs => service::get_docs(app, &call),
        Operation::ListProblems => service::list_problems(app, &call),
        Operation::GetProblem => service::get_problem(app, segment, &call),
        Operation::GetLiveness => Ok(health::get_liveness()),
        Operation::GetReadiness => Box::pin(health::get_readiness(app)).await,
        Operation::GetMetrics => Box::pin(health::get_metrics(app, &call)).await,
    }
}
