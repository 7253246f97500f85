//! Rules for Rust files: the header, names, silenced lints, who reads the environment.

use super::strip::strip;
use super::{Fault, Rule, is_test};

/// Words that say nothing wherever they stand in a name.
const EMPTY_WORDS: &[&str] =
    &["manager", "helper", "helpers", "util", "utils", "utility", "dto", "misc"];
/// Words that say nothing at the end of a name.
const EMPTY_LAST_WORDS: &[&str] = &["data", "info", "impl"];
/// What the words stand in.
const NAMING: &[&str] = &["struct", "enum", "trait", "union", "mod", "type"];

/// Checks one file.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<Fault>) {
    let mut fault = |rule, line, detail: String| {
        faults.push(Fault { rule, path: path.to_owned(), line, detail });
    };
    if !text.trim_start().starts_with("//!") {
        fault(Rule::Header, 1, "does not open with //! lines that say what it is for".to_owned());
    }
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    if let Some(word) = empty_word(stem) {
        fault(Rule::Name, 0, format!("the file's name says {word:?}: say what it is about"));
    }
    let code = strip(text);
    for (at, line) in code.lines().enumerate() {
        for name in names(line) {
            if let Some(word) = empty_word(name) {
                fault(Rule::Name, at + 1, format!("{name} says {word:?}: say what it is"));
            }
        }
        if !is_test(path) && reads_environment(line) {
            let detail = "only the settings read the environment: take it as a value".to_owned();
            fault(Rule::Environment, at + 1, detail);
        }
    }
    for line in silenced_without_reason(&code, text) {
        fault(Rule::LintReason, line, "silences a lint without a reason".to_owned());
    }
}

/// The names that a line gives to types and modules.
fn names(line: &str) -> impl Iterator<Item = &str> {
    // An indented `type` is one that a trait named.
    let own_alias = line.starts_with("type") || line.starts_with("pub");
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let pairs = words.iter().zip(words.iter().skip(1));
    let named: Vec<&str> = pairs
        .filter(|(keyword, _)| NAMING.contains(*keyword) && (**keyword != "type" || own_alias))
        .map(|(_, name)| *name)
        .collect();
    named.into_iter()
}

/// The word of a name that says nothing.
fn empty_word(name: &str) -> Option<String> {
    let words = words_of(name);
    let anywhere = words.iter().find(|word| EMPTY_WORDS.contains(&word.as_str()));
    let last = words.last().filter(|word| EMPTY_LAST_WORDS.contains(&word.as_str()));
    anywhere.or(last).cloned()
}

/// The words of a name in snake_case or CamelCase, in lower case. `HTTPUtil` is two words.
fn words_of(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    let after = chars.iter().skip(1).map(Some).chain([None]);
    let before = [None].into_iter().chain(chars.iter().map(Some));
    for ((c, before), after) in chars.iter().zip(before).zip(after) {
        let lower = |c: Option<&char>| c.is_some_and(|c| c.is_lowercase());
        let begins = c.is_uppercase() && (lower(before) || lower(after));
        if *c == '_' || begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| *c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a line of code reads variables, arguments or folders of the process.
fn reads_environment(line: &str) -> bool {
    line.match_indices("env").any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + "env".len()..).unwrap_or_default();
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let whole = !before.ends_with(inside) && !after.starts_with(inside);
        let standard = before.trim_end().ends_with("std::");
        let called = after.starts_with("::");
        whole && (standard || called) && !after.starts_with("::consts")
    })
}

/// The lines where a lint is silenced with no reason given.
fn silenced_without_reason(code: &str, text: &str) -> Vec<usize> {
    let starts = ["allow(", "expect("].iter().flat_map(|word| code.match_indices(word));
    let mut lines = Vec::new();
    for (at, _) in starts {
        let before = code.get(..at).unwrap_or_default();
        // `.expect(` is a call; an attribute's word follows a bracket or stands in `cfg_attr`.
        let attribute = before.trim_end().ends_with('[')
            || before.rsplit('[').next().is_some_and(|open| open.starts_with("cfg_attr("));
        if !attribute {
            continue;
        }
        let inside = code.get(at..).unwrap_or_default();
        let end = at + inside.find(']').unwrap_or(inside.len());
        // Looked for in the code, read in the text: strings are taken out of the code.
        let reason = code.get(at..end).and_then(|inside| inside.find("reason"));
        let reason = reason.and_then(|offset| text.get(at + offset..end));
        let given = reason
            .and_then(|reason| reason.split('"').nth(1))
            .is_some_and(|reason| !reason.trim().is_empty());
        if !given {
            lines.push(before.matches('\n').count() + 1);
        }
    }
    lines.sort_unstable();
    lines
}
