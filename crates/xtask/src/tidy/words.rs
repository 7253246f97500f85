//! Forbidden words: marks of unfinished work, tests that cannot fail, paths of a developer's
//! machine, and unusual words for which there is a plain one.

use super::{Fault, Rule, has_extension, is_rust};

/// Whole words in any file.
const MARKS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];
/// Text anywhere in a Rust file.
const IN_RUST: &[&str] = &["todo!(", "unimplemented!(", "#[ignore", "assert!(true", "dbg!("];
/// Text anywhere in any file. macOS home directories are not listed, because their parent directory
/// has the same name as a SCIM endpoint.
const PLACES: &[&str] = &["/home/"];

/// Lower-case words in Rust files and documents, and what to write instead.
const PLAINER: &[(&str, &str)] = &[
    ("anew", "again"),
    ("carry_out", "execute"),
    ("face", "interface"),
    ("faces", "interfaces"),
    ("foresee", "precompute"),
    ("foreseen", "precomputed"),
    ("foretold", "precomputed"),
    ("judgement", "decision"),
    ("that there is not", "unknown, as in \"an unknown parameter\""),
    ("whoever", "the one who acts: a caller, a client, a writer"),
];

/// Checks one file.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<Fault>) {
    let is_prose = is_rust(path) || has_extension(path, "md");
    for (at, line) in text.lines().enumerate() {
        let marks = MARKS.iter().filter(|mark| has_word(line, mark));
        let in_rust = IN_RUST.iter().filter(|text| is_rust(path) && line.contains(**text));
        let places = PLACES.iter().filter(|place| line.contains(**place));
        let unfit = marks.chain(in_rust).chain(places);
        let unfit = unfit.map(|found| format!("{found:?} must not stay"));
        let small = line.to_lowercase();
        let plainer = PLAINER.iter().filter(|(word, _)| is_prose && has_word(&small, word));
        let plainer = plainer.map(|(word, better)| format!("{word:?}: write {better}"));
        for detail in unfit.chain(plainer) {
            faults.push(Fault { rule: Rule::Word, path: path.to_owned(), line: at + 1, detail });
        }
    }
}

/// Whether `word` is in `line` without a letter, digit or underscore next to it.
fn has_word(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}
