//! Query parameters of collections and writes: each occurs at most once, and all errors are listed
//! together.
//!
//! The operation interprets the parameters; this module does not know the directory.

use roster_core::{
    Capped,
    limits::{PAGE_SIZE_MAX, TEXT_LENGTH_MAX},
    text::nfc,
};

use super::{Parameter, parameters};
use crate::problem::{Fault, Problem, ProblemCode};

/// An error of a parameter: its code, and a text.
pub(crate) type ParameterFault = (&'static str, String);

/// Passes each parameter to `take`. Only `fields` may be repeated. All errors make one problem.
pub(crate) fn read_each<'a>(
    query: Option<&'a str>,
    take: impl FnMut(&Parameter<'a>) -> Result<(), ParameterFault>,
) -> Result<Vec<Parameter<'a>>, Problem> {
    read_lists(query, &["fields"], take)
}

/// Passes each parameter to `take`. Only those with these names may be repeated. All errors make
/// one problem.
pub(crate) fn read_lists<'a>(
    query: Option<&'a str>,
    lists: &[&str],
    mut take: impl FnMut(&Parameter<'a>) -> Result<(), ParameterFault>,
) -> Result<Vec<Parameter<'a>>, Problem> {
    let mut once = |parameter: &Parameter<'a>, is_repeated| {
        let is_list = lists.contains(&parameter.name.as_ref());
        if is_repeated && !is_list { Err(duplicate()) } else { take(parameter) }
    };
    let (given, faults) = read_all(query, &mut once)?;
    if faults.is_empty() { Ok(given) } else { Err(refused(faults)) }
}

/// Passes each parameter to `take`; its second argument says whether an earlier one has the same
/// name. Returns the parameters and their errors.
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

/// Rejects any parameter, for operations without parameters.
pub(crate) fn refuse_parameters(query: Option<&str>) -> Result<(), Problem> {
    let (_, faults) = read_all(query, |_, _| {
        Err(("unknown-parameter", "this operation takes no query parameters".to_owned()))
    })?;
    if faults.is_empty() { Ok(()) } else { Err(refused(faults)) }
}

/// The problem of an invalid query.
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

/// The maximum number of items of a page.
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

/// A value to compare, normalized like stored values.
pub(crate) fn text(value: &str) -> Result<String, ParameterFault> {
    let value = nfc(value.to_owned());
    if value.is_empty() || value.chars().nth(TEXT_LENGTH_MAX).is_some() {
        return Err(invalid(&format!("give 1 to {TEXT_LENGTH_MAX} characters")));
    }
    Ok(value)
}

/// The target of another page: the original query with another cursor.
pub(crate) fn target(path: &str, given: &[Parameter<'_>], cursor: &str) -> String {
    let kept = given.iter().filter(|given| given.name != "cursor");
    let mut target = format!("{path}?");
    for parameter in kept {
        target.push_str(parameter.pair);
        target.push('&');
    }
    target + "cursor=" + cursor
}
