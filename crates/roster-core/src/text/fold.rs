//! The key by which texts are compared regardless of case.
//!
//! It is NFC(full case folding(NFC(text))). Canonically equal texts, and texts that differ only in
//! case, have the same key, on every engine. No language's own rules are applied (a Turkish dotless
//! i differs from i). The key of a key is the same key.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The form of a text that is compared regardless of case.
pub fn fold_key(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let composed = compose(Cow::Borrowed(text));
    compose(CaseMapper::new().fold_string(&composed)).into_owned()
}

fn compose(text: Cow<'_, str>) -> Cow<'_, str> {
    if is_nfc(&text) { text } else { Cow::Owned(text.nfc().collect()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_differ_in_case_share_a_key() {
        for (one, other) in [
            ("Ada", "ADA"),
            ("straße", "STRASSE"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("Ångström", "A\u{30A}NGSTRO\u{308}M"),
            ("\u{1E9E}", "ss"),
            ("Ǆ", "ǆ"),
            ("Ꭰ", "ꭰ"),
            ("𐐀", "𐐨"),
            ("ŉ", "ʼN"),
            ("ᾳ", "ΑΙ"),
        ] {
            assert_eq!(fold_key(one), fold_key(other), "{one} and {other}");
        }
    }

    #[test]
    fn texts_of_different_letters_keep_different_keys() {
        for (one, other) in [("i", "ı"), ("é", "e"), ("Ａ", "A"), ("ﬁ", "fí"), ("か", "カ")]
        {
            assert_ne!(fold_key(one), fold_key(other), "{one} and {other}");
        }
    }

    #[test]
    fn the_key_of_every_character_alone_and_marked_folds_to_itself() {
        let marks = ["", "\u{300}", "\u{301}", "\u{307}", "\u{308}", "\u{323}", "\u{345}"];
        for c in (0x80..=0x1_FFFF).filter_map(char::from_u32) {
            // Letters that compose with marks and have a case are below U+3000.
            let marks = if c < '\u{3000}' { &marks[..] } else { &marks[..1] };
            for mark in marks {
                let key = fold_key(&format!("{c}{mark}"));
                assert_eq!(fold_key(&key), key, "U+{:04X} with {mark:?}", u32::from(c));
            }
        }
    }

    proptest! {
        #[test]
        fn a_key_folds_to_itself(text in any::<String>()) {
            let key = fold_key(&text);
            prop_assert_eq!(fold_key(&key), key);
        }

        #[test]
        fn a_key_of_greek_and_marks_folds_to_itself(
            text in "[α-ωΑ-Ω\u{1F00}-\u{1FFC}\u{300}-\u{315}\u{323}\u{345}iIjJsS]{0,10}"
        ) {
            let key = fold_key(&text);
            prop_assert_eq!(fold_key(&key), key);
        }

        #[test]
        fn canonically_equal_texts_share_a_key(
            text in "[A-z\u{C0}-\u{24F}Α-ω\u{1E00}-\u{1FFC}\u{300}-\u{345}]{0,10}"
        ) {
            let decomposed: String = text.nfd().collect();
            prop_assert_eq!(fold_key(&decomposed), fold_key(&text));
        }

        #[test]
        fn the_fast_path_of_ascii_equals_the_general_one(text in "[\0-\u{7F}]{0,40}") {
            prop_assert_eq!(fold_key(&text), CaseMapper::new().fold_string(&text).into_owned());
        }
    }
}
