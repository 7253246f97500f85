//! The router: the handler of every operation, and what answers where there is none.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    handler::Handler,
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, any, on},
};
use http::{
    HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{ALLOW, HeaderMap},
};

use crate::{
    endpoint::Endpoint,
    operation::{Operation, Route, routes},
    problem::{Problem, ProblemCode},
    rest,
    scim::{self, discovery},
    state::AppState,
};

const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");
const PATCH_TYPES: HeaderValue =
    HeaderValue::from_static("application/merge-patch+json, application/json");
/// The methods of RFC 9110, RFC 5789 and RFC 10008. Any other is answered 501.
const KNOWN_METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"];
const EVERY_METHOD: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The router of both interfaces.
pub(crate) fn router(app: &AppState) -> Router {
    let base = app.settings.base_path();
    let mut router = Router::new();
    for route in routes() {
        let mut methods = not_offered(&route);
        for operation in &route.operations {
            methods = methods.merge(offered(*operation, app));
        }
        if !base.is_empty() && route.operations.iter().any(|operation| operation.is_probe()) {
            router = router.route(route.path, methods.clone());
        }
        // The base path itself, without a slash, is the service document too.
        if !base.is_empty() && route.path == "/" {
            router = router.route(base, methods.clone());
        }
        let path = format!("{base}{}", route.path);
        // SCIM clients join URLs with a slash at the end.
        if route.operations.iter().any(|operation| operation.is_scim()) {
            router = router.route(&format!("{path}/"), methods.clone());
        }
        router = router.route(&path, methods);
    }
    router.fallback(Endpoint::of_none(not_found)).with_state(app.clone())
}

/// A router without routes.
pub(crate) fn no_route(app: &AppState) -> Router {
    Router::new().fallback(Endpoint::of_none(not_found)).with_state(app.clone())
}

/// The handler of an operation.
fn offered(operation: Operation, app: &AppState) -> MethodRouter<AppState> {
    match operation {
        Operation::ListUsers => on_method(operation, app, rest::users::list),
        Operation::CreateUser => on_method(operation, app, rest::users::create),
        Operation::PatchUsers => on_method(operation, app, rest::users::patch_many),
        Operation::DeleteUsers => on_method(operation, app, rest::users::delete_many),
        Operation::GetUser => on_method(operation, app, rest::users::get),
        Operation::ReplaceUser => on_method(operation, app, rest::users::replace),
        Operation::PatchUser => on_method(operation, app, rest::users::patch),
        Operation::DeleteUser => on_method(operation, app, rest::users::delete),
        Operation::ListUserEvents => on_method(operation, app, rest::events::list_of_user),
        Operation::ListUserGroups => on_method(operation, app, rest::groups::list_of_user),
        Operation::ListDeletedUsers => on_method(operation, app, rest::deleted_users::list),
        Operation::GetDeletedUser => on_method(operation, app, rest::deleted_users::get),
        Operation::PurgeUser => on_method(operation, app, rest::deleted_users::purge),
        Operation::RestoreUser => on_method(operation, app, rest::deleted_users::restore),
        Operation::ListGroups => on_method(operation, app, rest::groups::list),
        Operation::CreateGroup => on_method(operation, app, rest::groups::create),
        Operation::GetGroup => on_method(operation, app, rest::groups::get),
        Operation::ReplaceGroup => on_method(operation, app, rest::groups::replace),
        Operation::PatchGroup => on_method(operation, app, rest::groups::patch),
        Operation::DeleteGroup => on_method(operation, app, rest::groups::delete),
        Operation::ListMembers => on_method(operation, app, rest::groups::list_members),
        Operation::PutMember => on_method(operation, app, rest::groups::put_member),
        Operation::DeleteMember => on_method(operation, app, rest::groups::delete_member),
        Operation::ListEvents => on_method(operation, app, rest::events::list),
        Operation::ListKeys => on_method(operation, app, rest::keys::list),
        Operation::CreateKey => on_method(operation, app, rest::keys::create),
        Operation::GetKey => on_method(operation, app, rest::keys::get),
        Operation::RevokeKey => on_method(operation, app, rest::keys::revoke),
        Operation::RotateKey => on_method(operation, app, rest::keys::rotate),
        Operation::GetSchema => on_method(operation, app, rest::schema::get),
        Operation::ReplaceSchema => on_method(operation, app, rest::schema::replace),
        Operation::GetCaller => on_method(operation, app, rest::caller::get),
        Operation::GetService => on_method(operation, app, rest::service::get_service),
        Operation::GetDescription => on_method(operation, app, rest::service::get_description),
        Operation::GetDocs => on_method(operation, app, rest::service::get_docs),
        Operation::ListProblems => on_method(operation, app, rest::service::list_problems),
        Operation::GetProblem => on_method(operation, app, rest::service::get_problem),
        Operation::GetLiveness => on_method(operation, app, rest::health::get_liveness),
        Operation::GetReadiness => on_method(operation, app, rest::health::get_readiness),
        Operation::GetMetrics => on_method(operation, app, rest::health::get_metrics),
        Operation::ScimListUsers | Operation::ScimListGroups => {
            on_method(operation, app, scim::list::list)
        }
        Operation::ScimCreateUser => on_method(operation, app, scim::users::create),
        Operation::ScimSearchUsers | Operation::ScimSearchGroups => {
            on_method(operation, app, scim::list::search)
        }
        Operation::ScimSearch => on_method(operation, app, scim::search::search),
        Operation::ScimGetUser => on_method(operation, app, scim::users::get),
        Operation::ScimReplaceUser => on_method(operation, app, scim::users::replace),
        Operation::ScimPatchUser => on_method(operation, app, scim::users::patch),
        Operation::ScimDeleteUser => on_method(operation, app, scim::users::delete),
        Operation::ScimCreateGroup => on_method(operation, app, scim::groups::create),
        Operation::ScimGetGroup => on_method(operation, app, scim::groups::get),
        Operation::ScimReplaceGroup => on_method(operation, app, scim::groups::replace),
        Operation::ScimPatchGroup => on_method(operation, app, scim::groups::patch),
        Operation::ScimDeleteGroup => on_method(operation, app, scim::groups::delete),
        Operation::ScimBulk => on_method(operation, app, scim::bulk::bulk),
        Operation::ScimGetMe => on_method(operation, app, discovery::get_me),
        Operation::ScimGetServiceProviderConfig => on_method(operation, app, discovery::get_config),
        Operation::ScimListResourceTypes => {
            on_method(operation, app, discovery::list_resource_types)
        }
        Operation::ScimGetResourceType => on_method(operation, app, discovery::get_resource_type),
        Operation::ScimListSchemas => on_method(operation, app, discovery::list_schemas),
        Operation::ScimGetSchema => on_method(operation, app, discovery::get_schema),
    }
}

fn on_method<T: 'static>(
    operation: Operation,
    app: &AppState,
    handler: impl Handler<T, AppState>,
) -> MethodRouter<AppState> {
    let endpoint = Endpoint::of(operation, handler, app);
    let filter = MethodFilter::try_from(operation.method()).unwrap_or(MethodFilter::GET);
    on(filter, endpoint)
}

/// What answers the methods that a route does not offer: `OPTIONS` among them.
fn not_offered(route: &Route) -> MethodRouter<AppState> {
    let allow: Arc<str> = route.allow.as_str().into();
    let takes_merge_patch = route.operations.iter().any(|operation| operation.is_merge_patch());
    let is_me = route.operations.contains(&Operation::ScimGetMe);
    any(Endpoint::of_none(move |method: Method| async move {
        if method == Method::OPTIONS {
            let mut response = allowing(&allow);
            if takes_merge_patch {
                response.headers_mut().insert(ACCEPT_PATCH, PATCH_TYPES);
            }
            return response;
        }
        if is_me && [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&method) {
            return scim::me_is_not_implemented().into_response();
        }
        refusal(&method, &allow).into_response()
    }))
}

/// What answers where there is no route.
async fn not_found(State(app): State<AppState>, method: Method, uri: Uri) -> Response {
    if uri.path() == "*" && method == Method::OPTIONS {
        return allowing(EVERY_METHOD);
    }
    if method == Method::CONNECT || !KNOWN_METHODS.contains(&method.as_str()) {
        return refusal(&method, EVERY_METHOD).into_response();
    }
    if uri.path() == "*" {
        let detail = "the target * goes with OPTIONS alone";
        return Problem::saying(ProblemCode::InvalidRequest, detail).into_response();
    }
    let base = app.settings.base_path();
    let problem = match uri.path().strip_prefix(base).and_then(similar_path) {
        Some(path) => {
            let detail = format!("paths are compared exactly, and this one is not {base}{path}");
            Problem::saying(ProblemCode::NotFound, detail)
        }
        None => Problem::new(ProblemCode::NotFound),
    };
    problem.into_response()
}

/// The path of an operation that differs from this one only in its case and in slashes. The
/// segments that the template names are not repeated.
fn similar_path(path: &str) -> Option<&'static str> {
    fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
        path.trim_matches('/').split('/')
    }
    let sent = segments(path);
    let is_similar = |template: &&str| {
        let named = segments(template);
        named.clone().count() == sent.clone().count()
            && named.zip(sent.clone()).all(|(named, sent)| {
                named.eq_ignore_ascii_case(sent) || (named.starts_with('{') && !sent.is_empty())
            })
    };
    Operation::ALL.iter().map(|operation| operation.path()).find(is_similar)
}

/// The response to `OPTIONS` (RFC 9110 section 9.3.7).
fn allowing(methods: &str) -> Response {
    (StatusCode::NO_CONTENT, allow(methods)).into_response()
}

/// The refusal of a method that is not offered (RFC 9110 section 15.5.6), or that is unknown.
fn refusal(method: &Method, offered: &str) -> Problem {
    if !KNOWN_METHODS.contains(&method.as_str()) {
        return Problem::new(ProblemCode::MethodNotImplemented);
    }
    let problem =
        Problem::saying(ProblemCode::MethodNotAllowed, format!("this path offers {offered}"));
    match HeaderValue::try_from(offered) {
        Ok(offered) => problem.with_header(ALLOW, offered),
        Err(_) => problem,
    }
}

fn allow(methods: &str) -> HeaderMap {
    HeaderMap::from_iter(HeaderValue::try_from(methods).ok().map(|methods| (ALLOW, methods)))
}
