//! How cost grows with the collection: a larger run is held against the last one of 10,000 users.
//!
//! The figures of that run are kept beside the bench's own binary. Latencies are compared as they
//! are; rates as ratios to the hello of their own run, for the two runs are two sittings.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result};

use super::{
    case::{Kind, case},
    report::{Row, Target},
    sitting::Results,
};

/// The size that larger ones are held against.
const BASE_USERS: u64 = 10_000;

/// One figure that must not grow, or not shrink, by more than its target says.
struct Figure {
    name: &'static str,
    value: Option<f64>,
    target: Target,
}

/// Keeps the figures of a run of the base size, or holds those of a larger run against them.
pub(super) fn rows(results: &Results, program: &Path, users: u64) -> Result<Vec<Row>> {
    let (path, figures) = (program.with_file_name("bench-base.tsv"), figures(results));
    if users == BASE_USERS {
        fs::write(&path, text(&figures)?)?;
    }
    if users <= BASE_USERS || !path.is_file() {
        return Ok(Vec::new());
    }
    let base = fs::read_to_string(path)?;
    let row = |figure: Figure| {
        // The run of the base size may have been one of an older bench.
        let before = find(&base, figure.name);
        Row {
            work: format!("{} / the same at {BASE_USERS} users", figure.name),
            value: figure.value.zip(before).map(|(now, before)| now / before),
            unit: "x",
            target: figure.target,
        }
    };
    Ok(figures.into_iter().map(row).collect())
}

fn figures(results: &Results) -> [Figure; 6] {
    let latency = |kind| results.figure(case(kind, 1), |sample| sample.p50_us);
    let rate = |kind| results.ratio(case(kind, 16), case(Kind::Hello, 16), |sample| sample.rate);
    [
        Figure {
            name: "list of 50, first page, p50 at 1 conn",
            value: latency(Kind::ListFirst),
            target: Target::AtMost(1.3),
        },
        Figure {
            name: "list of 50, last page, p50 at 1 conn",
            value: latency(Kind::ListLast),
            target: Target::AtMost(1.3),
        },
        Figure {
            name: "list by username, ratio to hello",
            value: rate(Kind::ByUsername),
            target: Target::AtLeast(0.75),
        },
        Figure {
            name: "list by email, ratio to hello",
            value: rate(Kind::ByEmail),
            target: Target::AtLeast(0.75),
        },
        Figure {
            name: "filter by username, ratio to hello",
            value: rate(Kind::FilterUsername),
            target: Target::AtLeast(0.75),
        },
        Figure {
            name: "filter by emails.value, ratio to hello",
            value: rate(Kind::FilterEmail),
            target: Target::AtLeast(0.75),
        },
    ]
}

fn text(figures: &[Figure]) -> Result<String> {
    let mut text = String::new();
    for figure in figures {
        writeln!(text, "{}\t{}", figure.name, figure.value.context("a case is missing")?)?;
    }
    Ok(text)
}

fn find(text: &str, name: &str) -> Option<f64> {
    let mut pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.find(|(found, _)| *found == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Figure, find, text};
    use crate::bench::report::Target;

    #[test]
    fn figures_are_found_again() {
        let figures = [
            Figure { name: "a", value: Some(1.5), target: Target::Informational },
            Figure { name: "a b", value: Some(0.25), target: Target::Informational },
        ];
        let kept = text(&figures).unwrap();
        assert_eq!(find(&kept, "a b"), Some(0.25));
        assert_eq!(find(&kept, "b"), None);
    }
}
