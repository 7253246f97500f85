//! The maximum sizes of files and lines. (A compiler lint limits the size of functions.)

use super::{Fault, Rule, has_extension, is_rust, is_test};

/// The maximum number of lines of a source file.
const FILE_LINES_MAX: usize = 500;
/// The maximum number of lines of a file that contains only tests.
const TEST_LINES_MAX: usize = 800;
/// The maximum number of characters of a line of Rust.
const LINE_CHARS_MAX: usize = 100;
/// The extensions of files that are written by hand.
const BY_HAND: &[&str] = &["rs", "py", "sh", "js", "css", "html"];

/// Checks one file.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<Fault>) {
    let mut fault = |rule, line, detail| {
        faults.push(Fault { rule, path: path.to_owned(), line, detail });
    };
    let lines = text.lines().count();
    let most = if is_test(path) { TEST_LINES_MAX } else { FILE_LINES_MAX };
    if lines > most && BY_HAND.iter().any(|extension| has_extension(path, extension)) {
        fault(Rule::FileLength, 0, format!("{lines} lines, more than {most}: split it by subject"));
    }
    if !is_rust(path) {
        return;
    }
    for (at, line) in text.lines().enumerate() {
        let chars = line.chars().count();
        // A URL cannot be broken over lines.
        if chars > LINE_CHARS_MAX && !line.contains("://") {
            let detail = format!("{chars} characters, more than {LINE_CHARS_MAX}");
            fault(Rule::LineLength, at + 1, detail);
        }
    }
}
