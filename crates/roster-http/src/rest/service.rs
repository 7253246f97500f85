//! The documents about the service: the service document, the description, the reference, and a
//! page for each problem.

use std::sync::LazyLock;

use axum::{extract::State, response::Response};
use bytes::Bytes;
use http::{
    HeaderValue,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, VARY},
    request::Parts,
};
use roster_core::{
    Sharing, TenantId, UserSchema,
    access::{Authority, Scope},
};

use crate::{
    authorization::authenticate,
    description,
    documents::Name,
    extract::{HTML, JSON, Media, NoParameters, negotiate},
    problem::Problem,
    request::Call,
    rest::console,
    service_document::service_document,
    state::AppState,
};

/// The version of a description without the declared members.
const WITHOUT_SCHEMA: i64 = -1;
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// Makes a description for a base URL and a schema.
type DescriptionOf = fn(&str, &UserSchema) -> Bytes;

/// `GET /`: returns the service document, or the console to a browser.
pub(crate) async fn get_service(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let offered = if app.tenant.is_none() { &[JSON, HTML][..] } else { &[JSON] };
    if negotiate(&call.parts.headers, offered)? == HTML {
        if app.settings.console {
            return console::page(&app, &call).await;
        }
        let made = |_| Some(description::service_page(&app.settings.base_url));
        return document(&app, &call, &[JSON, HTML], 0, made).await;
    }
    let rules = app.directory.rules();
    // The policy may change while the service runs, and the document shows it.
    let is_unique = |sharing| i64::from(sharing == Sharing::Unique);
    let version = is_unique(rules.email) + 2 * is_unique(rules.external_id);
    let made = |_| Some(service_document(&app, rules));
    document(&app, &call, offered, version, made).await
}

/// `GET /openapi.json`: returns the description. Only who may read the tenant's users sees its
/// declared members. No credential is needed, so one that does not suffice is no error.
pub(crate) async fn get_description(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let description_of: DescriptionOf =
        if app.tenant.is_some() { description::openapi_of_tenant } else { description::openapi };
    describe(&app, &call, description_of).await
}

/// `GET /openapi-3.0.json`: returns the same description in OpenAPI 3.0.
pub(crate) async fn get_older_description(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let description_of: DescriptionOf = if app.tenant.is_some() {
        description::openapi_3_0_of_tenant
    } else {
        description::openapi_3_0
    };
    describe(&app, &call, description_of).await
}

async fn describe(
    app: &AppState,
    call: &Call,
    description_of: DescriptionOf,
) -> Result<Response, Problem> {
    let base_url = &app.base_url;
    let caller = authenticate(app, &call.parts, call.client()).await;
    // Below the path of a tenant, authorization has checked that the caller may call it.
    let may_call =
        |caller: &Authority| app.tenant.is_some() || caller.reach().includes(TenantId::DEFAULT);
    let may_read = |caller: Authority| caller.may(Scope::UsersRead) && may_call(&caller);
    let mut response = if caller.is_ok_and(may_read) {
        let schema = app.directory.schema();
        let made = |_| Some(description_of(base_url, &schema));
        document(app, call, &[JSON], schema.version, made).await?
    } else {
        let made = |_| Some(description_of(base_url, &UserSchema::default()));
        document(app, call, &[JSON], WITHOUT_SCHEMA, made).await?
    };
    let varies = HeaderValue::from_static("Authorization, Accept-Encoding");
    response.headers_mut().insert(VARY, varies);
    Ok(response)
}

/// `GET /docs`: returns the reference as a page.
pub(crate) async fn get_docs(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let made = |_| Some(description::docs_page(&app.settings.base_url));
    document(&app, &call, &[HTML], 0, made).await
}

/// `GET /problems`: returns all problem codes.
pub(crate) async fn list_problems(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let base_url = &app.settings.base_url;
    document(&app, &call, &[JSON, HTML], 0, |media| {
        Some(if media == HTML {
            description::problem_list_page(base_url)
        } else {
            description::problem_list(base_url)
        })
    })
    .await
}

/// `GET /problems/{code}`: returns what a problem code means.
pub(crate) async fn get_problem(
    State(app): State<AppState>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let (code, base_url) = (call.segment(), &app.settings.base_url);
    document(&app, &call, &[JSON, HTML], 0, |media| {
        if media == HTML {
            description::problem_page(code, base_url)
        } else {
            description::problem(code, base_url)
        }
    })
    .await
}

/// A document in the form that the caller prefers; `made` returns `None` for an unknown problem.
async fn document(
    app: &AppState,
    call: &Call,
    offered: &[Media],
    version: i64,
    made: impl FnOnce(Media) -> Option<Bytes>,
) -> Result<Response, Problem> {
    static POLICY: LazyLock<Option<HeaderValue>> =
        LazyLock::new(|| HeaderValue::try_from(description::content_security_policy()).ok());
    let Parts { uri, headers, .. } = &call.parts;
    let media = negotiate(headers, offered)?;
    // The name of a tenant may belong to another one later.
    let tenant = app.directory.tenant_id();
    let name = Name { path: uri.path().to_owned(), media, version, tenant };
    let mut response = app.documents.respond(&name, headers, || made(media)).await?;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, NO_CACHE);
    let varies = if offered.len() > 1 { "Accept, Accept-Encoding" } else { "Accept-Encoding" };
    headers.insert(VARY, HeaderValue::from_static(varies));
    if let Some(policy) = POLICY.as_ref().filter(|_| media == HTML) {
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    }
    Ok(response)
}
