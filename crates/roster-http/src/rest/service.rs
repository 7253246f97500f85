//! What the service says about itself: the service document, the description, the reference, and
//! a page for each problem.

use bytes::Bytes;
use http::{
    HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY},
};

use crate::{
    app::{App, Call},
    body::Body,
    description,
    extract::{HTML, JSON, Media, negotiate, refuse_parameters},
    problem::{Problem, ProblemCode},
};

const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const BY_ACCEPT: HeaderValue = HeaderValue::from_static("Accept");

pub(super) fn get_service(app: &App, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    document(app, call, &[JSON], |_| Some(app.pages.service.clone()))
}

pub(super) fn get_description(app: &App, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    document(app, call, &[JSON], |_| Some(app.pages.description.clone()))
}

pub(super) fn get_docs(app: &App, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    document(app, call, &[HTML], |_| Some(app.pages.docs.clone()))
}

pub(super) fn list_problems(app: &App, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let base_url = &app.settings.base_url;
    document(app, call, &[JSON, HTML], |media| {
        Some(if media == HTML {
            description::problem_list_page(base_url)
        } else {
            description::problem_list(base_url)
        })
    })
}

pub(super) fn get_problem(
    app: &App,
    code: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let base_url = &app.settings.base_url;
    document(app, call, &[JSON, HTML], |media| {
        if media == HTML {
            description::problem_page(code, base_url)
        } else {
            description::problem(code, base_url)
        }
    })
}

/// A document in the form that the caller likes best; without one there is no such problem.
fn document(
    app: &App,
    call: &Call<'_>,
    offered: &[Media],
    made: impl FnOnce(Media) -> Option<Bytes>,
) -> Result<Response<Body>, Problem> {
    refuse_parameters(call.parts.uri.query())?;
    let media = negotiate(&call.parts.headers, offered)?;
    let body = made(media).ok_or_else(|| Problem::new(ProblemCode::ProblemNotFound))?;
    let mut response = Response::new(Body::full(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    headers.insert(CACHE_CONTROL, NO_CACHE);
    if offered.len() > 1 {
        headers.insert(VARY, BY_ACCEPT);
    }
    if media == HTML {
        headers.insert(CONTENT_SECURITY_POLICY, app.pages.policy.clone());
    }
    Ok(response)
}
