//! Parameters of the queries of collections and writes: each read once, faults listed together.
//!
//! What a parameter means is for the operation to say; nothing here knows the directory.

use roster_core::{Capped, limits::PAGE_SIZE_MAX};

use super::{Parameter, parameters};
use crate::problem::{Fault, Problem, ProblemCode};

/// What is wrong with a parameter: the code of the fault, and a sentence.
pub(crate) type ParameterFault = (&'static str, String);

/// Has each parameter taken, none of them twice; all faults make one problem.
pub(crate) fn read_each<'a>(
    query: Option<&'a str>,
    mut take: impl FnMut(&Parameter<'a>) -> Result<(), ParameterFault>,
) -> Result<Vec<Parameter<'a>>, Problem> {
    let given = parameters(query)?;
    let mut faults = Capped::default();
    for (index, parameter) in given.iter().enumerate() {
        let twice = given.iter().take(index).any(|before| before.name == parameter.name);
        let taken = if twice { Err(duplicate()) } else { take(parameter) };
        if let Err((code, detail)) = taken {
            faults.push(|| Fault::of_parameter(parameter.name.as_ref(), code, detail));
        }
    }
    if faults.is_empty() {
        return Ok(given);
    }
    Err(refused(faults))
}

/// The problem of a query with faults.
pub(crate) fn refused(faults: Capped<Fault>) -> Problem {
    Problem::listing(ProblemCode::InvalidQuery, "parameter", faults)
}

pub(crate) fn duplicate() -> ParameterFault {
    ("duplicate-parameter", "give this parameter once".to_owned())
}

pub(crate) fn unknown() -> ParameterFault {
    ("unknown-parameter", "there is no such parameter".to_owned())
}

pub(crate) fn invalid(detail: &str) -> ParameterFault {
    ("invalid-value", detail.to_owned())
}

/// How many items a page has at most.
pub(crate) fn limit(text: &str) -> Result<usize, ParameterFault> {
    let detail = format!("give a number from 1 to {PAGE_SIZE_MAX}");
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(("invalid-value", detail));
    }
    let limit = text.parse().ok().filter(|limit| (1..=PAGE_SIZE_MAX).contains(limit));
    limit.ok_or(("out-of-range", detail))
}

pub(crate) fn boolean(text: &str) -> Result<bool, ParameterFault> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid("give true or false")),
    }
}

/// The target of another page: a query as it was sent, with another cursor.
pub(crate) fn target(path: &str, given: &[Parameter<'_>], cursor: &str) -> String {
    let kept = given.iter().filter(|given| given.name != "cursor");
    let mut target = format!("{path}?");
    for parameter in kept {
        target.push_str(parameter.pair);
        target.push('&');
    }
    target + "cursor=" + cursor
}
