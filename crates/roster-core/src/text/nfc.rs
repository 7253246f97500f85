//! Unicode normalisation form C, the only change that is made to a text that was sent.
//!
//! Canonically equal texts must be stored as equal bytes, and the result is a fixed point.
//! A text that is normal already, as nearly all are, must come back without a copy.

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The text in Unicode normalisation form C (UAX #15).
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
    fn a_normal_text_comes_back_without_a_copy() {
        for normal in ["Ada Lovelace", "Zoë 한 👩‍🚀"] {
            let text = normal.to_owned();
            let place = text.as_ptr();
            let after = nfc(text);
            assert_eq!(after, normal);
            assert_eq!(after.as_ptr(), place);
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(
            text in "[a-e\u{300}-\u{345}\u{1100}-\u{11FF}α-ω]{0,12}"
        ) {
            let once = nfc(text);
            prop_assert_eq!(nfc(once.clone()), once);
        }
    }
}
