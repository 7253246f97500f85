//! Language tags: `locale` and `preferred_language`.
//!
//! One well-formed tag of BCP 47 (RFC 5646 section 2.2.9), in any case. `_` is accepted for `-`, as
//! SCIM allows and most operating systems write. Subtags need not be registered: the registry
//! grows, and a directory must not reject new languages.

use std::borrow::Cow;

use oxilangtag::LanguageTag;

use super::Detail;

/// Rejects a text that is not one well-formed language tag.
pub fn check_language_tag(typed: &str) -> Result<(), Detail> {
    if typed.contains([',', ';']) {
        return Err("give one language tag, such as `en-GB`, not a list".into());
    }
    if typed.contains(['.', '@']) {
        return Err("leave the encoding and modifier out of the language tag: write `en-GB`".into());
    }
    let tag = if typed.contains('_') {
        Cow::Owned(typed.replace('_', "-"))
    } else {
        Cow::Borrowed(typed)
    };
    match LanguageTag::parse(tag) {
        Ok(_) => Ok(()),
        Err(_) => Err("write a language tag of BCP 47, such as `en` or `en-GB`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_tags_are_valid() {
        for typed in [
            "en",
            "en-GB",
            "en_GB",
            "EN-gb",
            "de-CH-1996",
            "zh-Hant-TW",
            "zh_Hans_CN",
            "sr-Latn",
            "es-419",
            "ast-ES",
            "hsb_DE",
            "i-klingon",
            "x-private",
            "en-u-ca-buddhist",
            "zh-cmn-Hans-CN",
            "sl-rozaj-biske",
            "de-x-team",
            "tlh",
        ] {
            assert_eq!(check_language_tag(typed), Ok(()), "{typed}");
        }
    }

    #[test]
    fn other_texts_are_rejected_with_what_to_do() {
        for (typed, part) in [
            ("", "BCP 47"),
            ("e", "BCP 47"),
            ("-", "BCP 47"),
            ("en-", "BCP 47"),
            ("en--GB", "BCP 47"),
            ("en GB", "BCP 47"),
            ("English (UK)", "BCP 47"),
            ("englishspoken", "BCP 47"),
            ("en-u", "BCP 47"),
            ("en-x", "BCP 47"),
            ("日本語", "BCP 47"),
            ("1", "BCP 47"),
            ("en_GB.UTF-8", "encoding"),
            ("ca_ES@valencia", "encoding"),
            ("de-DE, en;q=0.8", "not a list"),
        ] {
            let detail = check_language_tag(typed).expect_err(typed);
            assert!(detail.contains(part), "{typed:?}: {detail}");
        }
    }
}
