//! Control characters, which no member but free text may hold.
//!
//! Refused are all of general category Cc: C0, DEL and C1; U+0000 everywhere, since engines and
//! clients in C end a text there. Other invisible characters are not judged here, because
//! joiners and direction marks belong to the spelling of names in many scripts.

use super::Detail;
use super::character::written;

/// Which control characters a member may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controls {
    /// None at all: the member is one line.
    None,
    /// TAB, CR and LF: the member may have several lines.
    LineBreaks,
}

/// Refuses a text that holds a control character which is not allowed in its member.
pub fn check_controls(text: &str, allowed: Controls) -> Result<(), Detail> {
    // 0xC2 leads the two bytes of each C1 control, and of U+00A0 to U+00BF, which are fine.
    // Looking at every byte, instead of stopping at the first, lets many be compared at once.
    let is_suspect = |byte: u8| byte < 0x20 || byte == 0x7F || byte == 0xC2;
    if !text.bytes().fold(false, |found, byte| found | is_suspect(byte)) {
        return Ok(());
    }
    match text.chars().find(|&c| c.is_control() && !is_allowed(c, allowed)) {
        None => Ok(()),
        Some('\r' | '\n') => Err("a line break may not stand here: write it on one line".into()),
        Some('\t') => Err("a tab may not stand here: use a space".into()),
        Some(c) => Err(format!("{} is a control character: remove it", written(c)).into()),
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
    fn every_control_character_is_refused_in_a_line() {
        for code in (0..0x20).chain(0x7F..0xA0) {
            let c = char::from_u32(code).unwrap();
            assert!(check_controls(&format!("a{c}b"), Controls::None).is_err(), "U+{code:04X}");
        }
    }

    #[test]
    fn line_breaks_and_tabs_may_stand_in_text_of_several_lines() {
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
