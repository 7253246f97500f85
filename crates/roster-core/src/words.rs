//! Search words: the words by which `q` finds a user.
//!
//! The words of users and of searches are computed here for every engine, so that every word of a
//! user finds the user: NFKC, case-folded, split at characters that are neither letters, digits nor
//! combining marks. A run of ideographs is one word, matched from its start.

use icu_casemap::CaseMapper;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark, is_nfkc};

use crate::{
    attribute::Attribute,
    limits::{SEARCH_LENGTH_MAX, SEARCH_WORDS_MAX, WORD_LENGTH_MAX},
    part::Part,
    user::User,
};

/// The members whose words are indexed.
pub const WORD_ATTRIBUTES: &[Attribute] = &[
    Attribute::Username,
    Attribute::Name,
    Attribute::GivenName,
    Attribute::MiddleName,
    Attribute::FamilyName,
    Attribute::DisplayName,
    Attribute::Nickname,
    Attribute::Emails,
];

/// Why a search text is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchFault {
    /// It has no letter and no digit.
    NoWord,
    /// More than [`SEARCH_WORDS_MAX`] words.
    TooManyWords,
    /// More than [`SEARCH_LENGTH_MAX`] bytes.
    TooLong,
}

/// The words of a user; sorted, without duplicates.
pub fn words_of(user: &User) -> Vec<String> {
    let mut words = Vec::new();
    texts_of(user).for_each(|text| split_into(text, &mut words));
    sorted(words)
}

/// The time that finding the words of a user takes, as a number of comparisons.
pub(crate) fn comparisons_of(user: &User) -> usize {
    texts_of(user).map(|text| if text.is_ascii() { text.len() / 16 } else { 3 * text.len() }).sum()
}

/// The texts whose words are indexed.
fn texts_of(user: &User) -> impl Iterator<Item = &str> {
    WORD_ATTRIBUTES.iter().flat_map(|attribute| {
        let entries = user.profile.entries(*attribute).iter();
        let values = entries.filter_map(|entry| entry.text(Part::Value));
        user.profile.text(*attribute).into_iter().chain(values)
    })
}

/// The words of a search, which must each be a prefix of a word of a user; sorted, without
/// duplicates.
pub fn search_words(q: &str) -> Result<Vec<String>, SearchFault> {
    if q.len() > SEARCH_LENGTH_MAX {
        return Err(SearchFault::TooLong);
    }
    let mut words = Vec::new();
    split_into(q, &mut words);
    let words = sorted(words);
    match words.len() {
        0 => Err(SearchFault::NoWord),
        count if count > SEARCH_WORDS_MAX => Err(SearchFault::TooManyWords),
        _ => Ok(words),
    }
}

/// Whether each wanted word is a prefix of any word of a user.
pub fn matches_words(wanted: &[String], words: &[String]) -> bool {
    wanted.iter().all(|wanted| words.iter().any(|word| word.starts_with(wanted.as_str())))
}

/// Sorts the words and removes duplicates.
fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort_unstable();
    words.dedup();
    words
}

fn split_into(text: &str, words: &mut Vec<String>) {
    if text.is_ascii() {
        // Most texts are ASCII, which needs no normalization and no other folding.
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            if !word.is_empty() {
                let word = word.get(..WORD_LENGTH_MAX).unwrap_or(word);
                words.push(word.to_ascii_lowercase());
            }
        }
        return;
    }
    let form = form(text);
    for word in form.split(|c: char| !is_of_word(c)) {
        if word.chars().any(char::is_alphanumeric) {
            words.push(word.chars().take(WORD_LENGTH_MAX).collect());
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || (!c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c)))
}

/// The NFKC and case-folded form of a text. It is a fixed point.
fn form(text: &str) -> String {
    let mut form: String = text.nfkc().collect();
    // Case folding may denormalize a text, and normalizing may unfold it. Repeating both reaches
    // the fixed point.
    for _ in 0..3 {
        let folded = CaseMapper::new().fold_string(&form).into_owned();
        let is_stable = folded == form && is_nfkc(&form);
        form = folded.nfkc().collect();
        if is_stable {
            break;
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        split_into(text, &mut words);
        sorted(words)
    }

    #[test]
    fn a_text_is_split_where_there_is_neither_letter_nor_digit() {
        for (text, wanted) in [
            ("Ada Lovelace", vec!["ada", "lovelace"]),
            ("ada.lovelace+news@Example.COM", vec!["ada", "com", "example", "lovelace", "news"]),
            ("O'Brien-Smith", vec!["brien", "o", "smith"]),
            ("Ｆｕｌｌ Ⅳ ﬁne", vec!["fine", "full", "iv"]),
            ("STRASSE straße", vec!["strasse"]),
            ("e\u{301}te\u{301} ÉTÉ", vec!["été"]),
            ("山田太郎 한국", vec!["山田太郎", "한국"]),
            (" ... ", vec![]),
        ] {
            assert_eq!(words(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_search_has_one_to_four_words() {
        assert_eq!(search_words("Ada  LOVE"), Ok(vec!["ada".to_owned(), "love".to_owned()]));
        assert_eq!(search_words("a b c d a"), Ok(["a", "b", "c", "d"].map(String::from).into()));
        assert_eq!(search_words("a b c d e"), Err(SearchFault::TooManyWords));
        assert_eq!(search_words(" - "), Err(SearchFault::NoWord));
        assert_eq!(search_words(&"a".repeat(2000)), Err(SearchFault::TooLong));
    }

    #[test]
    fn a_word_is_found_by_its_beginning() {
        let held = words("Ada Lovelace");
        let finds = |q: &str| matches_words(&search_words(q).expect("words"), &held);
        assert!(finds("ada") && finds("LOVE a") && finds("Lovelace"));
        assert!(!finds("lace") && !finds("ada x") && !finds("adaa"));
    }

    proptest! {
        #[test]
        fn every_word_finds_itself(text in "\\PC{0,24}") {
            for word in words(&text) {
                let again = words(&word);
                prop_assert!(again.contains(&word), "{word:?} gives {again:?}");
            }
        }
    }
}
