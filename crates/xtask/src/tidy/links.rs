//! Links between documents: the file and the heading that a link names must exist.
//!
//! Links to other hosts are not checked, because a check must not depend on a network.

use super::tree::Tree;
use super::{Fault, Rule, has_extension};

/// Checks one document.
pub(super) fn check(tree: &Tree, path: &str, text: &str, faults: &mut Vec<Fault>) {
    for (line, prose) in prose(text) {
        for target in targets(&prose) {
            if let Some(detail) = broken(tree, path, target) {
                faults.push(Fault { rule: Rule::Link, path: path.to_owned(), line, detail });
            }
        }
    }
}

/// The lines outside code blocks, counted from 1, without inline code.
pub(super) fn prose(text: &str) -> Vec<(usize, String)> {
    outside_blocks(text)
        .map(|(line, text)| (line, text.split('`').step_by(2).collect::<Vec<_>>().join(" ")))
        .collect()
}

/// The lines outside code blocks, counted from 1.
pub(super) fn outside_blocks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// The targets of the links in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?;
        target.split_whitespace().next()
    })
}

/// Why a link is broken; `None` if its target exists or is outside of the repository.
fn broken(tree: &Tree, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = match target.split_once('#') {
        Some((file, heading)) => (file, Some(heading)),
        None => (target, None),
    };
    let path = if file.is_empty() { from.to_owned() } else { resolve(from, file) };
    if !tree.exists(&path) {
        return Some(format!("links to {target}, which does not exist"));
    }
    let heading = heading.filter(|_| has_extension(&path, "md"))?;
    let text = tree.text(&path)?;
    let known = outside_blocks(text)
        .filter(|(_, line)| line.starts_with('#'))
        .any(|(_, line)| slug(line.trim_start_matches('#').trim()) == heading);
    (!known).then(|| format!("links to {target}, but there is no such heading"))
}

/// A path in the file `from`, relative to the root of the repository.
fn resolve(from: &str, file: &str) -> String {
    let folder = from.rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default();
    let start = if file.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(file.split('/')) {
        match part {
            ".." if parts.pop().is_none() => parts.push(".."),
            "" | "." | ".." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchor of a heading, as code hosts generate it.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}
