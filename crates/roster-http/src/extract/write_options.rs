//! The options of a write of one record: a dry run, preconditions, an idempotency key, the
//! preferred wait and the preferred response.

use axum::extract::FromRequestParts;
use http::request::Parts;
use roster_core::{Mode, Preconditions, Terms};

use super::{
    ReturnPreference, boolean, idempotency, idempotency_key, preconditions, preferred_return,
    read_each, weak_preconditions,
};
use crate::{
    admission::Class,
    operation::Operation,
    problem::Problem,
    request::{Call, RequestContext},
    state::AppState,
    time_limits::PreferredWait,
};

/// The options of a write of one record.
///
/// Fails with 400 for a query parameter other than `dry_run`, for a `dry_run` that is no boolean,
/// and for a malformed `If-Match`, `If-None-Match` or `Idempotency-Key`. A malformed `Prefer` is
/// ignored.
pub(crate) struct WriteOptions {
    /// `dry_run`: whether the write is only checked and not stored.
    pub(crate) mode: Mode,
    /// `Prefer: return`.
    pub(crate) preferred_return: Option<ReturnPreference>,
    /// `Prefer: wait`.
    preferred_wait: Option<PreferredWait>,
    /// `If-Match` and `If-None-Match`. A write that creates a record ignores them.
    pub(crate) preconditions: Preconditions,
    /// `Idempotency-Key`.
    idempotency_key: Option<String>,
}

impl FromRequestParts<AppState> for WriteOptions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let creates = matches!(
            RequestContext::of(parts)?.operation,
            Some(Operation::CreateUser | Operation::CreateGroup)
        );
        let preconditions =
            if creates { Preconditions::default() } else { preconditions(&parts.headers)? };
        let mode = mode(parts.uri.query())?;
        Self::of(parts, mode, preconditions)
    }
}

impl WriteOptions {
    /// The options of a write through SCIM, whose entity tags are weak.
    pub(crate) fn of_scim(parts: &Parts) -> Result<Self, Problem> {
        Self::of(parts, Mode::Write, weak_preconditions(&parts.headers)?)
    }

    fn of(parts: &Parts, mode: Mode, preconditions: Preconditions) -> Result<Self, Problem> {
        let headers = &parts.headers;
        Ok(Self {
            mode,
            preferred_return: preferred_return(headers),
            preferred_wait: PreferredWait::of(headers),
            preconditions,
            idempotency_key: idempotency_key(headers)?,
        })
    }

    /// What the directory checks and stores with the write: preconditions, the idempotency record,
    /// and the caller.
    pub(crate) fn terms(&self, call: &Call, body: &[u8]) -> Terms {
        let caller = call.caller();
        let actor = caller.actor.to_string();
        // A dry run changes nothing, however often it is sent.
        let key = self.idempotency_key.as_ref().filter(|_| self.mode == Mode::Write);
        let idempotency = key.map(|key| idempotency(&actor, key, &call.parts, body));
        let start = self.preferred_wait.as_ref().map(PreferredWait::start);
        let preconditions = self.preconditions.clone();
        Terms { preconditions, idempotency, mode: self.mode, caller, start }
    }

    /// Runs a write once it is admitted. Fails with 503 if it is not admitted, or if it has not
    /// begun when the preferred wait is over. A write that has begun is awaited.
    pub(crate) async fn execute<T, E: Into<Problem>>(
        &self,
        app: &AppState,
        write: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Problem> {
        let write = app.admission.with_admission(Class::Writes, write);
        match &self.preferred_wait {
            Some(wait) => wait.hold(write).await,
            None => write.await,
        }
    }
}

/// Reads `dry_run`, the only parameter.
fn mode(query: Option<&str>) -> Result<Mode, Problem> {
    let mut mode = Mode::default();
    read_each(query, |parameter| {
        if parameter.name != "dry_run" {
            return Err(("unknown-parameter", "a write takes dry_run alone".to_owned()));
        }
        mode = if boolean(&parameter.value())? { Mode::DryRun } else { Mode::Write };
        Ok(())
    })?;
    Ok(mode)
}
