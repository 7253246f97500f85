//! What every write of one record is asked with, beside the record: a dry run, preconditions, a
//! mark for a request that may come twice, and what the caller would like back.

use http::request::Parts;
use roster_core::{Caller, Mode, Preconditions, Terms};

use crate::{
    extract::{Return, idempotency, idempotency_key, parameters, preconditions, preferred_return},
    problem::{Fault, Problem, ProblemCode},
};

/// The terms of a request, read before its body is.
pub(in crate::rest) struct Asked {
    pub(in crate::rest) mode: Mode,
    pub(in crate::rest) wanted: Option<Return>,
    held: Preconditions,
    key: Option<String>,
}

impl Asked {
    /// Reads the query and the headers of a write that preconditions can hold back.
    pub(in crate::rest) fn read(parts: &Parts) -> Result<Self, Problem> {
        let held = preconditions(&parts.headers)?;
        Ok(Self { held, ..Self::without_preconditions(parts)? })
    }

    /// Reads those of a write that makes what it is about.
    pub(in crate::rest) fn without_preconditions(parts: &Parts) -> Result<Self, Problem> {
        let mode = mode(parts.uri.query())?;
        let key = idempotency_key(&parts.headers)?;
        let wanted = preferred_return(&parts.headers);
        Ok(Self { mode, wanted, held: Preconditions::default(), key })
    }

    /// The terms, once the body is known.
    pub(in crate::rest) fn terms(&self, parts: &Parts, caller: Caller, body: &[u8]) -> Terms {
        let mark = |key: &String| idempotency(caller.actor.as_str(), key, parts, body);
        // A dry run changes nothing, however often it comes.
        let idempotency = self.key.as_ref().filter(|_| self.mode == Mode::Write).map(mark);
        Terms { held: self.held.clone(), idempotency, mode: self.mode, caller }
    }
}

/// `dry_run`, the one parameter that a write of one record takes.
fn mode(query: Option<&str>) -> Result<Mode, Problem> {
    let mut mode = None;
    let mut faults = Vec::new();
    for parameter in parameters(query)? {
        let known = parameter.name == "dry_run";
        let read = match parameter.value().as_ref() {
            _ if !known => Err(("unknown-parameter", "a write takes dry_run alone")),
            _ if mode.is_some() => Err(("duplicate-parameter", "give this parameter once")),
            "true" => Ok(Mode::DryRun),
            "false" => Ok(Mode::Write),
            _ => Err(("invalid-value", "give true or false")),
        };
        match read {
            Ok(read) => mode = Some(read),
            Err((code, detail)) => {
                faults.push(Fault::of_parameter(parameter.name, code, detail));
            }
        }
    }
    if faults.is_empty() {
        return Ok(mode.unwrap_or_default());
    }
    Err(Problem::listing(ProblemCode::InvalidQuery, "parameter", faults))
}
