//! The console and its sessions: `/console`.

use axum::{
    body::Body,
    extract::{FromRequestParts, State},
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, SET_COOKIE, VARY,
    },
    request::Parts,
};
use roster_core::{
    Actor, Json, TenantId,
    json::{present, write_json},
};

use crate::{
    access::{bearer, nobody},
    description,
    documents::Name,
    extract::{HTML, JSON, Media, NoParameters, PlainJson, negotiate},
    problem::{NO_STORE, Problem, ProblemCode},
    request::Call,
    session::{SESSION_IDLE, Session, set_cookie},
    state::AppState,
};

/// The page runs its own scripts alone, and talks to this service alone.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types lit-html",
);
/// The URL of a file has a digest of all files.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// A request to a service that has the console.
pub(crate) struct Served;

impl FromRequestParts<AppState> for Served {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, app: &AppState) -> Result<Self, Problem> {
        let off = || Problem::saying(ProblemCode::NotFound, "this service has no console");
        app.settings.console.then_some(Self).ok_or_else(off)
    }
}

/// `GET /console`: returns the page.
pub(crate) async fn get_page(
    State(app): State<AppState>,
    _: Served,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    negotiate(&call.parts.headers, &[HTML])?;
    page(&app, &call).await
}

/// The page.
pub(super) async fn page(app: &AppState, call: &Call) -> Result<Response, Problem> {
    let digest = roster_console::digest();
    let version = digest.get(..15).and_then(|digits| i64::from_str_radix(digits, 16).ok());
    let name = Name {
        path: call.parts.uri.path().to_owned(),
        media: HTML,
        version: version.unwrap_or_default(),
        tenant: TenantId::DEFAULT,
    };
    let made = || {
        let base = app.settings.base_path();
        let template = roster_console::page()?;
        Some(description::render_page(&template, base, &format!("{base}/console/{digest}")))
    };
    let mut response = app.documents.respond(&name, &call.parts.headers, made).await?;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("same-origin"));
    }
    Ok(response)
}

/// `GET /console/{digest}/{file}`: returns a file of the page.
pub(crate) async fn get_file(
    State(app): State<AppState>,
    _: Served,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let path = call.parts.uri.path();
    let below = path.strip_prefix(app.settings.base_path()).unwrap_or(path);
    let named = below.strip_prefix("/console/").and_then(|below| below.split_once('/'));
    let (digest, name) = named.ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    if digest != roster_console::digest() {
        let detail = "the service was updated: load the page again";
        return Err(Problem::saying(ProblemCode::NotFound, detail));
    }
    let file = roster_console::file(name).ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    let name = Name {
        path: path.to_owned(),
        media: Media(file.media),
        version: file.version,
        tenant: TenantId::DEFAULT,
    };
    let made = || Some(file.bytes);
    let mut response = app.documents.respond(&name, &call.parts.headers, made).await?;
    response.headers_mut().insert(CACHE_CONTROL, FOREVER);
    Ok(response)
}

/// `POST /console/session`: begins a session with the credential of the request.
pub(crate) async fn create_session(
    State(app): State<AppState>,
    _: Served,
    _: PlainJson,
    call: Call,
) -> Result<Response, Problem> {
    if call.parts.extensions.get::<Session>().is_some() {
        let detail = "a session begins with a key or a token, not with another session";
        return Err(Problem::saying(ProblemCode::InvalidRequest, detail));
    }
    let credential = bearer(&call.parts.headers)?;
    let credential = credential.filter(|_| *call.authority().actor() != Actor::Anonymous);
    let credential = credential.ok_or_else(nobody)?;
    let (content, proof, session) = app.sessions.begin(credential, app.directory.now())?;
    // An operator's session is for all tenants, wherever it began.
    let tenant = app.tenant.as_ref().filter(|_| !call.authority().is_operator());
    let members = present([
        ("proof", Some(Json::Text(proof))),
        ("tenant", tenant.map(|name| Json::Text(name.as_str().to_owned()))),
    ]);
    respond(&app, &call, &content, session, members)
}

/// `PUT /console/session`: renews the session of the request.
pub(crate) async fn renew_session(
    State(app): State<AppState>,
    _: Served,
    _: PlainJson,
    call: Call,
) -> Result<Response, Problem> {
    let missing = || Problem::saying(ProblemCode::InvalidRequest, "the request has no session");
    let session = call.parts.extensions.get::<Session>().ok_or_else(missing)?;
    let credential = bearer(&call.parts.headers)?.ok_or_else(nobody)?;
    let content = app.sessions.renew(*session, credential, app.directory.now())?;
    respond(&app, &call, &content, *session, Vec::new())
}

/// `DELETE /console/session`: lets the browser forget the session.
pub(crate) async fn delete_session(
    State(app): State<AppState>,
    _: Served,
    _: PlainJson,
    call: Call,
) -> Result<Response, Problem> {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let clear = HeaderValue::from_static("\"cache\"");
    headers.insert(CLEAR_SITE_DATA, clear);
    headers.insert(CACHE_CONTROL, NO_STORE);
    if let Some(cookie) = cookie_of(&app, &call, "") {
        headers.insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The cookie for the browser that sent a request.
fn cookie_of(app: &AppState, call: &Call, content: &str) -> Option<HeaderValue> {
    set_cookie(content, &app.settings.base_url, call.peer().tls, call.client())
}

fn respond(
    app: &AppState,
    call: &Call,
    cookie: &str,
    session: Session,
    mut members: Vec<(String, Json)>,
) -> Result<Response, Problem> {
    let cookie = cookie_of(app, call, cookie).ok_or_else(|| {
        let detail = "sign in over https: here the network would see the session";
        Problem::saying(ProblemCode::InvalidRequest, detail)
    })?;
    let end = call.authority().expires_at().map_or(session.end(), |end| end.min(session.end()));
    let idle_s = i64::try_from(SESSION_IDLE.as_secs()).unwrap_or(i64::MAX);
    members.extend(present([
        ("ends_at", Some(Json::Text(end.to_string()))),
        ("idle_s", Some(Json::Int(idle_s))),
    ]));
    let mut body = Vec::new();
    write_json(&mut body, &Json::Object(members));
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON.header());
    headers.insert(CACHE_CONTROL, NO_STORE);
    headers.insert(SET_COOKIE, cookie);
    Ok(response)
}
