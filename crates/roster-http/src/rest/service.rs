//! What the service says about itself: the service document, the description, the reference, and
//! a page for each problem.

use bytes::Bytes;
use http::{
    HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY},
};

use crate::{
    description,
    extract::{HTML, JSON, Media, negotiate, refuse_parameters},
    face::{Call, Face},
    front::Body,
    pages::service_document,
    problem::{Problem, ProblemCode},
};

const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const BY_ACCEPT: HeaderValue = HeaderValue::from_static("Accept");

pub(super) fn get_service(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let made = |_| Some(service_document(&face.settings, face.directory.rules()));
    document(face, call, &[JSON], made)
}

pub(super) fn get_description(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    document(face, call, &[JSON], |_| Some(face.pages.description.clone()))
}

pub(super) fn get_docs(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    document(face, call, &[HTML], |_| Some(face.pages.docs.clone()))
}

pub(super) fn list_problems(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let base_url = &face.settings.base_url;
    document(face, call, &[JSON, HTML], |media| {
        Some(if media == HTML {
            description::problem_list_page(base_url)
        } else {
            description::problem_list(base_url)
        })
    })
}

pub(super) fn get_problem(
    face: &Face,
    code: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let base_url = &face.settings.base_url;
    document(face, call, &[JSON, HTML], |media| {
        if media == HTML {
            description::problem_page(code, base_url)
        } else {
            description::problem(code, base_url)
        }
    })
}

/// A document in the form that the caller likes best; without one there is no such problem.
fn document(
    face: &Face,
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
        headers.insert(CONTENT_SECURITY_POLICY, face.pages.policy.clone());
    }
    Ok(response)
}
