//! The router: the handler of every operation, and the handlers of other methods and paths.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    handler::Handler,
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, any, on},
};
use http::{
    HeaderValue, Method, StatusCode, Uri,
    header::{ALLOW, HeaderMap},
};

use crate::{
    endpoint::Endpoint,
    extract::BodyKind,
    operation::{Operation, Route, operations, routes},
    problem::{Problem, ProblemCode},
    rest::{self, bulk},
    scim::{self, discovery},
    state::AppState,
};

/// The methods of RFC 9110, RFC 5789 and RFC 10008. Any other method gets 501.
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
        // A file may be in a folder.
        let path = format!("{base}{}", route.path.replace("{file}", "{*file}"));
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

macro_rules! handlers {
    ($($name:ident $method:ident $path:literal $id:literal $need:ident $handler:path;)*) => {
        /// The handler of an operation.
        fn offered(operation: Operation, app: &AppState) -> MethodRouter<AppState> {
            match operation {
                $(Operation::$name => on_method(operation, app, $handler),)*
            }
        }
    };
}

operations!(handlers);

fn on_method<T: 'static>(
    operation: Operation,
    app: &AppState,
    handler: impl Handler<T, AppState>,
) -> MethodRouter<AppState> {
    let endpoint = Endpoint::of(operation, handler, app);
    let filter = MethodFilter::try_from(operation.method()).unwrap_or(MethodFilter::GET);
    on(filter, endpoint)
}

/// The handler of the methods that a route does not offer, including `OPTIONS`.
fn not_offered(route: &Route) -> MethodRouter<AppState> {
    let allow: Arc<str> = route.allow.as_str().into();
    let patch_kind = route.operations.iter().copied().find_map(BodyKind::of_patch);
    let is_me = route.operations.contains(&Operation::ScimGetMe);
    any(Endpoint::of_none(move |method: Method| async move {
        if method == Method::OPTIONS {
            let mut response = allowing(&allow);
            if let Some((name, types)) = patch_kind.map(BodyKind::accepted) {
                response.headers_mut().insert(name, types);
            }
            return response;
        }
        if is_me && [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&method) {
            return scim::me_is_not_implemented().into_response();
        }
        refusal(&method, &allow).into_response()
    }))
}

/// The handler of paths without a route.
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
            let path = format!("{base}{path}");
            let path = app.external_path(&path);
            let detail = format!("paths are compared exactly, and this one is not {path}");
            Problem::saying(ProblemCode::NotFound, detail)
        }
        None if base.is_empty() => Problem::new(ProblemCode::NotFound),
        None => {
            let detail = format!("nothing is at this path; the service document is at {base}/");
            Problem::saying(ProblemCode::NotFound, detail)
        }
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
