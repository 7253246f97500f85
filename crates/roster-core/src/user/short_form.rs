//! Short forms: `email`, `phone_number` and `picture` contain the primary value of their lists and
//! may be written instead of the lists.
//!
//! Let S be the short form and L its list in a body. If only S is present, the list becomes one
//! entry with that value. If only L is present, L is stored. If neither is present, the list is
//! cleared. If both are present, the one that differs from the stored record wins. If both differ
//! from it and from each other, the intention is unknown and the write is rejected.
//!
//! A patch that removes S and does not contain L removes L too, if L has one entry. A patch that
//! removes L and does not contain S removes S too.

use crate::{
    json::Json,
    user::{
        attribute::{Attribute, Kind},
        part::Part,
        profile::{Entry, Scalar, primary},
    },
};

/// The short form and the list were both changed, to different values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

/// The list that results from a short form and a list, given the stored list. Values with the same
/// key are one value.
pub fn resolve(
    short: Option<&str>,
    list: Option<&[Entry]>,
    stored: &[Entry],
    key: impl Fn(&str) -> String,
) -> Result<Vec<Entry>, Conflict> {
    let (short, list) = match (short, list) {
        (None, None) => return Ok(Vec::new()),
        (None, Some(list)) => return Ok(list.to_vec()),
        (Some(short), None) => return Ok(vec![only(short, stored, key)]),
        (Some(short), Some(list)) => (short, list),
    };
    if has_value(primary(list), short) || has_value(primary(stored), short) {
        Ok(list.to_vec())
    } else if list == stored {
        Ok(with_primary(list, short, key))
    } else {
        Err(Conflict)
    }
}

/// Removes the list of each short form that a patch removes, if the list has only the primary entry
/// and the patch does not contain it; and the short form of each list that a patch removes, if the
/// patch does not contain it. Returns the short forms whose lists have further entries,
/// because it is unknown which of these would become the primary one.
pub fn remove_cleared(record: &mut Vec<(String, Json)>, patch: &Json) -> Vec<Attribute> {
    let mut kept = Vec::new();
    for short_form in Attribute::ALL.iter().copied() {
        let Kind::ShortForm { list, .. } = short_form.kind() else { continue };
        let sent = patch.member(short_form.name());
        let nothing = [Json::Null, Json::Array(Vec::new())];
        if sent.is_none() && patch.member(list.name()).is_some_and(|list| nothing.contains(list)) {
            record.retain(|(name, _)| name != short_form.name());
        }
        let is_cleared = sent.is_some_and(|sent| *sent == Json::Null || sent.is_empty_text());
        if !is_cleared || patch.member(list.name()).is_some() {
            continue;
        }
        let stored = record.iter().position(|(name, _)| name == list.name());
        match stored.and_then(|at| record.get(at).map(|(_, value)| (at, value))) {
            Some((_, Json::Array(entries))) if entries.len() > 1 => kept.push(short_form),
            Some((at, _)) => drop(record.remove(at)),
            None => {}
        }
    }
    kept
}

fn has_value(entry: Option<&Entry>, value: &str) -> bool {
    entry.and_then(|entry| entry.text(Part::Value)) == Some(value)
}

/// The entry with this value; if there is none, the first with its key.
fn position(entries: &[Entry], value: &str, key: impl Fn(&str) -> String) -> Option<usize> {
    let same = key(value);
    let has_key = |entry: &Entry| entry.text(Part::Value).is_some_and(|own| key(own) == same);
    let exact = entries.iter().position(|entry| has_value(Some(entry), value));
    exact.or_else(|| entries.iter().position(has_key))
}

/// The single entry for a short form without a list. A stored entry with this value keeps its type
/// and display name.
fn only(short: &str, stored: &[Entry], key: impl Fn(&str) -> String) -> Entry {
    let known = position(stored, short, key).and_then(|at| stored.get(at)).cloned();
    known
        .unwrap_or_default()
        .with(Part::Value, Scalar::Text(short.to_owned()))
        .with(Part::Primary, Scalar::Flag(true))
}

/// The list with another primary value: the flag moves to the entry with this value; if there is
/// none, the primary entry gets the value.
fn with_primary(list: &[Entry], short: &str, key: impl Fn(&str) -> String) -> Vec<Entry> {
    let known = position(list, short, key);
    let primary = list.iter().position(Entry::is_primary).unwrap_or(0);
    let target = known.unwrap_or(primary);
    let change = |(at, entry): (usize, &Entry)| {
        let entry = entry.clone();
        if at != target {
            return if known.is_some() { entry.without(Part::Primary) } else { entry };
        }
        let entry = entry.with(Part::Value, Scalar::Text(short.to_owned()));
        if known.is_some() { entry.with(Part::Primary, Scalar::Flag(true)) } else { entry }
    };
    list.iter().enumerate().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: &str, kind: &str, flag: bool) -> Entry {
        let text = |text: &str| Scalar::Text(text.to_owned());
        let entry = Entry::new(vec![(Part::Value, text(value)), (Part::Type, text(kind))]);
        if flag { entry.with(Part::Primary, Scalar::Flag(true)) } else { entry }
    }

    fn resolve(
        short: Option<&str>,
        list: Option<&[Entry]>,
        stored: &[Entry],
    ) -> Result<Vec<Entry>, Conflict> {
        super::resolve(short, list, stored, str::to_lowercase)
    }

    fn stored() -> Vec<Entry> {
        vec![entry("a@x", "home", false), entry("b@x", "work", true)]
    }

    #[test]
    fn neither_clears_the_list() {
        assert_eq!(resolve(None, None, &stored()), Ok(vec![]));
    }

    #[test]
    fn only_the_short_form_becomes_the_one_primary_entry() {
        let made = Entry::default()
            .with(Part::Value, Scalar::Text("c@x".to_owned()))
            .with(Part::Primary, Scalar::Flag(true));
        assert_eq!(resolve(Some("c@x"), None, &stored()), Ok(vec![made]));
    }

    #[test]
    fn only_the_short_form_of_a_known_value_keeps_its_type() {
        assert_eq!(resolve(Some("a@x"), None, &stored()), Ok(vec![entry("a@x", "home", true)]));
    }

    #[test]
    fn a_value_with_the_key_of_an_entry_is_that_entry_in_another_spelling() {
        let expected = vec![entry("A@x", "home", true)];
        assert_eq!(resolve(Some("A@x"), None, &stored()), Ok(expected));
        let expected = vec![entry("A@x", "home", true), entry("b@x", "work", false)];
        assert_eq!(resolve(Some("A@x"), Some(&stored()), &stored()), Ok(expected));
        let expected = vec![entry("a@x", "home", false), entry("B@x", "work", true)];
        assert_eq!(resolve(Some("B@x"), Some(&stored()), &stored()), Ok(expected));
        let both = vec![entry("A@x", "home", false), entry("a@x", "work", false)];
        let expected = vec![entry("A@x", "home", false), entry("a@x", "work", true)];
        assert_eq!(resolve(Some("a@x"), Some(&both), &both), Ok(expected), "the exact one first");
    }

    #[test]
    fn only_the_list_is_stored_without_a_flag() {
        let list = vec![entry("c@x", "home", false), entry("d@x", "work", false)];
        assert_eq!(resolve(None, Some(&list), &stored()), Ok(list));
    }

    #[test]
    fn both_that_agree_are_accepted() {
        let list = vec![entry("c@x", "home", false), entry("d@x", "work", true)];
        assert_eq!(resolve(Some("d@x"), Some(&list), &stored()), Ok(list));
    }

    #[test]
    fn the_list_wins_over_a_short_form_as_stored() {
        let list = vec![entry("c@x", "home", false)];
        assert_eq!(resolve(Some("b@x"), Some(&list), &stored()), Ok(list));
    }

    #[test]
    fn a_list_as_stored_takes_the_new_value_into_its_primary_entry() {
        let list = stored();
        let expected = vec![entry("a@x", "home", false), entry("c@x", "work", true)];
        assert_eq!(resolve(Some("c@x"), Some(&list), &stored()), Ok(expected));
    }

    #[test]
    fn a_list_as_stored_moves_the_flag_to_the_entry_of_that_value() {
        let list = stored();
        let expected = vec![entry("a@x", "home", true), entry("b@x", "work", false)];
        assert_eq!(resolve(Some("a@x"), Some(&list), &stored()), Ok(expected));
    }

    #[test]
    fn both_changed_and_disagreeing_is_a_conflict() {
        let list = vec![entry("d@x", "home", false)];
        assert_eq!(resolve(Some("c@x"), Some(&list), &stored()), Err(Conflict));
        assert_eq!(resolve(Some("c@x"), Some(&list), &[]), Err(Conflict));
    }
}
