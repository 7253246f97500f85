//! Parameters of the queries of collections and writes: each read once, faults listed together.
//!
//! What a parameter means is for the operation to say; nothing here knows the directory.

use roster_core::{
    Capped,
    limits::{PAGE_SIZE_MAX, TEXT_LENGTH_MAX},
    text::nfc,
};

use super::{Parameter, parameters};
use crate::problem::{Fault, Problem, ProblemCode};

/// What is wrong with a parameter: the code of the fault, and a sentence.
pub(crate) type ParameterFault = (&'static str, String);

/// Has each parameter taken, none of them twice; all faults make one problem.
pub(crate) fn read_each<'a>(
    query: Option<&'a str>,
    mut take: impl FnMut(&Parameter<'a>) -> Result<(), ParameterFault>,
) -> Result<Vec<Parameter<'a>>, Problem> {
    let mut once = |parameter: &_, is_repeated| {
        if is_repeated { Err(duplicate()) } else { take(parameter) }
    };
    let (given, faults) = read_all(query, &mut once)?;
    if faults.is_empty() { Ok(given) } else { Err(refused(faults)) }
}

/// Gives each parameter to `take`; its second argument says whether an earlier one has the same
/// name. Returns the parameters and their faults.
pub(crate) fn read_all<'a>(
    query: Option<&'a str>,
    mut take: impl FnMut(&Parameter<'a>, bool) -> Result<(), ParameterFault>,
) -> Result<(Vec<Parameter<'a>>, Capped<Fault>), Problem> {
    let given = parameters(query)?;
    let mut faults = Capped::default();
    for (index, parameter) in given.iter().enumerate() {
        let is_repeated = given.iter().take(index).any(|before| before.name == parameter.name);
        if let Err((code, detail)) = take(parameter, is_repeated) {
            faults.push(|| Fault::of_parameter(parameter.name.as_ref(), code, detail));
        }
    }
    Ok((given, faults))
}

/// Refuses any parameter, for operations that take none.
pub(crate) fn refuse_parameters(query: Option<&str>) -> Result<(), Problem> {
    let (_, faults) = read_all(query, |_, _| {
        Err(("unknown-parameter", "this operation takes no query parameters".to_owned()))
    })?;
    if faults.is_empty() { Ok(()) } else { Err(refused(faults)) }
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

/// A value to compare, normalised as stored values are.
pub(crate) fn text(value: &str) -> Result<String, ParameterFault> {
    if value.is_empty() || value.chars().nth(TEXT_LENGTH_MAX).is_some() {
        return Err(invalid(&format!("give 1 to {TEXT_LENGTH_MAX} characters")));
    }
    Ok(nfc(value.to_owned()))
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
