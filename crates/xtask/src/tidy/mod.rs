//! The repository's rules that no compiler or linter checks.
//!
//! The rules are about sizes, names, module headers, forbidden words, circles of imports, and links
//! and paths in documents. Each rule is a pure function from text to faults. One table lists the
//! exceptions with their reasons; an exception that is not needed is itself a fault.

mod architecture;
mod circles;
mod exceptions;
mod lines;
mod links;
mod rust;
mod sizes;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use exceptions::{EXCEPTIONS, Exception};
use tree::Tree;

/// The rule that a fault breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// A file has too many lines.
    FileLength,
    /// A line of Rust has too many characters.
    LineLength,
    /// A Rust file does not begin with a description of its purpose.
    Header,
    /// A name is meaningless.
    Name,
    /// The environment is read outside of the settings.
    Environment,
    /// A word is forbidden.
    Word,
    /// The target of a link in a document does not exist.
    Link,
    /// The map of the code is missing, too long or wrong.
    Architecture,
    /// Files import each other in a circle.
    Circle,
    /// An exception is not needed.
    Exception,
}

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    rule: Rule,
    /// The file, relative to the root of the repository, with slashes.
    path: String,
    /// The line, counted from 1; 0 for the whole file.
    line: usize,
    detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {} [{:?}]", self.detail, self.rule)
    }
}

fn read_repository() -> anyhow::Result<Tree> {
    Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// Prints the number of lines of each crate.
pub(crate) fn count_lines() -> anyhow::Result<ExitCode> {
    write!(io::stdout().lock(), "{}", lines::Report::of(&read_repository()?))?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the repository and prints all faults.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let tree = read_repository()?;
    let faults = check(&tree, EXCEPTIONS);
    let mut out = io::stdout().lock();
    for fault in &faults {
        writeln!(out, "{fault}")?;
    }
    let files = tree.files().count();
    writeln!(out, "tidy: {files} files, {} faults", faults.len())?;
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every fault without an exception, and every exception that is not needed.
fn check(tree: &Tree, exceptions: &[Exception]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.files() {
        sizes::check(path, text, &mut faults);
        words::check(path, text, &mut faults);
        if is_rust(path) {
            rust::check(path, text, &mut faults);
        }
        if has_extension(path, "md") {
            links::check(tree, path, text, &mut faults);
        }
    }
    architecture::check(tree, &mut faults);
    circles::check(tree, &mut faults);
    let unused = exceptions
        .iter()
        .filter(|exception| !faults.iter().any(|fault| exception.covers(fault)))
        .map(|exception| Fault {
            rule: Rule::Exception,
            path: exception.path.to_owned(),
            line: 0,
            detail: format!("is excepted from {:?} without need", exception.rule),
        })
        .collect::<Vec<_>>();
    faults.retain(|fault| !exceptions.iter().any(|exception| exception.covers(fault)));
    faults.extend(unused);
    faults
}

fn is_rust(path: &str) -> bool {
    has_extension(path, "rs")
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Whether a file contains only tests.
fn is_test(path: &str) -> bool {
    let mut folders = path.split('/');
    let file = folders.next_back().unwrap_or_default();
    file == "tests.rs" || file.ends_with("_tests.rs") || folders.any(|folder| folder == "tests")
}
