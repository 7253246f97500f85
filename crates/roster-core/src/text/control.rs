//! Control characters, which only free text may contain.
//!
//! All characters of general category Cc are rejected: C0, DEL and C1. U+0000 is rejected
//! everywhere, because engines and clients in C end a text there. Other invisible characters are
//! not checked here, because joiners and direction marks belong to the spelling of names in many
//! scripts.

use super::Detail;
use super::character::describe;

/// The control characters that a member may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controls {
    /// None: the member is one line.
    None,
    /// TAB, CR and LF: the member may have several lines.
    LineBreaks,
}

/// Rejects a text with a control character that its member may not contain.
pub fn check_controls(text: &str, allowed: Controls) -> Result<(), Detail> {
    // 0xC2 is the first byte of each C1 control, and of the allowed U+00A0 to U+00BF. Examining
    // every byte, instead of stopping at the first hit, lets the compiler compare many at once.
    let is_suspect = |byte: u8| byte < 0x20 || byte == 0x7F || byte == 0xC2;
    if !text.bytes().fold(false, |found, byte| found | is_suspect(byte)) {
        return Ok(());
    }
    match text.chars().find(|&c| c.is_control() && !is_allowed(c, allowed)) {
        None => Ok(()),
        Some('\r' | '\n') => Err("a line break is not allowed here: write one line".into()),
        Some('\t') => Err("a tab is not allowed here: use a space".into()),
        Some(c) => Err(format!("{} is a control character: remove it", describe(c)).into()),
    }
}

fn is_allowed(c: char, allowed: Controls) -> bool {
    match allowed {
        Controls::None => false,
        Controls::LineBreaks => matches!(c, '\t' | '\r' | '\n'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_character_is_rejected_in_a_line() {
        for code in (0..0x20).chain(0x7F..0xA0) {
            let c = char::from_u32(code).unwrap();
            assert!(check_controls(&format!("a{c}b"), Controls::None).is_err(), "U+{code:04X}");
        }
    }

    #[test]
    fn line_breaks_and_tabs_are_allowed_in_text_of_several_lines() {
        assert_eq!(check_controls("1 High St\r\nLondon\tW1", Controls::LineBreaks), Ok(()));
        for code in (0..0x20).chain(0x7F..0xA0).filter(|code| ![9, 10, 13].contains(code)) {
            let c = char::from_u32(code).unwrap();
            assert!(check_controls(&c.to_string(), Controls::LineBreaks).is_err(), "U+{code:04X}");
        }
    }

    #[test]
    fn all_other_text_passes() {
        for text in
            ["", "Ada", "\u{A0}«¿»½", "Zoë", "می\u{200C}خواهم", "\u{202B}שלום\u{202C}", "👩‍🚀"]
        {
            assert_eq!(check_controls(text, Controls::None), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn the_detail_names_the_character_and_not_the_value() {
        let detail = check_controls("secret\u{7}", Controls::None).unwrap_err();
        assert_eq!(detail, "U+0007 is a control character: remove it");
    }
}
