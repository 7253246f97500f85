//! The service over HTTP: the routes of both interfaces over one directory.

use std::sync::Arc;

use axum::{Router, body::Body, response::Response};
use http::{HeaderMap, Method, Request, StatusCode, Uri, header::CONTENT_LENGTH};
use roster_core::{Directory, StoreError};
use roster_server::{Handle, Peer, ServerCounters};
use tower::ServiceExt as _;

use crate::{
    endpoint::NOSNIFF,
    problem::{Problem, ProblemCode},
    request_id::{self, X_REQUEST_ID},
    routes,
    settings::HttpSettings,
    state::AppState,
    tenancy,
};

/// Both interfaces over one directory.
pub struct App {
    state: AppState,
    router: Router,
    /// Responds to every request as to a path without a route.
    no_route: Router,
}

impl App {
    /// Both interfaces over a directory.
    pub fn new(directory: Directory, settings: HttpSettings, server: Arc<ServerCounters>) -> Self {
        let state = AppState::new(directory, settings, server);
        let (router, no_route) = (routes::router(&state), routes::no_route(&state));
        Self { state, router, no_route }
    }

    /// Loads the keys before the first request. Returns whether no key was ever created.
    pub async fn load_keys(&self) -> Result<bool, StoreError> {
        self.state.access.begin().await
    }

    /// Loads the keys after they were changed without this `App`. Returns as [`App::load_keys`].
    pub async fn reload_keys(&self) -> Result<bool, StoreError> {
        self.state.access.keys_changed().await?;
        self.load_keys().await
    }

    /// Whether callers without a credential are admitted: no key was ever created, no issuer is
    /// set, and the settings allow it.
    pub fn is_open(&self) -> bool {
        self.state.access.is_open()
    }

    /// Has the store record which keys were used since the previous call.
    pub async fn note_key_uses(&self) -> Result<(), StoreError> {
        self.state.access.note_uses().await
    }

    /// After this call `/readyz` reports that the service is about to stop. Requests are still
    /// served.
    pub fn drain(&self) {
        self.state.drain();
    }
}

/// A SCIM path with one slash after the base URL, if it has two.
fn without_double_slash(uri: &Uri) -> Option<Uri> {
    let path = uri.path_and_query()?.as_str();
    let at = uri.path().find("/scim/v2//")? + "/scim/v2/".len();
    let (before, after) = path.split_at_checked(at)?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{before}{}", after.strip_prefix('/')?).parse().ok()?);
    Uri::from_parts(parts).ok()
}

impl Handle for App {
    async fn handle(&self, mut request: Request<Body>, peer: &Peer) -> Response {
        let is_head = request.method() == Method::HEAD;
        request.extensions_mut().insert(peer.clone());
        // Clients that join a base URL that ends in a slash send two.
        if let Some(uri) = without_double_slash(request.uri()) {
            *request.uri_mut() = uri;
        }
        if let Some((segment, uri)) = tenancy::split(request.uri(), self.state.base_path()) {
            *request.uri_mut() = uri;
            request.extensions_mut().insert(segment);
        }
        // The router matches a parameter with an empty segment, but no path of this service has
        // one.
        let has_empty_segment = request.uri().path().contains("//");
        let router = if has_empty_segment { &self.no_route } else { &self.router };
        let Ok(mut response) = router.clone().oneshot(request).await;
        // The router adds `Content-Length: 0` to every empty body. This is removed here: the
        // response to HEAD is for a page that was not read, so its length is unknown, and 204 and
        // 304 have no content.
        let has_no_content =
            matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if (is_head || has_no_content)
            && response.headers().get(CONTENT_LENGTH).is_some_and(|length| length == "0")
        {
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        response
    }

    fn on_panic(&self) -> Response {
        let id = self.state.request_ids.of(&HeaderMap::new());
        let request_id = request_id::text(&id);
        tracing::error!(request_id, "a handler panicked");
        let problem = Problem::new(ProblemCode::Internal);
        let mut response = problem.write(&self.state.settings.base_url, request_id);
        response.headers_mut().insert(NOSNIFF.0, NOSNIFF.1);
        response.headers_mut().insert(X_REQUEST_ID, id);
        response
    }
}
