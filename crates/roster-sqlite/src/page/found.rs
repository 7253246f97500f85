//! Ids that indexes find before any row is read: by keys, in a range, or by words.

use roster_core::{
    UserId,
    list::PageQuery,
    plan::{Driver, Lookup, Range, SORTED_ROWS_MAX},
};
use rusqlite::{Connection, ToSql};

use super::{
    range::{self, Bounds},
    sql::{ANY_EMAIL, ANY_PHONE_NUMBER, WORDS, lookup},
};
use crate::{
    columns::{SortText, id_of},
    failure::ReadResult,
};

/// Most entries of a word that are gathered, one measure after the other: as soon as one word has
/// no more, the others are tested on its rows. A more common word is tested on the rows alone.
pub(crate) const WORD_ENTRIES: [usize; 3] = [FEW, 1000, 20_000];

/// So many rows may be looked at by whoever asks: less work than a page of the default size.
pub(crate) const FEW: usize = 32;

/// What indexes found.
pub(super) struct Found {
    /// Sorted, none twice.
    pub(super) ids: Vec<UserId>,
    /// Every one of these users has all words that are searched for.
    pub(super) by_all_words: bool,
}

/// What the driver finds; `None` where there are more than `most` to be put in order, or the
/// driver finds no ids.
pub(super) fn ids(
    connection: &Connection,
    driver: &Driver,
    query: &PageQuery,
    most: usize,
) -> ReadResult<Option<Found>> {
    let sorted_max = most.min(SORTED_ROWS_MAX);
    let ids = match driver {
        Driver::Lookups(lookups) => by_keys(connection, lookups, sorted_max)?,
        Driver::Range(range) => in_range(connection, range, sorted_max)?,
        Driver::Words => return by_words(connection, &query.words, most),
        Driver::Ids
        | Driver::Username
        | Driver::Email
        | Driver::ExternalId
        | Driver::PhoneNumber
        | Driver::Status
        | Driver::Sort => None,
    };
    Ok(ids.map(|ids| Found { ids, by_all_words: false }))
}

fn by_keys(
    connection: &Connection,
    lookups: &[Lookup],
    most: usize,
) -> ReadResult<Option<Vec<UserId>>> {
    let mut found = Vec::new();
    for one in lookups {
        let mut take =
            |sql: &str, key: &dyn ToSql| gather(connection, sql, &[key], most, &mut found);
        let few = match one {
            // Whether there is such a row shows when it is read.
            Lookup::Id(id) => {
                found.push(*id);
                true
            }
            Lookup::Email(key) => take(lookup(one), &SortText(Some(key)))?,
            Lookup::AnyEmail(key) => {
                take(lookup(one), &SortText(Some(key)))? && take(ANY_EMAIL, key)?
            }
            Lookup::AnyPhoneNumber(key) => take(lookup(one), key)? && take(ANY_PHONE_NUMBER, key)?,
            Lookup::Username(key) | Lookup::ExternalId(key) | Lookup::PhoneNumber(key) => {
                take(lookup(one), key)?
            }
        };
        if !few {
            return Ok(None);
        }
    }
    Ok(Some(settled(found)))
}

fn in_range(
    connection: &Connection,
    range: &Range,
    most: usize,
) -> ReadResult<Option<Vec<UserId>>> {
    let bounds = Bounds::of(range);
    let mut statement = connection.prepare_cached(&range::ids(range.by, &bounds))?;
    bounds.bind(&mut statement)?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() == most {
            return Ok(None);
        }
        found.push(id_of(row, 0, "users.id")?);
    }
    Ok(Some(found))
}

/// The users that hold each of the rarer words; `None` where every word is common.
fn by_words(connection: &Connection, words: &[String], most: usize) -> ReadResult<Option<Found>> {
    for entries in WORD_ENTRIES.into_iter().take_while(|entries| *entries <= most) {
        let mut all: Option<Vec<UserId>> = None;
        let mut by_all_words = true;
        for word in words {
            let mut found = Vec::new();
            let last = format!("{word}\u{10FFFF}");
            let bounds: [&dyn ToSql; 2] = [word, &last];
            if gather(connection, WORDS, &bounds, entries, &mut found)? {
                let found = settled(found);
                all = Some(match all {
                    Some(before) => common(before, &found),
                    None => found,
                });
            } else {
                by_all_words = false;
            }
        }
        if let Some(ids) = all {
            return Ok(Some(Found { ids, by_all_words }));
        }
    }
    Ok(None)
}

/// Sorted, none twice.
fn settled(mut ids: Vec<UserId>) -> Vec<UserId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// What is in both.
fn common(mut ids: Vec<UserId>, others: &[UserId]) -> Vec<UserId> {
    ids.retain(|id| others.binary_search(id).is_ok());
    ids
}

/// Adds the ids that a statement gives; false when they were more than `most`.
fn gather(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn ToSql],
    most: usize,
    found: &mut Vec<UserId>,
) -> ReadResult<bool> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut entries = 0;
    while let Some(row) = rows.next()? {
        if entries == most {
            return Ok(false);
        }
        entries += 1;
        found.push(id_of(row, 0, "an index")?);
    }
    Ok(true)
}
