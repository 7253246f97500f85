//! The options of a read of one resource.

use axum::extract::FromRequestParts;
use http::request::Parts;
use roster_core::Preconditions;

use super::{Fields, JSON, negotiate, preconditions, read_each, refuse_parameters, unknown};
use crate::{operation::Operation, problem::Problem, request::RequestContext, state::AppState};

/// A request whose caller accepts JSON.
pub(crate) struct AcceptsJson;

/// A request without query parameters.
pub(crate) struct NoParameters;

/// A request without query parameters whose caller accepts JSON.
pub(crate) type PlainJson = (NoParameters, AcceptsJson);

/// The preconditions of a read without query parameters whose caller accepts JSON.
pub(crate) struct ReadOptions(pub(crate) Preconditions);

/// A read of one record, whose caller accepts JSON: its preconditions, and the members to show.
pub(crate) struct ReadRecord {
    pub(crate) preconditions: Preconditions,
    pub(crate) fields: Fields,
}

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

impl FromRequestParts<AppState> for ReadRecord {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let mut fields = match RequestContext::of(parts)?.operation {
            Some(Operation::GetGroup) => Fields::of_groups(),
            Some(Operation::GetDeletedUser) => Fields::of_deleted_users(),
            _ => Fields::of_users(),
        };
        read_each(parts.uri.query(), |parameter| match parameter.name.as_ref() {
            "fields" => fields.add(&parameter.value()),
            _ => Err(unknown()),
        })?;
        negotiate(&parts.headers, &[JSON])?;
        Ok(Self { preconditions: preconditions(&parts.headers)?, fields })
    }
}
