//! The parameter `map`: which columns the caller maps, and to which members.
//!
//! The name of a column and the path of a member may both have colons. So the columns of the file
//! and the members that exist decide where a value is split.

use roster_core::Capped;

use super::names::{Names, Target};
use crate::{
    extract::refused,
    problem::{Fault, Problem},
};

/// At how many colons a value is split to say which column it probably means. The path of a member
/// has fewer.
const MEANT_MAX: usize = 16;

/// How columns are mapped to members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Mapping {
    /// Whether names that people write are guessed.
    pub(in super::super) guesses: bool,
    /// The other values, as they were sent. Each has a colon.
    pub(in super::super) given: Vec<String>,
}

/// A column that the caller maps.
#[derive(Debug)]
pub(super) struct MappedColumn {
    pub(super) column: String,
    /// `None` to ignore the column.
    pub(super) target: Option<Target>,
}

impl Mapping {
    /// The mapped columns of a file with these headers. Values that cannot be used are added to the
    /// faults; it is an error to map a column twice.
    pub(super) fn columns(
        &self,
        headers: &[String],
        names: &Names<'_>,
        faults: &mut Capped<Fault>,
    ) -> Result<Vec<MappedColumn>, Problem> {
        let mut mapped: Vec<MappedColumn> = Vec::new();
        for text in &self.given {
            let (column, target) = split(text, headers, names);
            let target = target.unwrap_or_else(|(code, detail)| {
                faults.push(|| Fault::in_column(column.to_owned(), code, detail));
                None
            });
            if mapped.iter().any(|other| other.column == column) {
                let detail = format!("map the column {column} once");
                let fault = Fault::of_parameter("map", "duplicate-parameter", detail);
                return Err(refused(fault.into()));
            }
            mapped.push(MappedColumn { column: column.to_owned(), target });
        }
        Ok(mapped)
    }
}

/// The column of a value, and its member or the error of the value.
fn split<'t>(
    text: &'t str,
    headers: &[String],
    names: &Names<'_>,
) -> (&'t str, Result<Option<Target>, (&'static str, String)>) {
    let splits = || text.match_indices(':').map(|(at, _)| text.split_at(at));
    let member = |rest: &str| names.given(rest.strip_prefix(':').unwrap_or(rest));
    let is_there = |(column, _): &(&str, &str)| headers.iter().any(|header| header == column);
    let mut known = splits().filter(is_there).filter_map(|(column, rest)| {
        let target = member(rest).ok()?;
        Some((column, target))
    });
    match (known.next(), known.next()) {
        (Some((column, target)), None) => (column, Ok(target)),
        (Some((column, _)), Some((other, _))) => {
            let detail = format!(
                "map={text} means the column {column} or the column {other}; rename one of them"
            );
            (column, Err(("ambiguous-column", detail)))
        }
        (None, _) => {
            if let Some((column, rest)) = splits().find(is_there) {
                let detail = member(rest).err().unwrap_or_default();
                return (column, Err(("unknown-column", detail)));
            }
            let last = text.rmatch_indices(':').take(MEANT_MAX).last();
            let of_last =
                |(column, _): &(&str, &str)| last.is_some_and(|(at, _)| column.len() >= at);
            let meant = splits().filter(of_last).find(|(_, rest)| member(rest).is_ok());
            let (column, _) = meant.or_else(|| text.rsplit_once(':')).unwrap_or((text, ""));
            let detail = format!("map={text}: the file has no such column");
            (column, Err(("unknown-column", detail)))
        }
    }
}
