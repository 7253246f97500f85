//! Extractors that prove what the caller may do.

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use roster_core::{
    Draft, Json, SchemaDraft, Terms,
    access::{Permit, Right, WriteUsers},
    group::GroupDraft,
    json,
};

use super::{BodyKind, JSON, WriteOptions, negotiate};
use crate::{
    operation::Operation,
    problem::Problem,
    request::{BodyFacts, Call, RequestContext, UnreadCall},
    state::AppState,
};

/// The proof that the caller has a right. The endpoint has authenticated the caller before, and
/// checked the scope of the operation. Fails with 403 if the right needs another scope, which the
/// caller lacks.
pub(crate) struct Authorized<R: Right>(pub(crate) Permit<R>);

impl<R: Right> FromRequestParts<AppState> for Authorized<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        Ok(Self(RequestContext::of(parts)?.authority.permit()?))
    }
}

/// A type that a request body of JSON is converted to. The conversion never fails: a draft keeps
/// invalid values, and the directory reports all of them at once with 422.
pub(crate) trait FromJson: Send + 'static {
    fn from_json(json: Json) -> Self;
}

impl FromJson for Draft {
    fn from_json(json: Json) -> Self {
        Self::parse(json)
    }
}

/// A draft that can be merged into a user that exists.
pub(crate) struct Mergeable(pub(crate) Draft);

impl FromJson for Mergeable {
    fn from_json(json: Json) -> Self {
        Self(Draft::parse_mergeable(json))
    }
}

impl FromJson for GroupDraft {
    fn from_json(json: Json) -> Self {
        Self::parse(json)
    }
}

impl FromJson for SchemaDraft {
    fn from_json(json: Json) -> Self {
        Self::parse(json)
    }
}

/// A JSON Merge Patch.
impl FromJson for Json {
    fn from_json(json: Json) -> Self {
        json
    }
}

/// A request body of JSON, and the permit for the right `R`: by default, to change users.
///
/// The endpoint has authenticated the caller before any extractor runs. Here the caller is
/// authenticated again after the body was read and parsed, so that access which is revoked during a
/// slow upload is noticed. Fails, in this order, with
///
/// - 406 if `Accept` excludes JSON,
/// - 415 for another media type and for any `Content-Encoding`,
/// - 408 or 413 for a body that is too slow or too large, 503 if there is no memory for it,
/// - 400 for a body that is empty, breaks off or is malformed JSON,
/// - 401 or 403 if the caller has lost access meanwhile, 503 if its access cannot be read,
/// - 403 if `R` needs another scope than the operation, which the caller lacks.
///
/// JSON that is no object is accepted here; the directory rejects it with 422.
pub(crate) struct AuthorizedBody<T, R: Right = WriteUsers> {
    pub(crate) permit: Permit<R>,
    pub(crate) value: T,
    call: Call,
    facts: BodyFacts,
}

impl<T: FromJson, R: Right> FromRequest<AppState> for AuthorizedBody<T, R> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        let call = UnreadCall::from_request(request, app).await?;
        negotiate(&call.parts.headers, &[JSON])?;
        let kind = match call.context().operation {
            Some(Operation::CreateUser) => BodyKind::NewUser,
            operation => operation.and_then(BodyKind::of_patch).unwrap_or(BodyKind::Json),
        };
        let bytes_max = app.settings.body_bytes_max;
        let parse = |text: &[u8]| json::read(text).map(T::from_json);
        let (call, value, facts) = call.read_and_authorize(app, kind, bytes_max, parse).await?;
        Ok(Self { permit: call.permit()?, value, call, facts })
    }
}

impl<T, R: Right> AuthorizedBody<T, R> {
    /// The same body with another value.
    pub(crate) fn map<U>(self, convert: impl FnOnce(T) -> U) -> AuthorizedBody<U, R> {
        let Self { permit, value, call, facts } = self;
        AuthorizedBody { permit, value: convert(value), call, facts }
    }

    /// The permit for another right that the write needs.
    pub(crate) fn permit_to<S: Right>(&self) -> Result<Permit<S>, Problem> {
        self.call.permit()
    }

    /// What the directory checks and stores with the write.
    pub(crate) fn terms(&self, options: &WriteOptions) -> Terms {
        options.terms_with(&self.call, self.facts)
    }
}
