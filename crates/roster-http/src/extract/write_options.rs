//! What a write of one record is asked for beside the record: a dry run, preconditions, an
//! idempotency key, how long the caller waits and what it wants back.

use axum::extract::FromRequestParts;
use http::request::Parts;
use roster_core::{Mode, Preconditions, Terms};

use super::{
    Return, boolean, idempotency, idempotency_key, preconditions, preferred_return, read_each,
    weak_preconditions,
};
use crate::{
    operation::Operation,
    patience::Patience,
    pressure::Class,
    problem::Problem,
    request::{Call, RequestContext},
    state::AppState,
};

/// The options of a write, from the query and the headers.
pub(crate) struct WriteOptions {
    pub(crate) mode: Mode,
    pub(crate) wanted: Option<Return>,
    patience: Option<Patience>,
    pub(crate) preconditions: Preconditions,
    key: Option<String>,
}

impl FromRequestParts<AppState> for WriteOptions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        // What does not exist yet has no version.
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
        let key = idempotency_key(headers)?;
        let (wanted, patience) = (preferred_return(headers), Patience::of(headers));
        Ok(Self { mode, wanted, patience, preconditions, key })
    }

    /// The terms of the write, once the body is known.
    pub(crate) fn terms(&self, call: &Call, body: &[u8]) -> Terms {
        let caller = call.caller();
        let record = |key: &String| idempotency(&caller.actor.to_string(), key, &call.parts, body);
        // A dry run changes nothing, however often it is sent.
        let idempotency = self.key.as_ref().filter(|_| self.mode == Mode::Write).map(record);
        let start = self.patience.as_ref().map(Patience::start);
        let preconditions = self.preconditions.clone();
        Terms { preconditions, idempotency, mode: self.mode, caller, start }
    }

    /// Runs the write once it is admitted, unless its caller does not wait so long.
    pub(crate) async fn execute<T, E: Into<Problem>>(
        &self,
        app: &AppState,
        write: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Problem> {
        let write = app.pressure.with_admission(Class::Writes, write);
        match &self.patience {
            Some(patience) => patience.hold(write).await,
            None => write.await,
        }
    }
}

/// `dry_run`, the one parameter that a write of one record takes.
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
