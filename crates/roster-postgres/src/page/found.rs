//! Ids that indexes find before any row is read: by keys, in a range, or by words.

use roster_core::{
    UserId,
    list::PageQuery,
    plan::{Driver, Lookup, Range, SORTED_ROWS_MAX},
};

use super::{
    parameters::Parameters,
    range::{self, Bounds},
    sql::{FURTHER, WORDS, lookup},
    walked::Snapshot,
};
use crate::{
    columns::{id_column, uuid},
    pool::QueryResult,
};

/// Most entries of a word that are gathered, one measure after the other: as soon as one word has
/// no more, the others are tested on its rows. A more common word is tested on the rows alone.
const WORD_ENTRIES: [usize; 3] = [32, 1000, 20_000];

/// What indexes found.
pub(super) struct Found {
    /// Sorted, none twice.
    pub(super) ids: Vec<UserId>,
    /// Every one of these users has all words that are searched for.
    pub(super) by_all_words: bool,
}

/// What the driver finds; `None` where there are too many to be put in order, or the driver finds
/// no ids.
pub(super) async fn ids(
    snapshot: &Snapshot<'_>,
    driver: &Driver,
    query: &PageQuery,
) -> QueryResult<Option<Found>> {
    let ids = match driver {
        Driver::Lookups(lookups) => by_keys(snapshot, lookups).await?,
        Driver::Range(range) => in_range(snapshot, range).await?,
        Driver::Words => return by_words(snapshot, &query.words).await,
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

async fn by_keys(snapshot: &Snapshot<'_>, lookups: &[Lookup]) -> QueryResult<Option<Vec<UserId>>> {
    let limit = SORTED_ROWS_MAX.saturating_add(1);
    let mut found = Vec::new();
    for one in lookups {
        let (key, further): (&str, Option<i16>) = match one {
            Lookup::Id(id) => {
                found.extend(snapshot.ids(lookup(one), &[&uuid(*id)], limit).await?);
                continue;
            }
            Lookup::AnyEmail(key) => (key, Some(0)),
            Lookup::AnyPhoneNumber(key) => (key, Some(1)),
            Lookup::Username(key)
            | Lookup::Email(key)
            | Lookup::ExternalId(key)
            | Lookup::PhoneNumber(key) => (key, None),
        };
        let key = key.as_bytes();
        found.extend(snapshot.ids(lookup(one), &[&key], limit).await?);
        if let Some(kind) = further {
            found.extend(snapshot.ids(FURTHER, &[&kind, &key], limit).await?);
        }
        if found.len() > SORTED_ROWS_MAX {
            return Ok(None);
        }
    }
    Ok(Some(settled(found)))
}

async fn in_range(snapshot: &Snapshot<'_>, range: &Range) -> QueryResult<Option<Vec<UserId>>> {
    let mut parameters = Parameters::new(SORTED_ROWS_MAX.saturating_add(1), None);
    let sql = range::ids(range.by, &Bounds::of(range), &mut parameters);
    let rows = snapshot.rows(&sql, &parameters).await?;
    if rows.len() > SORTED_ROWS_MAX {
        return Ok(None);
    }
    Ok(Some(rows.iter().map(|row| id_column(row, 0, "users.id")).collect::<Result<_, _>>()?))
}

/// The users that hold each of the rarer words; `None` where every word is common.
async fn by_words(snapshot: &Snapshot<'_>, words: &[String]) -> QueryResult<Option<Found>> {
    for entries in WORD_ENTRIES {
        let mut all: Option<Vec<UserId>> = None;
        let mut by_all_words = true;
        for word in words {
            let last = format!("{word}\u{10FFFF}");
            let bounds = (word.as_bytes(), last.as_bytes());
            let limit = entries.saturating_add(1);
            let found = snapshot.ids(WORDS, &[&bounds.0, &bounds.1], limit).await?;
            if found.len() > entries {
                by_all_words = false;
                continue;
            }
            let found = settled(found);
            all = Some(match all {
                Some(before) => common(before, &found),
                None => found,
            });
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
