//! Ids that indexes find before any row is read: by keys, in a range, or by words.

use std::collections::BTreeSet;

use roster_core::{
    StoreError, UserId,
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
    failure::store_error,
};

/// Most entries of a word that are gathered; a more common word is tested on the rows.
pub(crate) const WORD_ENTRIES_MAX: usize = 20_000;

/// The ids that the driver finds; `None` where they are too many to be put in order, or the driver
/// finds no ids.
pub(super) fn ids(
    connection: &Connection,
    driver: &Driver,
    query: &PageQuery,
) -> Result<Option<Vec<UserId>>, StoreError> {
    match driver {
        Driver::Lookups(lookups) => by_keys(connection, lookups),
        Driver::Range(range) => in_range(connection, range),
        Driver::Words => by_words(connection, &query.words),
        Driver::Ids
        | Driver::Username
        | Driver::Email
        | Driver::ExternalId
        | Driver::PhoneNumber
        | Driver::Status
        | Driver::Sort => Ok(None),
    }
}

fn by_keys(connection: &Connection, lookups: &[Lookup]) -> Result<Option<Vec<UserId>>, StoreError> {
    let mut found = BTreeSet::new();
    for one in lookups {
        let mut take = |sql: &str, key: &dyn ToSql| {
            gather(connection, sql, &[key], SORTED_ROWS_MAX, &mut found)
        };
        let few = match one {
            // Whether there is such a row shows when it is read.
            Lookup::Id(id) => {
                found.insert(*id);
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
    Ok(Some(found.into_iter().collect()))
}

fn in_range(connection: &Connection, range: &Range) -> Result<Option<Vec<UserId>>, StoreError> {
    let bounds = Bounds::of(range);
    let mut statement =
        connection.prepare_cached(&range::ids(range.by, &bounds)).map_err(store_error)?;
    bounds.bind(&mut statement)?;
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(store_error)? {
        if found.len() == SORTED_ROWS_MAX {
            return Ok(None);
        }
        found.push(id_of(row.get_ref(0).map_err(store_error)?, "users.id")?);
    }
    Ok(Some(found))
}

/// The users that hold each of the rarer words; `None` where every word is common.
fn by_words(connection: &Connection, words: &[String]) -> Result<Option<Vec<UserId>>, StoreError> {
    let mut all: Option<BTreeSet<UserId>> = None;
    for word in words {
        let mut found = BTreeSet::new();
        let last = format!("{word}\u{10FFFF}");
        let bounds: [&dyn ToSql; 2] = [word, &last];
        if gather(connection, WORDS, &bounds, WORD_ENTRIES_MAX, &mut found)? {
            all = Some(match all {
                Some(before) => before.intersection(&found).copied().collect(),
                None => found,
            });
        }
    }
    Ok(all.map(|all| all.into_iter().collect()))
}

/// Adds the ids that a statement gives; false when they were more than `most`.
fn gather(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn ToSql],
    most: usize,
    found: &mut BTreeSet<UserId>,
) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
    let mut rows = statement.query(parameters).map_err(store_error)?;
    let mut entries = 0;
    while let Some(row) = rows.next().map_err(store_error)? {
        if entries == most {
            return Ok(false);
        }
        entries += 1;
        found.insert(id_of(row.get_ref(0).map_err(store_error)?, "an index")?);
    }
    Ok(true)
}
