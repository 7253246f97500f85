//! The key of a username, which is unique among live users.
//!
//! It is UsernameCaseMapped of RFC 8265 section 3.3 (width mapping, lower case, NFC, bidi rule),
//! applied to each part between single spaces (section 3.5). A final sigma is a sigma: letters in
//! capitals do not tell them apart, and addresses and names are compared so. A username is stored
//! and returned as typed. Only the profile rejects characters: `@`, `.` and `+` are allowed.

use std::borrow::Cow;

use precis_profiles::UsernameCaseMapped;
use precis_profiles::precis_core::profile::{Profile, Rules};
use precis_profiles::precis_core::{CodepointInfo, DerivedPropertyValue, Error, UnexpectedError};
use unicode_normalization::UnicodeNormalization;

use super::Detail;
use super::bidi::satisfies_bidi_rule;
use super::character::{describe, is_invisible};
use super::fold::fold_key;
use super::nfc::nfc;

/// The key of a username, or why the text is not a username.
pub fn username_key(typed: &str) -> Result<String, Detail> {
    if typed.is_empty() {
        return Err("a username has at least one character".into());
    }
    if typed.starts_with(' ') || typed.ends_with(' ') {
        return Err("remove the space at the beginning or end of the username".into());
    }
    if typed.contains("  ") {
        return Err("write one space between the parts of a username, not several".into());
    }
    if typed.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(typed.to_ascii_lowercase());
    }
    key_by_profile(typed)
}

fn key_by_profile(typed: &str) -> Result<String, Detail> {
    // The text is composed first, because the profile rejects the jamo of a decomposed Korean name.
    let composed = nfc(typed.to_owned());
    let mut key = String::with_capacity(composed.len());
    for part in composed.split(' ') {
        if !key.is_empty() {
            key.push(' ');
        }
        let mapped = enforce(part).map_err(|error| detail_of(&error))?;
        if !satisfies_bidi_rule(&mapped) {
            return Err("use letters of one direction in each part of a username: left-to-right \
                        and right-to-left letters do not mix, and a right-to-left part begins \
                        and ends with a letter or ends with a digit"
                .into());
        }
        key.push_str(&mapped.replace('ς', "σ"));
    }
    Ok(key)
}

/// The mapping of a username to its key, for any text: a part of a username, or a text that breaks
/// the rules. The key of a username is its mapping.
pub fn username_fold(typed: &str) -> String {
    if typed.is_ascii() {
        return typed.to_ascii_lowercase();
    }
    let profile = UsernameCaseMapped::new();
    let mapped = profile.width_mapping_rule(nfc(typed.to_owned()));
    let mapped = mapped.and_then(|mapped| profile.case_mapping_rule(mapped));
    let mapped = mapped.and_then(|mapped| profile.normalization_rule(mapped));
    // None of these steps rejects a text.
    mapped.map_or_else(|_| fold_key(typed), |mapped| mapped.replace('ς', "σ"))
}

/// The steps of RFC 8265 section 3.3.2 up to normalization; the caller applies the bidi rule.
fn enforce(part: &str) -> Result<Cow<'_, str>, Error> {
    let profile = UsernameCaseMapped::new();
    let prepared = profile.prepare(part)?;
    let lower = profile.case_mapping_rule(prepared)?;
    profile.normalization_rule(lower)
}

fn detail_of(error: &Error) -> Detail {
    match error {
        Error::BadCodepoint(info)
        | Error::Unexpected(
            UnexpectedError::ContextRuleNotApplicable(info)
            | UnexpectedError::MissingContextRule(info),
        ) => error_at(info),
        // A context rule that needs a character before the first or after the last one.
        Error::Unexpected(UnexpectedError::Undefined) => "a mark that joins letters, such as \
            U+00B7, U+200C or U+200D, must be between them in a username: not first, not last"
            .into(),
        Error::Invalid | Error::Unexpected(UnexpectedError::ProfileRuleNotApplicable) => {
            "use letters, digits and ASCII marks in a username".into()
        }
    }
}

fn error_at(info: &CodepointInfo) -> Detail {
    let Some(c) = char::from_u32(info.cp) else {
        return "use letters, digits and ASCII marks in a username".into();
    };
    let name = describe(c);
    if c == ' ' || c.is_whitespace() {
        // A wide space (U+3000) reaches the profile as its mapping, U+0020.
        return "write an ordinary space (U+0020) between the parts of a username".into();
    }
    match info.property {
        DerivedPropertyValue::ContextJ | DerivedPropertyValue::ContextO => {
            format!("{name} is not allowed at this position of a username: remove it")
        }
        DerivedPropertyValue::Unassigned => {
            format!("{name} is not a character that usernames support yet: use another")
        }
        DerivedPropertyValue::PValid
        | DerivedPropertyValue::SpecClassPval
        | DerivedPropertyValue::SpecClassDis
        | DerivedPropertyValue::Disallowed => {
            if c.is_control() || is_invisible(c) {
                format!("{name} is an invisible character: remove it from the username")
            } else if let Some(spelled) = spelled_out(c) {
                format!("{name} is not allowed in a username: write `{spelled}` instead")
            } else {
                format!("{name} is not allowed in a username: use letters, digits and ASCII marks")
            }
        }
    }
    .into()
}

/// The characters of a ligature or another compatibility character, if they are allowed.
fn spelled_out(c: char) -> Option<String> {
    let spelled: String = c.nfkc().collect();
    let differs = !spelled.chars().eq([c]);
    (differs && enforce(&spelled).is_ok()).then_some(spelled)
}

#[cfg(test)]
mod tests {
    use precis_profiles::precis_core::profile::PrecisFastInvocation;
    use proptest::prelude::*;

    use super::*;

    fn by_profile(part: &str) -> Result<Cow<'_, str>, Error> {
        <UsernameCaseMapped as PrecisFastInvocation>::enforce(part)
    }

    fn detail(typed: &str) -> String {
        username_key(typed).unwrap_err().into_owned()
    }

    #[test]
    fn spellings_of_one_name_share_a_key() {
        for typed in ["Ada", "ADA", "ada", "Ａｄａ"] {
            assert_eq!(username_key(typed).as_deref(), Ok("ada"), "{typed}");
        }
        assert_eq!(username_key("ZOE\u{308} Ada"), username_key("zoë ada"));
        assert_eq!(username_key("\u{1112}\u{1161}\u{11AB}"), username_key("한"));
        assert_eq!(username_key("ﾃｽﾄ"), username_key("テスト"));
        for typed in ["ΓΙΏΡΓΟΣ", "γιώργος", "γιώργοσ", "ΓΙΏΡΓΟς"] {
            assert_eq!(username_key(typed).as_deref(), Ok("γιώργοσ"), "{typed}");
        }
    }

    #[test]
    fn parts_and_other_texts_are_mapped_as_usernames_are() {
        for (typed, mapped) in [
            ("Straße ", "straße "),
            (" ＡＤＡ", " ada"),
            ("Zoë😀@X.example", "zoë😀@x.example"),
            ("ΓΙΏΡΓΟς ", "γιώργοσ "),
            ("A  B", "a  b"),
            ("", ""),
        ] {
            assert_eq!(username_fold(typed), mapped, "{typed:?}");
        }
    }

    #[test]
    fn common_names_are_usernames() {
        for typed in [
            "ada@example.com",
            "a.b+c",
            "Ada Lovelace",
            "o'neill",
            "姓名",
            "שלום",
            "محمد١",
            "Ñandú",
            "राम",
            "مُحَمَّد",
            "שָׁלוֹם",
            "#1",
            "ทดสอบ",
            "a b c",
            "l\u{B7}l",
            "Ärzte GmbH 2",
        ] {
            assert!(username_key(typed).is_ok(), "{typed}: {}", detail(typed));
        }
    }

    #[test]
    fn single_spaces_are_allowed_between_parts_only() {
        assert_eq!(
            username_key("Ada  Lovelace"),
            Err("write one space between the parts of a username, not several".into())
        );
        for typed in [" ada", "ada ", " ", "  "] {
            assert!(detail(typed).contains("beginning or end"), "{typed:?}");
        }
        for typed in ["a\u{3000}b", "a\u{A0}b", "a\u{2003}b"] {
            assert!(detail(typed).contains("ordinary space"), "{typed:?}: {}", detail(typed));
        }
        assert!(username_key("").is_err());
    }

    #[test]
    fn an_error_names_the_character_and_not_the_value() {
        for (typed, part) in [
            ("secret\u{1F600}", "U+1F600 is not allowed"),
            ("secret\u{200B}", "U+200B is an invisible"),
            ("secret\u{202E}", "U+202E is an invisible"),
            ("secret\u{7}", "U+0007 is an invisible"),
            ("secret\u{7F}", "U+007F is an invisible"),
            ("secret\u{B7}s", "U+00B7 is not allowed at this position"),
            ("secret\u{B7}", "joins letters"),
            ("secret \u{200D}a", "joins letters"),
            ("secret\u{FB01}", "write `fi` instead"),
            ("secret\u{587}", "write `եւ` instead"),
            ("secret½", "`½` (U+00BD) is not allowed in a username: use letters"),
            ("secret’s", "U+2019 is not allowed in a username: use letters"),
            ("secret\u{10D40}", "not a character that usernames support yet"),
            ("secretשלום", "one direction"),
            ("١אב", "one direction"),
        ] {
            let detail = detail(typed);
            assert!(detail.contains(part), "{typed:?}: {detail}");
            assert!(!detail.contains("secret"), "{detail}");
        }
    }

    #[test]
    fn each_part_has_a_direction_of_its_own() {
        assert_eq!(username_key("Ada שלום").as_deref(), Ok("ada שלום"));
    }

    proptest! {
        #[test]
        fn the_fast_path_of_ascii_equals_the_profile(typed in "[\0-\u{7F}]{1,24}") {
            let parts: Result<Vec<_>, _> =
                typed.split(' ').map(by_profile).collect();
            let expected = parts.ok().map(|parts| parts.join(" "));
            prop_assert_eq!(username_key(&typed).ok(), expected);
        }

        #[test]
        fn a_printable_ascii_name_has_the_key_of_the_profile(
            typed in "[!-~]{1,12}( [!-~]{1,12}){0,2}"
        ) {
            let expected: Vec<_> =
                typed.split(' ').map(|part| by_profile(part).unwrap()).collect();
            prop_assert_eq!(username_key(&typed).unwrap(), expected.join(" "));
        }

        #[test]
        fn a_key_is_the_key_of_itself(
            typed in "[a-zA-ZÀ-ž\u{370}-\u{52F}\u{FF21}-\u{FF5A}\u{300}-\u{308}]{1,12}"
        ) {
            if let Ok(key) = username_key(&typed) {
                prop_assert_eq!(username_key(&key), Ok(key.clone()));
            }
        }
    }
}
