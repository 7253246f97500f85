//! The options of a read of one resource.

use axum::extract::FromRequestParts;
use http::request::Parts;
use roster_core::Preconditions;

use super::{JSON, negotiate, preconditions, refuse_parameters};
use crate::{problem::Problem, state::AppState};

/// A request whose caller accepts JSON.
pub(crate) struct AcceptsJson;

/// A request without query parameters.
pub(crate) struct NoParameters;

/// A request without query parameters whose caller accepts JSON.
pub(crate) type PlainJson = (NoParameters, AcceptsJson);

/// The preconditions of a read without query parameters whose caller accepts JSON.
pub(crate) struct ReadOptions(pub(crate) Preconditions);

impl FromRequestParts<AppState> for AcceptsJson {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        negotiate(&parts.headers, &[JSON]).map(|_| Self)
    }
}

impl FromRequestParts<AppState> for NoParameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        refuse_parameters(parts.uri.query()).map(|()| Self)
    }
}

impl FromRequestParts<AppState> for ReadOptions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        refuse_parameters(parts.uri.query())?;
        negotiate(&parts.headers, &[JSON])?;
        preconditions(&parts.headers).map(Self)
    }
}
