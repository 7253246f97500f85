//! How a single character is written in a sentence for people, and which ones nobody can see.
//!
//! A refused character is often one that a screen does not show, so its code point always
//! stands beside it. It must not decide what is allowed where: each member's own file does.

use icu_properties::{CodePointMapData, props::GeneralCategory};

/// Whether the character is of general category Cc or Cf: a control character, or one that only
/// formats the text around it, such as a mark of direction. Nobody can see either.
pub fn is_control_or_format(c: char) -> bool {
    let category = || CodePointMapData::<GeneralCategory>::new().get(c);
    c.is_control() || (!c.is_ascii() && category() == GeneralCategory::Format)
}

/// Writes one character so that a person can find it: `` `é` (U+00E9) `` or `U+200B`.
pub(super) fn written(c: char) -> String {
    let code = u32::from(c);
    if c == ' ' {
        "a space (U+0020)".to_owned()
    } else if c.is_ascii_graphic() || c.is_alphanumeric() {
        format!("`{c}` (U+{code:04X})")
    } else {
        format!("U+{code:04X}")
    }
}

/// Marks that take no room on a screen and steer direction or line breaks only: they come along
/// with a copied text and make two values differ that look the same. The joiners U+200C and
/// U+200D are not among them, since Persian and the scripts of India are spelled with them.
pub(super) fn is_invisible(c: char) -> bool {
    is_bidi_mark(c) || matches!(c, '\u{AD}' | '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}')
}

/// The characters that only set the direction of the text around them.
pub(super) fn is_bidi_mark(c: char) -> bool {
    matches!(
        c,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_written_so_that_a_person_can_find_it() {
        assert_eq!(written('<'), "`<` (U+003C)");
        assert_eq!(written('é'), "`é` (U+00E9)");
        assert_eq!(written(' '), "a space (U+0020)");
        assert_eq!(written('\u{202E}'), "U+202E");
        assert_eq!(written('\u{1F600}'), "U+1F600");
    }

    #[test]
    fn control_and_format_characters_are_told_from_letters() {
        for c in ['\0', '\u{7F}', '\u{85}', '\u{AD}', '\u{61C}', '\u{200B}', '\u{200D}', '\u{200E}']
        {
            assert!(is_control_or_format(c), "{}", written(c));
        }
        for c in ['\u{202E}', '\u{2066}', '\u{2069}', '\u{FEFF}', '\u{E0041}', '\u{1D173}'] {
            assert!(is_control_or_format(c), "{}", written(c));
        }
        for c in ['a', ' ', 'é', 'ש', '\u{300}', '姓', '\u{1F600}'] {
            assert!(!is_control_or_format(c), "{}", written(c));
        }
    }

    #[test]
    fn joiners_that_spelling_needs_are_not_invisible_marks() {
        assert!(!is_invisible('\u{200C}') && !is_invisible('\u{200D}'));
        assert!(is_invisible('\u{200B}') && is_invisible('\u{202C}') && is_invisible('\u{FEFF}'));
    }
}
