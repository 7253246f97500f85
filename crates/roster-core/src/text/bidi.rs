//! The bidi rule of RFC 5893 section 2, as RFC 8265 applies it to usernames.
//!
//! A text without right-to-left characters always satisfies it. We implement the rule because
//! precis-profiles 0.2.0 allows nonspacing marks only at the end, and so rejects most vowelled
//! Arabic and pointed Hebrew. Without such marks both must agree (a test).

use icu_properties::CodePointMapData;
use icu_properties::props::BidiClass;

/// Whether a text has only one reading next to texts of either direction.
pub(super) fn satisfies_bidi_rule(text: &str) -> bool {
    let class_of = CodePointMapData::<BidiClass>::new();
    let classes = || text.chars().map(|c| class_of.get(c));
    if !classes().any(|class| is_rtl(class) || class == BidiClass::ArabicNumber) {
        return true;
    }
    // Condition 1. A label that begins with an L has a right-to-left character further on, which
    // condition 5 rejects; so conditions 5 and 6 need no code.
    classes().next().is_some_and(is_rtl)
        && classes().all(|class| is_rtl(class) || is_allowed_in_rtl(class))
        && classes().rfind(|&class| class != BidiClass::NonspacingMark).is_some_and(ends_rtl)
        && !(has(classes(), BidiClass::EuropeanNumber) && has(classes(), BidiClass::ArabicNumber))
}

fn is_rtl(class: BidiClass) -> bool {
    class == BidiClass::RightToLeft || class == BidiClass::ArabicLetter
}

/// Condition 2, without the letters.
fn is_allowed_in_rtl(class: BidiClass) -> bool {
    [
        BidiClass::ArabicNumber,
        BidiClass::EuropeanNumber,
        BidiClass::EuropeanSeparator,
        BidiClass::CommonSeparator,
        BidiClass::EuropeanTerminator,
        BidiClass::OtherNeutral,
        BidiClass::BoundaryNeutral,
        BidiClass::NonspacingMark,
    ]
    .contains(&class)
}

/// Condition 3.
fn ends_rtl(class: BidiClass) -> bool {
    is_rtl(class) || class == BidiClass::EuropeanNumber || class == BidiClass::ArabicNumber
}

fn has(mut classes: impl Iterator<Item = BidiClass>, wanted: BidiClass) -> bool {
    classes.any(|class| class == wanted)
}

#[cfg(test)]
mod tests {
    use precis_profiles::UsernameCaseMapped;
    use precis_profiles::precis_core::profile::Rules;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_of_one_direction_satisfy_the_rule() {
        for text in [
            "",
            "ada",
            "123",
            "שלום",
            "محمد",
            "محمد1",
            "محمد١",
            "א-ב",
            "שָׁלוֹם",
            "مُحَمَّد",
            "אב1\u{5B0}",
        ] {
            assert!(satisfies_bidi_rule(text), "{text}");
        }
    }

    #[test]
    fn texts_with_two_readings_break_the_rule() {
        for text in ["adaש", "שada", "1ש", "١ש", "١", "ש-", "ש'", "ש-\u{5B0}", "ש1١", "\u{5B0}ש"]
        {
            assert!(!satisfies_bidi_rule(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn without_marks_the_rule_is_that_of_the_profile(text in "[a-c1-3א-גا-ث١-٣.,'+@_-]{1,6}") {
            let by_profile = UsernameCaseMapped::new().directionality_rule(text.as_str()).is_ok();
            prop_assert_eq!(satisfies_bidi_rule(&text), by_profile);
        }
    }
}
