//! Unicode normalization form C, the only change of a stored text.
//!
//! Canonically equal texts must be stored as equal bytes, and normalizing twice changes nothing. A
//! normalized text, as nearly all are, is returned without a copy.

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The text in Unicode normalization form C (UAX #15).
pub fn nfc(text: String) -> String {
    if text.is_ascii() || is_nfc(&text) { text } else { text.nfc().collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_decomposed_letter_is_composed() {
        assert_eq!(nfc("Zoe\u{308}".to_owned()), "Zoë");
        assert_eq!(nfc("\u{1112}\u{1161}\u{11AB}".to_owned()), "한");
        assert_eq!(nfc("\u{212B}".to_owned()), "Å");
    }

    #[test]
    fn marks_are_put_into_canonical_order() {
        assert_eq!(nfc("q\u{307}\u{323}".to_owned()), "q\u{323}\u{307}");
    }

    #[test]
    fn a_normalized_text_is_returned_without_a_copy() {
        for normal in ["Ada Lovelace", "Zoë 한 👩‍🚀"] {
            let text = normal.to_owned();
            let before = text.as_ptr();
            let after = nfc(text);
            assert_eq!(after, normal);
            assert_eq!(after.as_ptr(), before);
        }
    }

    proptest! {
        #[test]
        fn normalizing_twice_changes_nothing(
            text in "[a-e\u{300}-\u{345}\u{1100}-\u{11FF}α-ω]{0,12}"
        ) {
            let once = nfc(text);
            prop_assert_eq!(nfc(once.clone()), once);
        }
    }
}
