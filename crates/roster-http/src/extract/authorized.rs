//! Extractors that prove what the caller may do.

use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::Bytes;
use http::request::Parts;
use roster_core::{
    Draft, Json, Terms,
    access::{Permit, Right, WriteUsers},
    group::GroupDraft,
};

use super::{BodyKind, JSON, WriteOptions, negotiate};
use crate::{
    operation::Operation,
    problem::Problem,
    request::{Call, RequestContext, UnreadCall},
    state::AppState,
};

/// The permit for a right. Fails with 403 if the caller lacks its scope. Who the caller is, was
/// verified before the handler (401).
pub(crate) struct Authorized<R: Right>(pub(crate) Permit<R>);

impl<R: Right> FromRequestParts<AppState> for Authorized<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        Ok(Self(RequestContext::of(parts)?.authority.permit()?))
    }
}

/// What a request body of JSON is converted to. A conversion never fails: a draft keeps what is
/// invalid, and the directory refuses it with 422 and all its faults.
pub(crate) trait FromJson: Send + 'static {
    fn from_json(json: Json) -> Self;
}

impl FromJson for Draft {
    fn from_json(json: Json) -> Self {
        Self::parse(json)
    }
}

impl FromJson for GroupDraft {
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

/// A request body of JSON, and the permit to write.
///
/// The caller is authenticated and authorized again after the last byte, so that a permit never
/// outlives a slow body. Fails with 406 if the caller does not accept JSON, 415 for another media
/// type, 408 or 413 for a body that is too slow or too large, 400 for a body that is not JSON, and
/// 401 or 403 if the caller has lost access.
pub(crate) struct AuthorizedBody<T> {
    pub(crate) permit: Permit<WriteUsers>,
    pub(crate) value: T,
    call: Call,
    bytes: Bytes,
}

impl<T: FromJson> FromRequest<AppState> for AuthorizedBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Problem> {
        let call = UnreadCall::from_request(request, app).await?;
        negotiate(&call.parts.headers, &[JSON])?;
        let kind = match call.context().operation {
            Some(Operation::CreateUser) => BodyKind::NewUser,
            Some(Operation::PatchUser | Operation::PatchGroup) => BodyKind::MergePatch,
            _ => BodyKind::Object,
        };
        // Reads the body, then authorizes the caller again.
        let bytes_max = app.settings.body_bytes_max;
        let (call, value, bytes) = call.read(app, kind, bytes_max, T::from_json).await?;
        Ok(Self { permit: call.permit()?, value, call, bytes })
    }
}

impl<T> AuthorizedBody<T> {
    /// The terms of the write.
    pub(crate) fn terms(&self, options: &WriteOptions) -> Terms {
        options.terms(&self.call, &self.bytes)
    }
}
