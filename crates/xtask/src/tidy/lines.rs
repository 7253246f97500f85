//! Counts lines of code: `cargo xtask lines`.
//!
//! Counts the Rust files below `crates/*/src` without their tests.

use std::collections::BTreeMap;
use std::fmt;

use super::{circles, is_rust, is_test, tree::Tree};

/// Crates that are counted separately, because they are not part of the product.
const TOOLS: &[&str] = &["roster-test-service", "roster-testkit", "xtask"];
/// The storage engines and their shared code.
const ENGINES: &[&str] = &["roster-engine", "roster-postgres", "roster-sqlite"];

/// The line counts of some files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lines {
    /// Lines that are not blank.
    all: usize,
    /// Lines that are neither blank nor a comment.
    code: usize,
}

/// The line counts of each crate, and the number of import circles.
#[derive(Debug)]
pub(super) struct Report {
    crates: BTreeMap<String, Lines>,
    circles: usize,
}

impl Lines {
    /// Counts a file up to its tests, which are at the end.
    fn of(text: &str) -> Self {
        let mut counted = Self::default();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let next = lines.peek().copied().unwrap_or_default();
            if line == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{') {
                break;
            }
            let line = line.trim_start();
            counted.all += usize::from(!line.is_empty());
            counted.code += usize::from(!line.is_empty() && !line.starts_with("//"));
        }
        counted
    }

    fn plus(self, other: Self) -> Self {
        Self { all: self.all + other.all, code: self.code + other.code }
    }
}

impl Report {
    /// Counts a repository.
    pub(super) fn of(tree: &Tree) -> Self {
        let mut crates = BTreeMap::<String, Lines>::new();
        for (path, text) in tree.files().filter(|(path, _)| is_rust(path) && !is_test(path)) {
            let name = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
            if let Some((name, _)) = name {
                let counted = crates.entry(name.to_owned()).or_default();
                *counted = counted.plus(Lines::of(text));
            }
        }
        let mut faults = Vec::new();
        circles::check(tree, &mut faults);
        Self { crates, circles: faults.len() }
    }

    fn sum(&self, counts: impl Fn(&str) -> bool) -> Lines {
        let counted = self.crates.iter().filter(|(name, _)| counts(name));
        counted.fold(Lines::default(), |sum, (_, lines)| sum.plus(*lines))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<28} {:>7} {:>9}", "without tests", "lines", "code only")?;
        let mut row =
            |name: &str, lines: Lines| writeln!(f, "{name:<28} {:>7} {:>9}", lines.all, lines.code);
        for (name, lines) in &self.crates {
            row(name, *lines)?;
        }
        row("the engines together", self.sum(|name| ENGINES.contains(&name)))?;
        row("the product", self.sum(|name| !TOOLS.contains(&name)))?;
        writeln!(f, "{:<28} {:>7}", "circles of imports", self.circles)
    }
}
