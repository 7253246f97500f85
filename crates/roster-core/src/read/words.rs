//! Search words: the words by which `q` finds a user.
//!
//! The words of users and of searches are computed here for every engine, so that every word of a
//! user finds the user: NFKC, case-folded, split at characters that are neither letters, digits nor
//! combining marks. A run of ideographs is one word, matched from its start.

use icu_casemap::CaseMapper;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark, is_nfkc};

use crate::{
    limits::{SEARCH_LENGTH_MAX, SEARCH_WORDS_MAX, WORD_LENGTH_MAX},
    user::{User, attribute::Attribute, part::Part},
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

/// What a search box contains. Any text is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Words that must each be a prefix of a word of the record; sorted, and none is a prefix of
    /// another.
    pub words: Vec<String>,
    /// Whether the end of the text was ignored, because it has more words or bytes than a search
    /// uses.
    pub is_cut: bool,
}

impl Search {
    /// The search for a text. Returns `None` for white space only: nothing is searched.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return None;
        }
        let used = text.get(..text.floor_char_boundary(SEARCH_LENGTH_MAX)).unwrap_or(text);
        let mut words = Vec::new();
        split_into(used, &mut words);
        let mut is_cut = used.len() < text.len();
        if is_cut && words.len() > 1 {
            // The last word may have been cut.
            words.pop();
        }
        is_cut |= words.len() > SEARCH_WORDS_MAX;
        words.truncate(SEARCH_WORDS_MAX);
        // A word follows its prefixes, so in the reverse order it precedes them.
        words.sort_unstable_by(|one, other| other.cmp(one));
        words.dedup_by(|prefix, word| word.starts_with(prefix.as_str()));
        words.reverse();
        if words.is_empty() {
            words.push(WORD_OF_NONE.to_owned());
        }
        Some(Self { words, is_cut })
    }
}

/// A text that no word begins with. A search for characters that are in no word finds nothing.
const WORD_OF_NONE: &str = " ";

/// The words of a user; sorted, without duplicates.
pub fn words_of(user: &User) -> Vec<String> {
    let mut words = Vec::new();
    texts_of(user).for_each(|text| split_into(text, &mut words));
    sorted(words)
}

/// The words of one text; sorted, without duplicates.
pub fn words_of_text(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    split_into(text, &mut words);
    sorted(words)
}

/// The time that finding the words of a user takes, as a number of comparisons.
pub(crate) fn comparisons_of(user: &User) -> usize {
    texts_of(user).map(comparisons_of_text).sum()
}

/// The time that finding the words of a text takes, as a number of comparisons.
pub(crate) fn comparisons_of_text(text: &str) -> usize {
    if text.is_ascii() { text.len() / 16 } else { 3 * text.len() }
}

/// The texts whose words are indexed.
fn texts_of(user: &User) -> impl Iterator<Item = &str> {
    WORD_ATTRIBUTES.iter().flat_map(|attribute| {
        let entries = user.profile.entries(*attribute).iter();
        let values = entries.filter_map(|entry| entry.text(Part::Value));
        user.profile.text(*attribute).into_iter().chain(values)
    })
}

/// Whether each wanted word is a prefix of one of these words, which are sorted.
pub fn matches_words(wanted: &[String], words: &[String]) -> bool {
    wanted.iter().all(|wanted| {
        let first = words.partition_point(|word| word < wanted);
        words.get(first).is_some_and(|word| word.starts_with(wanted.as_str()))
    })
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
            assert_eq!(words_of_text(text), wanted, "{text}");
        }
    }

    fn searched(text: &str) -> Vec<String> {
        Search::parse(text).expect("a search").words
    }

    #[test]
    fn a_search_uses_each_word_of_any_text_once() {
        assert_eq!(searched("Ada  LOVE ada"), ["ada", "love"]);
        assert_eq!(searched("jane.doe@mail.example.com").len(), 5);
        assert_eq!(
            searched("Maria del Carmen de la Cruz"),
            ["carmen", "cruz", "del", "la", "maria"]
        );
        assert_eq!(Search::parse(" \t"), None);
        for text in ["@", "...", "\u{1f600}", "\u{301}", "-"] {
            let search = Search::parse(text).expect("a search");
            assert_eq!((search.words, search.is_cut), (vec![WORD_OF_NONE.to_owned()], false));
        }
    }

    #[test]
    fn the_end_of_a_long_text_is_ignored() {
        let numbers: Vec<String> = (10..=10 + SEARCH_WORDS_MAX).map(|n| n.to_string()).collect();
        let text = |count| numbers.get(..count).expect("so many").join(" ");
        let all = Search::parse(&text(SEARCH_WORDS_MAX)).expect("a search");
        assert!(all.words.len() == SEARCH_WORDS_MAX && !all.is_cut);
        let cut = Search::parse(&text(SEARCH_WORDS_MAX + 1)).expect("a search");
        assert_eq!((cut.words, cut.is_cut), (all.words, true));
        let long = format!("ada {}e\u{301}", "b".repeat(SEARCH_LENGTH_MAX - 5));
        let cut = Search::parse(&long).expect("a search");
        assert_eq!((cut.words, cut.is_cut), (vec!["ada".to_owned()], true));
        let word = Search::parse(&"\u{e9}".repeat(2000)).expect("a search");
        assert_eq!((word.words, word.is_cut), (vec!["\u{e9}".repeat(WORD_LENGTH_MAX)], true));
    }

    #[test]
    fn a_word_is_found_by_its_beginning() {
        let held = words_of_text("Ada Lovelace");
        let finds = |q: &str| matches_words(&searched(q), &held);
        assert!(finds("ada") && finds("LOVE a") && finds("Lovelace"));
        assert!(!finds("lace") && !finds("ada x") && !finds("adaa") && !finds("@"));
    }

    proptest! {
        #[test]
        fn every_word_finds_itself(text in "\\PC{0,24}") {
            for word in words_of_text(&text) {
                let again = words_of_text(&word);
                prop_assert!(again.contains(&word), "{word:?} gives {again:?}");
            }
        }

        #[test]
        fn a_text_finds_itself(text in "\\PC{0,80}") {
            let words = words_of_text(&text);
            if let (Some(search), [_, ..]) = (Search::parse(&text), words.as_slice()) {
                prop_assert!(matches_words(&search.words, &words_of_text(&text)), "{search:?}");
            }
        }
    }
}
