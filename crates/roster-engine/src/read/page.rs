//! The pages of a list of users, for every engine.
//!
//! [`Plan`] chooses the index. This module has the steps that follow from it: ids that indexes
//! find, their sort keys, rows of ids, rows along an index. All steps of a page are statements of
//! one snapshot.

use std::{
    cmp::{Ordering, Reverse},
    collections::HashMap,
};

use roster_core::{
    Head, Status, StoreError, UserId,
    filter::Filter,
    limits::{COUNT_FACTOR, TOTAL_EXACT_MAX},
    list::{Direction, Page, PageQuery, SortBy, Total},
    page::{
        Flow, Walk,
        order::{Place, compare},
    },
    plan::{LIGHT_COMPARISONS_MAX, Lookup, Plan, Range, SORTED_ROWS_MAX, Source},
};

use crate::{
    database::{Cell, Database, Values, corrupt, first, rows},
    indexes::{is_the_same, may_select},
    read::{
        examined::COUNT_EXAMINED_MAX,
        page_rows::{Passing, ROWS_MAX, key_of},
        page_sql::{
            FURTHER, Parameters, WORDS, count_of_range, ids_of_key, ids_of_range, limit,
            places_of_ids, rows_along, rows_of_ids,
        },
    },
    settings::{INDEXES_SETTING, setting},
};

/// The maximum number of index entries that are read on the thread of the request. This is less
/// work than a page of the default size.
pub const FEW: usize = 32;

/// The maximum numbers of entries that are read for each word, tried one after the other. If some
/// words have at most this many entries, the page is built from the users that have all of these
/// words, and the other words are tested on the rows. If each word has more entries than the last
/// number, the words are tested on all rows.
const WORD_ENTRIES: [usize; 2] = [FEW, 1000];

/// The last number for a single word. Of the users with more entries, enough are found along an
/// index.
const WORD_ENTRIES_ALONE: usize = 20_000;

/// The last number for several words, few of which may be together in a user.
const WORD_ENTRIES_MAX: usize = 100_000;

/// The number of words for which up to so many entries are read: the longest ones, which have the
/// fewest.
const LONG_WORDS: usize = 4;

/// Testing words on a row takes as long as reading this many entries.
const ENTRIES_PER_ROW: usize = 100;

/// The number of rows in the first portion of a walk along an index. Each further portion is four
/// times as large, up to the maximum.
const PORTION_MIN: usize = 64;
const PORTION_MAX: usize = 1024;

/// Reads a page. The head is that of the snapshot.
pub async fn read_page<D: Database>(
    db: D,
    head: Head,
    query: &PageQuery,
    plan: Plan,
) -> Result<Page, D::Error> {
    let plan = usable(db, query, plan).await?;
    let total = if query.count { Some(total(db, head, query, &plan).await?) } else { None };
    if query.limit == 0 {
        return Ok(Walk::new(query, None).page(head.position, total));
    }
    Ok(walk(db, head, query, plan, Walk::new).await?.page(head.position, total))
}

/// The plan, or one without the indexes that the schema names if these do not select the right rows
/// in this snapshot. A page in the order of such an index is unavailable then.
async fn usable<D: Database>(db: D, query: &PageQuery, plan: Plan) -> Result<Plan, D::Error> {
    if let SortBy::Indexed(kind) = query.sort.by {
        let stored = setting(db, INDEXES_SETTING).await?;
        let stored = stored.as_ref().and_then(|row| row.bytes(0, "").ok());
        let is_there = stored.map(|stored| is_the_same(&query.schema, kind, stored)).transpose()?;
        if is_there != Some(true) {
            let gone = "the index of the order was dropped at the same time";
            return Err(StoreError::Unavailable(gone.into()).into());
        }
    }
    let kinds = plan.selecting();
    if kinds.is_empty() || may_select(db, &query.schema, &kinds).await? {
        return Ok(plan);
    }
    Ok(Plan::without_schema(query))
}

/// Reads a page if indexes find only few users, whose records need few comparisons. Returns `None`
/// if they find more.
pub async fn read_few<D: Database>(
    db: D,
    head: Head,
    query: &PageQuery,
    plan: Plan,
) -> Result<Option<Page>, D::Error> {
    let plan = usable(db, query, plan).await?;
    let reads_groups = plan.residual.as_ref().is_some_and(Filter::reads_groups);
    if !plan.may_find_few() {
        return Ok(None);
    }
    if query.count || query.limit == 0 || reads_groups {
        return Ok(None);
    }
    let found = match &plan.source {
        Source::Along(range) => {
            let ids = ids_of(db, range, FEW).await?;
            (ids.len() <= FEW).then_some(Found { ids, by_all_words: false })
        }
        Source::Keys(_) | Source::Range(_) | Source::Words => {
            find(db, head, query, &plan, FEW).await?
        }
    };
    let Some(found) = found else { return Ok(None) };
    let mut walk = Walk::new(query, plan.residual);
    walk.compare_at_most(u64::try_from(LIGHT_COMPARISONS_MAX).unwrap_or(u64::MAX));
    show(db, query, plan.status, found, &mut walk).await?;
    Ok((!walk.is_out_of_work()).then(|| walk.page(head.position, None)))
}

async fn walk<'q, D: Database>(
    db: D,
    head: Head,
    query: &'q PageQuery,
    plan: Plan,
    begin: fn(&'q PageQuery, Option<Filter>) -> Walk<'q>,
) -> Result<Walk<'q>, D::Error> {
    if let Some(found) = find(db, head, query, &plan, usize::MAX).await? {
        let mut walk = begin(query, plan.residual);
        show(db, query, plan.status, found, &mut walk).await?;
        return Ok(walk);
    }
    let is_along = matches!(plan.source, Source::Along(_));
    let Plan { source, status, residual } = if is_along { plan } else { Plan::in_order(query) };
    let mut walk = begin(query, residual);
    if let Source::Along(range) = source {
        along(db, &range, query, status, &mut walk).await?;
    }
    Ok(walk)
}

/// Users that indexes found.
struct Found {
    /// The ids, sorted and without duplicates.
    ids: Vec<UserId>,
    /// Whether each of these users has all words of the query.
    by_all_words: bool,
}

/// The users that the plan's source finds. Returns `None` if there are too many to sort, or if the
/// rows are read along an index.
async fn find<D: Database>(
    db: D,
    head: Head,
    query: &PageQuery,
    plan: &Plan,
    most: usize,
) -> Result<Option<Found>, D::Error> {
    let sorted_max = most.min(SORTED_ROWS_MAX);
    let ids = match &plan.source {
        Source::Along(_) => return Ok(None),
        Source::Words => {
            let found = by_words(db, &query.words, most).await?;
            // The ids are sorted, so users in the order of ids need no sorting.
            let is_sorted = query.sort.by == SortBy::Id;
            return Ok(found.filter(|found| is_sorted || found.ids.len() <= sorted_max));
        }
        Source::Keys(lookups) => by_keys(db, lookups, sorted_max).await?,
        Source::Range(range) if has_too_many(head, range) => return Ok(None),
        Source::Range(range) => ids_of(db, range, sorted_max).await?,
    };
    let is_few = ids.len() <= sorted_max;
    Ok(is_few.then(|| Found { ids: distinct(ids), by_all_words: false }))
}

/// Whether the stored counters show that too many users have a status.
fn has_too_many(head: Head, range: &Range) -> bool {
    let count = range.counter().map(|counter| head.count(counter));
    count.is_some_and(|count| usize::try_from(count).unwrap_or(usize::MAX) > SORTED_ROWS_MAX)
}

/// The users that have any of the keys. Stops when there are more than `most` users.
async fn by_keys<D: Database>(
    db: D,
    lookups: &[Lookup],
    most: usize,
) -> Result<Vec<UserId>, D::Error> {
    let mut found = Vec::new();
    for lookup in lookups {
        let (key, further) = match lookup {
            // The row may not exist. This is noticed when it is read.
            Lookup::Id(id) => {
                found.push(*id);
                continue;
            }
            Lookup::Member(group) => (Cell::from(*group), None),
            Lookup::Indexed { kind, key, .. } => {
                let key = key.as_str().into();
                let to = [db.tenant().into(), i64::from(*kind).into(), key, limit(most)];
                found.extend(db.ids(FURTHER, &to).await?);
                continue;
            }
            Lookup::AnyEmail(key) => (key.as_str().into(), Some(0)),
            Lookup::AnyPhoneNumber(key) => (key.as_str().into(), Some(1)),
            Lookup::Username(key)
            | Lookup::Email(key)
            | Lookup::ExternalId(key)
            | Lookup::PhoneNumber(key) => (key.as_str().into(), None),
        };
        let to = [db.tenant().into(), key.clone(), limit(most)];
        found.extend(db.ids(&ids_of_key::<D>(lookup), &to).await?);
        if let Some(kind) = further.filter(|_| found.len() <= most) {
            let to = [db.tenant().into(), Cell::Integer(kind), key, limit(most)];
            found.extend(db.ids(FURTHER, &to).await?);
        }
        if found.len() > most {
            return Ok(found);
        }
    }
    Ok(found)
}

/// The users that have each of the rarer words. Returns `None` if every word has too many entries.
async fn by_words<D: Database>(
    db: D,
    words: &[String],
    most: usize,
) -> Result<Option<Found>, D::Error> {
    let entries_max = if words.len() > 1 { WORD_ENTRIES_MAX } else { WORD_ENTRIES_ALONE };
    let mut longest: Vec<&String> = words.iter().collect();
    longest.sort_by_key(|word| Reverse(word.len()));
    for entries in WORD_ENTRIES.into_iter().chain([entries_max]) {
        if entries > most {
            break;
        }
        if entries == entries_max {
            longest.truncate(LONG_WORDS);
        }
        let mut all: Option<Vec<UserId>> = None;
        let mut tested = words.len();
        for word in &longest {
            let many = |ids: &Vec<UserId>| ids.len().saturating_mul(ENTRIES_PER_ROW) > entries;
            if !all.as_ref().is_none_or(many) {
                break;
            }
            let last = format!("{word}\u{10FFFF}");
            let first = word.as_str().into();
            let keys = [db.tenant().into(), first, last.as_str().into(), limit(entries)];
            let found = db.ids(WORDS, &keys).await?;
            if found.len() > entries {
                continue;
            }
            tested -= 1;
            let found = distinct(found);
            all = Some(match all {
                Some(mut before) => {
                    before.retain(|id| found.binary_search(id).is_ok());
                    before
                }
                None => found,
            });
        }
        if let Some(ids) = all {
            return Ok(Some(Found { ids, by_all_words: tested == 0 }));
        }
    }
    Ok(None)
}

fn distinct(mut ids: Vec<UserId>) -> Vec<UserId> {
    // Not `sort_unstable`: the ids of each word are sorted, and runs are merged fast.
    ids.sort();
    ids.dedup();
    ids
}

/// Passes the rows of the found users to the walk, in the order of the page and from its start.
async fn show<D: Database>(
    db: D,
    query: &PageQuery,
    status: Option<Status>,
    found: Found,
    walk: &mut Walk<'_>,
) -> Result<(), D::Error> {
    if found.by_all_words {
        walk.has_words();
    }
    let (mut ids, sort) = (found.ids, query.sort);
    if sort.by == SortBy::Id {
        // The id is the sort key. The row may not exist, which is noticed when it is read.
        if let Some(after) = &query.after {
            ids.retain(|id| match sort.direction {
                Direction::Ascending => *id > after.id,
                Direction::Descending => *id < after.id,
            });
        }
        if sort.direction == Direction::Descending {
            ids.reverse();
        }
    } else {
        let mut places = places(db, &ids, query).await?;
        if let Some(after) = &query.after {
            let begin = (after.key.clone(), after.id);
            places.retain(|place| compare(place, &begin, sort.direction) == Ordering::Greater);
        }
        places.sort_unstable_by(|one, other| compare(one, other, sort.direction));
        ids = places.into_iter().map(|(_, id)| id).collect();
    }
    rows_of(db, &ids, query, status, walk).await
}

/// The number of users that match the query: from the stored counters, or counted up to a bound.
async fn total<D: Database>(
    db: D,
    head: Head,
    query: &PageQuery,
    plan: &Plan,
) -> Result<Total, D::Error> {
    if let Some(counter) = plan.counter(query) {
        return Ok(Total::Exactly(head.count(counter)));
    }
    let (count, is_complete) = if let Source::Along(range) = &plan.source
        && plan.is_direct(query)
    {
        (count(db, range).await?, true)
    } else {
        let enough = usize::try_from(TOTAL_EXACT_MAX).unwrap_or(usize::MAX).saturating_add(1);
        // The order does not affect the total, and users with words are found in the order of ids.
        let is_search = plan.source == Source::Words;
        let sort = if is_search { PageQuery::first(0).sort } else { query.sort };
        let query = PageQuery {
            sort,
            after: None,
            limit: enough,
            bytes_max: usize::MAX,
            examined_max: COUNT_EXAMINED_MAX,
            comparisons_max: query.comparisons_max.saturating_mul(COUNT_FACTOR),
            ..query.clone()
        };
        let walk = walk(db, head, &query, plan.clone(), Walk::counting).await?;
        (u64::try_from(walk.matched()).unwrap_or(u64::MAX), walk.is_complete())
    };
    let is_exact = is_complete && count <= TOTAL_EXACT_MAX;
    Ok(if is_exact { Total::Exactly(count) } else { Total::AtLeast(count.min(TOTAL_EXACT_MAX)) })
}

/// The ids of a range: at most `most` + 1.
async fn ids_of<D: Database>(db: D, range: &Range, most: usize) -> Result<Vec<UserId>, D::Error> {
    let mut to = Parameters::default();
    let sql = ids_of_range::<D>(db.tenant(), range, most.saturating_add(1), &mut to);
    db.ids(&sql, &to.0).await
}

/// The number of rows in a range, counted up to one more than the largest exact total.
async fn count<D: Database>(db: D, range: &Range) -> Result<u64, D::Error> {
    let mut to = Parameters::default();
    let limit = usize::try_from(TOTAL_EXACT_MAX).unwrap_or(usize::MAX).saturating_add(1);
    let sql = count_of_range::<D>(db.tenant(), range, limit, &mut to);
    let row = first(db, &sql, &to.0).await?.ok_or_else(|| corrupt("a count"))?;
    Ok(row.number(0, "a count")?.unsigned_abs())
}

/// The sort keys and ids of these users. Users that do not exist are left out.
async fn places<D: Database>(
    db: D,
    ids: &[UserId],
    query: &PageQuery,
) -> Result<Vec<Place>, D::Error> {
    let mut to = Parameters::default();
    let sql = places_of_ids::<D>(db.tenant(), ids, query.sort.by, &mut to);
    let place = |row: &Values| Ok((key_of(row, 0, query)?, row.id(1, "users.id")?));
    Ok(rows(db, &sql, &to.0).await?.iter().map(place).collect::<Result<_, StoreError>>()?)
}

/// Passes the rows of these users to the walk, in this order.
async fn rows_of<D: Database>(
    db: D,
    ids: &[UserId],
    query: &PageQuery,
    status: Option<Status>,
    walk: &mut Walk<'_>,
) -> Result<(), D::Error> {
    let mut passing = Passing::new(query);
    for ids in ids.chunks(query.limit.saturating_add(1).clamp(1, ROWS_MAX)) {
        let mut to = Parameters::default();
        let sql = rows_of_ids::<D>(db.tenant(), ids, query.sort.by, status, &mut to);
        let mut by_id = HashMap::with_capacity(ids.len());
        for row in rows(db, &sql, &to.0).await? {
            by_id.insert(row.id(0, "users.id")?, row);
        }
        let rows = ids.iter().filter_map(|id| by_id.remove(id)).collect();
        if passing.pass_all(db, rows, walk).await? == Flow::Stop {
            return Ok(());
        }
    }
    Ok(())
}

/// Passes the rows of a range to the walk, in the order of the page and from its start. The rows
/// are read in growing portions, so that the number of examined rows is bounded.
async fn along<D: Database>(
    db: D,
    range: &Range,
    query: &PageQuery,
    status: Option<Status>,
    walk: &mut Walk<'_>,
) -> Result<(), D::Error> {
    let sort = query.sort;
    let mut after = query.after.clone();
    let most = query.examined_max.max(1).saturating_add(1);
    // The rows of a portion are kept in memory while the groups of their users are read.
    let portion_max = if walk.group_filter().is_some() { ROWS_MAX } else { PORTION_MAX };
    let mut portion = query.limit.saturating_add(2).clamp(PORTION_MIN, portion_max).min(most);
    let mut passing = Passing::new(query);
    loop {
        let mut to = Parameters::default();
        let sql =
            rows_along::<D>(db.tenant(), range, sort, after.as_ref(), status, portion, &mut to);
        (passing.after, passing.count, passing.last) = (after, 0, None);
        let flow = if walk.group_filter().is_some() {
            let rows = rows(db, &sql, &to.0).await?;
            passing.pass_all(db, rows, walk).await?
        } else {
            let mut flow = Flow::Next;
            let pass = |row| {
                flow = passing.pass(walk, row, None)?;
                Ok(flow)
            };
            db.each(&sql, &to.0, pass).await?;
            flow
        };
        if flow == Flow::Stop || passing.count < portion {
            return Ok(());
        }
        after = passing.last_key()?;
        portion = portion.saturating_mul(4).min(portion_max);
    }
}
