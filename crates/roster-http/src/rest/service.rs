//! What the service says about itself: the service document, the description, the reference, and
//! a page for each problem.

use axum::{extract::State, response::Response};
use bytes::Bytes;
use http::{
    HeaderValue,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, VARY},
};

use crate::{
    description,
    extract::{HTML, JSON, Media, NoParameters, negotiate},
    pages::service_document,
    problem::{Problem, ProblemCode},
    request::Call,
    state::AppState,
};

const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// `GET /`: returns the service document.
pub(crate) async fn get_service(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let made = |_| Some(service_document(&app.settings, app.directory.rules()));
    document(&app, &call, &[JSON], made)
}

/// `GET /openapi.json`: returns the description.
pub(crate) async fn get_description(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let schema = app.directory.schema();
    document(&app, &call, &[JSON], |_| Some(app.pages.description(&schema)))
}

/// `GET /docs`: returns the reference as a page.
pub(crate) async fn get_docs(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    document(&app, &call, &[HTML], |_| Some(app.pages.docs()))
}

/// `GET /problems`: returns all problem codes.
pub(crate) async fn list_problems(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let base_url = &app.settings.base_url;
    document(&app, &call, &[JSON, HTML], |media| {
        Some(if media == HTML {
            description::problem_list_page(base_url)
        } else {
            description::problem_list(base_url)
        })
    })
}

/// `GET /problems/{code}`: returns what a problem code means.
pub(crate) async fn get_problem(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let (code, base_url) = (call.segment(), &app.settings.base_url);
    document(&app, &call, &[JSON, HTML], |media| {
        if media == HTML {
            description::problem_page(code, base_url)
        } else {
            description::problem(code, base_url)
        }
    })
}

/// A document in the form that the caller prefers; `made` returns `None` for an unknown problem.
fn document(
    app: &AppState,
    call: &Call,
    offered: &[Media],
    made: impl FnOnce(Media) -> Option<Bytes>,
) -> Result<Response, Problem> {
    let media = negotiate(&call.parts.headers, offered)?;
    let body = made(media).ok_or_else(|| Problem::new(ProblemCode::ProblemNotFound))?;
    let path = call.parts.uri.path();
    let mut response = app.documents.respond(path, media, body, &call.parts.headers)?;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, NO_CACHE);
    let varies = if offered.len() > 1 { "Accept, Accept-Encoding" } else { "Accept-Encoding" };
    headers.insert(VARY, HeaderValue::from_static(varies));
    if media == HTML {
        headers.insert(CONTENT_SECURITY_POLICY, app.pages.policy.clone());
    }
    Ok(response)
}
