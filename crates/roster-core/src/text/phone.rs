//! Phone numbers, stored as typed, because people write them in more ways than numbering plans
//! describe.
//!
//! A number has at least two digits, of any script, and otherwise only characters that numbers are
//! written with (ITU-T E.123, and those of address books). A URI (RFC 3966) may have any
//! parameters. The key is the digits with a
//! `+` before them, if there is one. It adds no country and removes no trunk prefix.

use super::Detail;
use super::character::{describe, is_bidi_mark};
use super::digit::decimal_digit;

const LENGTH_MAX: usize = 64;
const DIGITS_MIN: usize = 2;

/// The words in phone numbers. `tel` is allowed only as the scheme of RFC 3966, at the start.
const WORDS: [&str; 6] = ["ext", "extn", "extension", "x", "isub", "phone-context"];

/// Rejects a text that is not a phone number.
pub fn check_phone(typed: &str) -> Result<(), Detail> {
    if typed.len() > LENGTH_MAX && typed.chars().nth(LENGTH_MAX).is_some() {
        return Err("a phone number has at most 64 characters: shorten it".into());
    }
    let (number, parameters) = parts(typed);
    let is_parameter = |c: char| is_usual(c) || "-_.!~*'()[]/:&+$%;=".contains(c);
    let unusual = number.chars().find(|&c| !is_usual(c));
    if let Some(c) = unusual.or_else(|| parameters.chars().find(|&c| !is_parameter(c))) {
        return Err(format!(
            "{} is not used in phone numbers: write digits, spaces and + - ( ) . /",
            describe(c)
        )
        .into());
    }
    if plus_and_digits(typed).trim_start_matches('+').len() < DIGITS_MIN {
        return Err("a phone number has at least two digits".into());
    }
    if !words(number).all(is_known_word) {
        return Err("write a phone number in digits, and an extension as `ext. 12` or `x12`".into());
    }
    Ok(())
}

/// The form by which phone numbers are compared: ASCII digits, after a `+` if the typed number has
/// one before its first digit. Empty for a text without digits.
pub fn phone_key(typed: &str) -> String {
    let key = plus_and_digits(typed);
    if key == "+" { String::new() } else { key }
}

/// The form of a part of a phone number; `None` for a text of which no number has anything.
pub fn phone_part(typed: &str) -> Option<String> {
    let part = plus_and_digits(typed);
    (typed.is_empty() || !part.is_empty()).then_some(part)
}

/// The plus and the digits of the number and of the parameters with known names.
fn plus_and_digits(typed: &str) -> String {
    let mut key = String::with_capacity(typed.len().min(LENGTH_MAX));
    let (number, parameters) = parts(typed);
    let is_known =
        |parameter: &&str| is_known_word(parameter.split('=').next().unwrap_or_default());
    let parameters = parameters.split(';').filter(is_known).flat_map(str::chars);
    for c in number.chars().chain(parameters) {
        if let Some(value) = decimal_digit(c) {
            key.push(char::from(b'0' + value));
        } else if is_plus(c) && key.is_empty() {
            key.push('+');
        }
    }
    key
}

fn is_plus(c: char) -> bool {
    matches!(c, '+' | '\u{FF0B}')
}

fn is_usual(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || " +-().,;:/=#*[]".contains(c);
    }
    is_plus(c)
        || is_dash(c)
        || is_space(c)
        || is_bidi_mark(c)
        || matches!(c, '·' | '（' | '）' | '．' | '／' | '＊' | '＃')
        || decimal_digit(c).is_some()
}

/// Hyphens, dashes and the minus sign, including full-width ones and the long-vowel mark that is
/// used for them in Japan.
fn is_dash(c: char) -> bool {
    matches!(
        c,
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}' | '\u{30FC}'
    )
}

/// Spaces within a line: no-break, narrow, fixed and ideographic.
fn is_space(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// The number without the scheme of a URI, and the parameters of the URI.
fn parts(typed: &str) -> (&str, &str) {
    let start = typed.trim_start_matches(|c| c == ' ' || is_bidi_mark(c));
    match start.split_at_checked(4) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("tel:") => {
            rest.split_once(';').unwrap_or((rest, ""))
        }
        Some(_) | None => (typed, ""),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphabetic() || c == '-'))
        .map(|run| run.trim_matches('-'))
        .filter(|run| run.contains(|c: char| c.is_ascii_alphabetic()))
}

fn is_known_word(word: &str) -> bool {
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn common_numbers_are_valid() {
        for typed in [
            "+44 20 7946 0958",
            "(020) 7946-0958",
            "030/1234-5678",
            "555-555-5555x1234",
            "1-555-555-5555 ext. 12",
            "555 5555 Ext 3",
            "020 7946 0958 extension 4",
            "tel:+1-201-555-0123",
            "TEL:863-1234;phone-context=+1-914-555",
            "tel:+1;ext=22",
            "tel:7042;phone-context=example.com",
            "tel:+358-555-1234567;postd=pp22",
            "tel:+1-201-555-0123;isub=12;foo=b_a%20r",
            "*123#",
            "112",
            "+49\u{A0}30\u{202F}1234",
            "+81\u{3000}３−１２３４−５６７８",
            "０３（１２３４）５６７８",
            "٠١٢ ٣٤٥ ٦٧٨٩",
            "\u{202A}+49 151 1234\u{202C}",
            "\u{200F}02-1234567",
            "03ー1234ー5678",
            "93·123·45·67",
            "+1 (555) 555-5555,,12#",
            "962.952.7601x89555",
            "55-55-X-5",
            "[0]30 12",
        ] {
            assert_eq!(check_phone(typed), Ok(()), "{typed}");
        }
    }

    #[test]
    fn other_texts_are_rejected_with_what_to_do() {
        for (typed, part) in [
            ("", "two digits"),
            ("+", "two digits"),
            ("ext", "two digits"),
            ("1", "two digits"),
            ("none", "two digits"),
            ("see 12 below", "in digits"),
            ("1-800-FLOWERS", "in digits"),
            ("12 tel:34", "in digits"),
            ("tel:tel:12", "in digits"),
            ("tel:flowers12;ext=3", "in digits"),
            ("tel:12;a=\"b\"", "U+0022"),
            ("12;foo=34", "in digits"),
            ("tel:+;postd=pp22", "two digits"),
            ("ada@example.com 12", "`@` (U+0040)"),
            ("12\n34", "U+000A"),
            ("12\u{200B}34", "U+200B"),
            ("12 ☎", "U+260E"),
            ("１２²", "`²` (U+00B2)"),
            ("十二 12", "U+5341"),
        ] {
            let detail = check_phone(typed).expect_err(typed);
            assert!(detail.contains(part), "{typed:?}: {detail}");
        }
    }

    #[test]
    fn length_counts_code_points() {
        assert_eq!(check_phone(&"٣".repeat(64)), Ok(()));
        assert!(check_phone(&"٣".repeat(65)).is_err());
        assert!(check_phone(&"3".repeat(65)).is_err());
    }

    #[test]
    fn the_key_is_the_digits_with_the_plus_before_them() {
        for (typed, key) in [
            ("+44 20 7946-0958", "+442079460958"),
            ("tel:+44-20-7946-0958", "+442079460958"),
            ("tel:+1-201-555-0123;ext=22;foo=b%20r3", "+1201555012322"),
            ("tel:863-1234;phone-context=+1-914-555", "86312341914555"),
            ("＋４４ ２０ ７９４６ ０９５８", "+442079460958"),
            ("\u{202A}+٤٤ ٢٠\u{202C}", "+4420"),
            ("(+44) 20", "+4420"),
            ("++44", "+44"),
            ("020 7946 0958", "02079460958"),
            ("020+1", "0201"),
            ("555-5555 ext. 12", "555555512"),
            ("+", ""),
            ("Ada", ""),
        ] {
            assert_eq!(phone_key(typed), key, "{typed}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_the_key_of_itself(typed in any::<String>()) {
            let key = phone_key(&typed);
            prop_assert_eq!(phone_key(&key), key);
        }

        #[test]
        fn every_number_has_a_key_that_is_a_number(typed in "[+٣3-9 ().x-]{1,20}") {
            if check_phone(&typed).is_ok() {
                prop_assert_eq!(check_phone(&phone_key(&typed)), Ok(()));
            }
        }
    }
}
