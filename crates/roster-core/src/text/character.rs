//! How an error text names a character, and which characters are invisible.
//!
//! A rejected character is often invisible, so the text always contains its code point. The rules
//! for each member are in the member's own file, not here.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, GeneralCategory},
};

/// Whether the character has the general category Cc or Cf: a control character, or one that only
/// formats the text around it, such as a direction mark. Both are invisible.
pub fn is_control_or_format(c: char) -> bool {
    let category = || CodePointMapData::<GeneralCategory>::new().get(c);
    c.is_control() || (!c.is_ascii() && category() == GeneralCategory::Format)
}

/// Whether a text has a character that is displayed: neither a space nor one that only affects the
/// text around it.
pub fn is_visible(text: &str) -> bool {
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let is_hidden = |c: char| c.is_whitespace() || is_control_or_format(c) || ignorable.contains(c);
    text.chars().any(|c| !is_hidden(c))
}

/// Names a character so that people can find it: `` `é` (U+00E9) `` or `U+200B`.
pub(super) fn describe(c: char) -> String {
    let code = u32::from(c);
    if c == ' ' {
        "a space (U+0020)".to_owned()
    } else if c.is_ascii_graphic() || c.is_alphanumeric() {
        format!("`{c}` (U+{code:04X})")
    } else {
        format!("U+{code:04X}")
    }
}

/// Marks without width that only affect direction or line breaks. They are copied along with text
/// and make values differ that look the same. The joiners U+200C and U+200D are not included,
/// because Persian and Indic spelling needs them.
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
    fn a_character_is_named_so_that_people_can_find_it() {
        assert_eq!(describe('<'), "`<` (U+003C)");
        assert_eq!(describe('é'), "`é` (U+00E9)");
        assert_eq!(describe(' '), "a space (U+0020)");
        assert_eq!(describe('\u{202E}'), "U+202E");
        assert_eq!(describe('\u{1F600}'), "U+1F600");
    }

    #[test]
    fn control_and_format_characters_are_not_letters() {
        for c in ['\0', '\u{7F}', '\u{85}', '\u{AD}', '\u{61C}', '\u{200B}', '\u{200D}', '\u{200E}']
        {
            assert!(is_control_or_format(c), "{}", describe(c));
        }
        for c in ['\u{202E}', '\u{2066}', '\u{2069}', '\u{FEFF}', '\u{E0041}', '\u{1D173}'] {
            assert!(is_control_or_format(c), "{}", describe(c));
        }
        for c in ['a', ' ', 'é', 'ש', '\u{300}', '姓', '\u{1F600}'] {
            assert!(!is_control_or_format(c), "{}", describe(c));
        }
    }

    #[test]
    fn a_text_is_visible_if_any_of_its_characters_is() {
        for text in
            ["", " ", "\u{A0}\u{3000}", "\u{200B}", "\u{2060}\u{FEFF} ", "\u{3164}", "\u{FE0F}"]
        {
            assert!(!is_visible(text), "{text:?}");
        }
        for text in ["a", "\u{200B}a", ".", "\u{301}", "姓", "\u{1F600}", "\u{645}\u{200C}"] {
            assert!(is_visible(text), "{text:?}");
        }
    }

    #[test]
    fn joiners_that_spelling_needs_are_not_invisible_marks() {
        assert!(!is_invisible('\u{200C}') && !is_invisible('\u{200D}'));
        assert!(is_invisible('\u{200B}') && is_invisible('\u{202C}') && is_invisible('\u{FEFF}'));
    }
}
