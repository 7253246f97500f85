//! The map of the code: its file exists and is short enough, and every path in it exists.
//!
//! A path in backticks is relative to the root, to `crates/`, or to the `src` of the crate that it
//! begins with, as in `roster-http/router.rs`.

use super::links::outside_blocks;
use super::tree::Tree;
use super::{Fault, Rule};

/// The map's file.
const MAP: &str = "ARCHITECTURE.md";
/// The maximum number of lines of the map.
const LINES_MAX: usize = 200;
/// Extensions that only files have. Media types do not end in any of them.
const FILE_ENDINGS: &[&str] =
    &[".rs", ".toml", ".md", ".sh", ".py", ".json", ".yaml", ".sql", ".js", ".css", ".html", "/"];

/// Checks the map.
pub(super) fn check(tree: &Tree, faults: &mut Vec<Fault>) {
    let mut fault = |line, detail| {
        faults.push(Fault { rule: Rule::Architecture, path: MAP.to_owned(), line, detail });
    };
    let Some(text) = tree.text(MAP) else {
        return fault(0, "is missing: a newcomer needs a map of the code".to_owned());
    };
    let lines = text.lines().count();
    if lines > LINES_MAX {
        fault(0, format!("{lines} lines, more than {LINES_MAX}; it must stay short"));
    }
    for (line, text) in outside_blocks(text) {
        for code in text.split('`').skip(1).step_by(2) {
            if is_path(tree, code) && !places(code).any(|place| tree.exists(&place)) {
                fault(line, format!("names `{code}`, which does not exist"));
            }
        }
    }
}

/// Whether a code span is written like a path of the repository.
fn is_path(tree: &Tree, code: &str) -> bool {
    let Some((first, rest)) = code.split_once('/') else {
        return false;
    };
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let ours = tree.exists(first) || tree.exists(&format!("crates/{first}"));
    let ended = FILE_ENDINGS.iter().any(|ending| code.ends_with(ending));
    !first.is_empty() && !rest.is_empty() && code.chars().all(plain) && (ours || ended)
        || (rest.is_empty() && !first.is_empty() && first.chars().all(plain))
}

/// The possible locations of a path.
fn places(code: &str) -> impl Iterator<Item = String> {
    let inside_crate =
        code.split_once('/').map(|(crate_name, rest)| format!("crates/{crate_name}/src/{rest}"));
    [code.to_owned(), format!("crates/{code}")].into_iter().chain(inside_crate)
}
