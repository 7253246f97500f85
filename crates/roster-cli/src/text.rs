//! Text for a terminal.

use std::io::{self, Write as _};

/// Writes a line to stderr. If that fails, only the exit status reports the error.
pub fn say(line: &str) {
    writeln!(io::stderr().lock(), "{}", printable(line)).unwrap_or_default();
}

/// Writes lines to stdout.
///
/// # Errors
///
/// If stdout is closed.
pub fn print(lines: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", printable(lines))
}

/// The text without characters that control a terminal or change the order of the others: a text
/// may come from a file, a database or another machine. The escapes are those of JSON.
#[must_use]
pub fn printable(text: &str) -> String {
    let is_unsafe = |character: char| {
        let reorders = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        reorders || (character.is_control() && character != '\n')
    };
    let printable = text.chars().map(|character| {
        if is_unsafe(character) {
            format!("\\u{:04x}", u32::from(character))
        } else {
            character.to_string()
        }
    });
    printable.collect()
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain =
        |character: char| character.is_alphanumeric() || "-_./:@,=+%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{printable, quoted};

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_is() {
        for (word, written) in [
            ("E-Mail:email", "E-Mail:email"),
            ("First name:", "'First name:'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }

    #[test]
    fn no_text_controls_the_terminal() {
        let text = "a\u{1b}]0;b\u{7}\u{9b}2J\u{202e}c\r\nd é";
        assert_eq!(printable(text), r"a\u001b]0;b\u0007\u009b2J\u202ec\u000d".to_owned() + "\nd é");
    }
}
