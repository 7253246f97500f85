//! The query: strictly percent-decoded pairs.
//!
//! A broken escape is an error. The operation decides which names are allowed and how often. A `+`
//! is a space, as in HTML forms. Values that may contain a plus sign are read with
//! [`Parameter::literal`].

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use roster_core::limits::{ID_PARAMETERS_MAX, QUERY_PARAMETERS_MAX};

use crate::problem::{Fault, Problem, ProblemCode};

/// One name and value of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter<'a> {
    /// The decoded name.
    pub(crate) name: Cow<'a, str>,
    /// Name and value as sent.
    pub(crate) pair: &'a str,
    raw: &'a str,
}

impl<'a> Parameter<'a> {
    /// The decoded value, `+` read as a space.
    pub(crate) fn value(&self) -> Cow<'a, str> {
        if self.raw.contains('+') {
            Cow::Owned(decoded(&self.raw.replace('+', " ")).into_owned())
        } else {
            decoded(self.raw)
        }
    }

    /// The decoded value, `+` read as itself.
    pub(crate) fn literal(&self) -> Cow<'a, str> {
        decoded(self.raw)
    }
}

/// Decodes a value whose escapes and UTF-8 were checked before.
fn decoded(raw: &str) -> Cow<'_, str> {
    percent_decode_str(raw).decode_utf8_lossy()
}

/// The parameters of a query, in order.
pub(crate) fn parameters(query: Option<&str>) -> Result<Vec<Parameter<'_>>, Problem> {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    refuse_many(pairs.clone())?;
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if is_well_escaped(name) && is_well_escaped(value) {
                Ok(Parameter { name: decoded(name), pair, raw: value })
            } else {
                let detail = "the query holds a broken percent escape or is not UTF-8";
                Err(Problem::saying(ProblemCode::InvalidQuery, detail))
            }
        })
        .collect()
}

/// Rejects more parameters than a query may have. `id` may be repeated and has its own limit, which
/// its operation enforces.
fn refuse_many<'a>(pairs: impl Iterator<Item = &'a str>) -> Result<(), Problem> {
    let name = |pair: &'a str| pair.split_once('=').map_or(pair, |(name, _)| name);
    let (mut ids, mut others) = (0, 0);
    for name in pairs.map(name) {
        *(if name == "id" { &mut ids } else { &mut others }) += 1;
        if others > QUERY_PARAMETERS_MAX || ids > ID_PARAMETERS_MAX + QUERY_PARAMETERS_MAX {
            let detail = format!("give at most {QUERY_PARAMETERS_MAX} query parameters");
            let fault = Fault::of_parameter(decoded(name), "too-many", detail.clone());
            let problem = Problem::saying(ProblemCode::InvalidQuery, detail);
            return Err(problem.with_faults(fault.into()));
        }
    }
    Ok(())
}

fn is_well_escaped(text: &str) -> bool {
    let escapes = text.split('%').skip(1);
    let whole = escapes
        .map(str::as_bytes)
        .all(|after| matches!(after, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit()));
    whole && text.is_ascii() && percent_decode_str(text).decode_utf8().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded() {
        let read = parameters(Some("a=1&b%20c=%C3%A9+x&&d&e=a+b%2Bc")).expect("well formed");
        let pairs: Vec<_> = read.iter().map(|p| (p.name.as_ref(), p.value())).collect();
        let pair = |name, value: &'static str| (name, Cow::Borrowed(value));
        let expected = [pair("a", "1"), pair("b c", "é x"), pair("d", ""), pair("e", "a b+c")];
        assert_eq!(pairs, expected);
        assert_eq!(read.last().map(Parameter::literal).as_deref(), Some("a+b+c"));
    }

    #[test]
    fn a_query_has_at_most_64_parameters_and_100_ids() {
        let query = |ids: usize, others: usize| {
            let pairs = std::iter::repeat_n("id=1", ids).chain(std::iter::repeat_n("a=1", others));
            pairs.collect::<Vec<_>>().join("&")
        };
        assert!(parameters(Some(&query(100, 64))).is_ok());
        assert!(parameters(Some(&query(0, 65))).is_err());
        assert!(parameters(Some(&query(165, 0))).is_err());
        assert!(parameters(Some(&"&".repeat(10_000))).is_ok());
    }

    #[test]
    fn broken_escapes_are_refused() {
        for query in ["a=%", "a=%4", "a=%zz", "%ff=1", "a=%C3", "a=%ED%A0%80"] {
            assert!(parameters(Some(query)).is_err(), "{query}");
        }
    }
}
