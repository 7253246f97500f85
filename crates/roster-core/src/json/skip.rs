//! Finds the end of a value in canonical JSON without parsing the value.
//!
//! Accepts what the writer of this module writes, and no invalid JSON. White space between tokens,
//! which the parser allows, is rejected. The depth limit is that of the parser, so no text
//! overflows the stack. The caller must know that the bytes are UTF-8.

use crate::limits::JSON_DEPTH_MAX;

/// The bytes after the value at the start.
#[inline]
pub(crate) fn value(bytes: &[u8]) -> Option<&[u8]> {
    value_within(bytes, JSON_DEPTH_MAX)
}

/// The name of the member at the start, and the bytes from its value on; `None` if the name has an
/// escape.
#[inline]
pub(crate) fn member_name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = bytes.strip_prefix(b"\"")?;
    let (name, rest) = text.split_at_checked(plain_length(text))?;
    Some((name, rest.strip_prefix(b"\":")?))
}

fn value_within(bytes: &[u8], levels: usize) -> Option<&[u8]> {
    let (first, rest) = bytes.split_first()?;
    match first {
        b'"' => string(rest),
        b'{' => object(rest, levels.checked_sub(1)?),
        b'[' => array(rest, levels.checked_sub(1)?),
        b't' => rest.strip_prefix(b"rue"),
        b'f' => rest.strip_prefix(b"alse"),
        b'n' => rest.strip_prefix(b"ull"),
        b'-' => number(rest),
        _ => number(bytes),
    }
}

fn object(bytes: &[u8], levels: usize) -> Option<&[u8]> {
    if let Some(rest) = bytes.strip_prefix(b"}") {
        return Some(rest);
    }
    let mut rest = bytes;
    loop {
        rest = string(rest.strip_prefix(b"\"")?)?.strip_prefix(b":")?;
        rest = value_within(rest, levels)?;
        match rest.split_first()? {
            (b',', after) => rest = after,
            (b'}', after) => return Some(after),
            _ => return None,
        }
    }
}

fn array(bytes: &[u8], levels: usize) -> Option<&[u8]> {
    if let Some(rest) = bytes.strip_prefix(b"]") {
        return Some(rest);
    }
    let mut rest = bytes;
    loop {
        rest = value_within(rest, levels)?;
        match rest.split_first()? {
            (b',', after) => rest = after,
            (b']', after) => return Some(after),
            _ => return None,
        }
    }
}

/// The bytes after a string; `bytes` starts after its opening quote.
fn string(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    loop {
        let (_, special) = rest.split_at_checked(plain_length(rest))?;
        match special.split_first()? {
            (b'"', after) => return Some(after),
            (b'\\', after) => rest = escape(after)?,
            // A control character, which is invalid in a string.
            _ => return None,
        }
    }
}

fn escape(bytes: &[u8]) -> Option<&[u8]> {
    let (kind, rest) = bytes.split_first()?;
    match kind {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(rest),
        b'u' => {
            let (digits, rest) = rest.split_at_checked(4)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(rest)
        }
        _ => None,
    }
}

/// The number of bytes before the first quote, backslash or control character.
///
/// All bytes of a block are tested without branches, which the compiler turns into one vector
/// operation. A search byte by byte makes a list of 50 users with `fields` 15% slower.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    const BLOCK: usize = 8;
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let any = |block: &[u8; BLOCK]| block.iter().fold(0, |any, byte| any | special(*byte));
    let plain = blocks.iter().take_while(|block| any(block) == 0).count() * BLOCK;
    let rest = bytes.get(plain..).unwrap_or_default();
    plain + rest.iter().position(|byte| special(*byte) != 0).unwrap_or(rest.len())
}

/// Nonzero for a byte that ends plain text. No `||`: it would be a branch.
fn special(byte: u8) -> u8 {
    u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
}

/// The bytes after a number without its sign (RFC 8259 section 6).
fn number(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = match bytes.split_first()? {
        (b'0', rest) => rest,
        (b'1'..=b'9', _) => digits(bytes)?,
        _ => return None,
    };
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = digits(fraction)?;
    }
    if let Some((b'e' | b'E', power)) = rest.split_first() {
        rest = match power.split_first()? {
            (b'+' | b'-', power) => digits(power)?,
            _ => digits(power)?,
        };
    }
    Some(rest)
}

/// The bytes after one or more digits.
fn digits(bytes: &[u8]) -> Option<&[u8]> {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| bytes.get(count..))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(text: &str) -> Option<usize> {
        value(text.as_bytes()).map(|rest| text.len() - rest.len())
    }

    #[test]
    fn a_value_ends_where_its_last_token_does() {
        for text in [
            "null",
            "true",
            "false",
            "0",
            "-12",
            "0.5",
            "1e300",
            "-1.5E-7",
            r#""""#,
            r#""seven77""#,
            r#""eight888""#,
            r#""é\"\\\u00e9 and more of it, longer than a block""#,
            "[]",
            "{}",
            r#"[1,["}",{"a\"]":[]}],"x"]"#,
        ] {
            assert_eq!(length(&format!("{text},\"b\":1}}")), Some(text.len()), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_canonical_json_has_no_end() {
        for text in [
            "",
            "nul",
            "tru",
            "-",
            "-a",
            "1.",
            "1e",
            "1e+",
            "\"",
            "\"a",
            "\"\\",
            "\"\\x\"",
            "\"\\u00g0\"",
            "\"\\u00",
            "\"\n\"",
            "\"0123456\u{1f}\"",
            "[",
            "[1",
            "[1,]",
            "[1 ,2]",
            "{",
            "{\"a\"}",
            "{\"a\": 1}",
            "{\"a\":1,}",
            "{a:1}",
            " 1",
            "]",
            "}",
        ] {
            assert_eq!(length(text), None, "{text}");
        }
    }

    #[test]
    fn every_byte_at_every_index_of_a_block_is_found() {
        for byte in 0..=u8::MAX {
            let ends = byte < 0x20 || byte == b'"' || byte == b'\\';
            for index in 0..8 {
                for filling in [b'a', 0x7f, 0x80, 0xff, b'#', b'!', b' '] {
                    let mut text = vec![filling; 19];
                    text[index + 3] = byte;
                    let wanted = if ends { index + 3 } else { 19 };
                    assert_eq!(plain_length(&text), wanted, "{byte} at {index}");
                }
            }
        }
    }

    #[test]
    fn the_depth_limit_is_that_of_the_parser() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(length(&nested(JSON_DEPTH_MAX)).is_some());
        assert_eq!(length(&nested(JSON_DEPTH_MAX + 1)), None);
        assert_eq!(length(&"[".repeat(1_000_000)), None);
    }
}
