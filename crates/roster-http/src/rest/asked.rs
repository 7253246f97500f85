//! What every write of one record is asked with, beside the record: a dry run, preconditions, a
//! mark for a request that may come twice, and what the caller would like back.

use http::request::Parts;
use roster_core::{Caller, Mode, Preconditions, Terms};

use super::query::{boolean, read_each};
use crate::{
    extract::{Return, idempotency, idempotency_key, preconditions, preferred_return},
    face::Face,
    patience::Patience,
    pressure::Class,
    problem::Problem,
};

/// The terms of a request, read before its body is.
pub(in crate::rest) struct Asked {
    pub(in crate::rest) mode: Mode,
    pub(in crate::rest) wanted: Option<Return>,
    patience: Option<Patience>,
    preconditions: Preconditions,
    key: Option<String>,
}

impl Asked {
    /// Reads the query and the headers of a write that preconditions can hold back.
    pub(in crate::rest) fn read(parts: &Parts) -> Result<Self, Problem> {
        let preconditions = preconditions(&parts.headers)?;
        Ok(Self { preconditions, ..Self::without_preconditions(parts)? })
    }

    /// Reads those of a write that makes what it is about.
    pub(in crate::rest) fn without_preconditions(parts: &Parts) -> Result<Self, Problem> {
        let mode = mode(parts.uri.query())?;
        let key = idempotency_key(&parts.headers)?;
        let wanted = preferred_return(&parts.headers);
        let patience = Patience::of(&parts.headers);
        Ok(Self { mode, wanted, patience, preconditions: Preconditions::default(), key })
    }

    /// The terms, once the body is known.
    pub(in crate::rest) fn terms(&self, parts: &Parts, caller: Caller, body: &[u8]) -> Terms {
        let mark = |key: &String| idempotency(&caller.actor.to_string(), key, parts, body);
        // A dry run changes nothing, however often it comes.
        let idempotency = self.key.as_ref().filter(|_| self.mode == Mode::Write).map(mark);
        let start = self.patience.as_ref().map(Patience::start);
        Terms {
            preconditions: self.preconditions.clone(),
            idempotency,
            mode: self.mode,
            caller,
            start,
        }
    }

    /// Has the write carried out once it may begin, unless its caller would not wait so long.
    pub(in crate::rest) async fn carry_out<T, E: Into<Problem>>(
        &self,
        face: &Face,
        write: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Problem> {
        let write = face.pressure.with_admission(Class::Writes, write);
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
