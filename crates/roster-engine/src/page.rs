//! The pages of a list of users, for every engine.
//!
//! [`Plan`] chooses the index. Here are the steps that follow from it: ids that indexes find, their
//! places in the order of the page, rows of ids, rows along an index. An engine runs a step as a
//! statement, all steps of a page in one snapshot.

use std::cmp::Ordering;

use roster_core::{
    Head, Status, StoreError, UserId,
    filter::Filter,
    limits::TOTAL_EXACT_MAX,
    list::{Direction, Page, PageQuery, SortBy, Total},
    page::{
        Walk,
        order::{Place, compare},
    },
    plan::{Lookup, Plan, Range, SORTED_ROWS_MAX, Source},
};

/// The maximum number of index entries that are read on the thread of the request: less work than a
/// page of the default size.
pub const FEW: usize = 32;

/// The numbers of entries of each word that are read, one after the other. As soon as one word has
/// no more, the other words are tested on its rows. If each word has more, all rows are tested.
const WORD_ENTRIES: [usize; 3] = [FEW, 1000, 20_000];

/// The maximum number of rows that are examined for a total.
const COUNT_EXAMINED_MAX: usize = 100_000;

/// A step that finds ids in an index, in any order.
#[derive(Clone, Copy, Debug)]
pub enum IdStep<'q> {
    /// The users of a key, other than an id.
    Key(&'q Lookup),
    /// The users that have an e-mail address of this key besides their primary one.
    FurtherEmail(&'q str),
    /// The users that have a telephone number of this key besides their primary one.
    FurtherPhoneNumber(&'q str),
    /// The users that have a word between these, once for each such word.
    Words(&'q str, &'q str),
    /// The users of a range.
    Range(&'q Range),
}

/// Reads the steps of a page in one snapshot.
pub trait PageReader {
    /// Why a step fails.
    type Error: From<StoreError>;

    /// At most so many ids and one more.
    fn ids(
        &mut self,
        step: IdStep<'_>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<UserId>, Self::Error>>;

    /// The places of these users in an order. Users that do not exist are left out.
    fn places(
        &mut self,
        ids: &[UserId],
        by: SortBy,
    ) -> impl Future<Output = Result<Vec<Place>, Self::Error>>;

    /// Shows the rows of these users to the walk, in this order.
    fn rows(
        &mut self,
        ids: &[UserId],
        query: &PageQuery,
        status: Option<Status>,
        walk: &mut Walk<'_>,
    ) -> impl Future<Output = Result<(), Self::Error>>;

    /// Shows the rows of a range to the walk, in the order of the page and from where it begins.
    fn rows_along(
        &mut self,
        range: &Range,
        query: &PageQuery,
        status: Option<Status>,
        walk: &mut Walk<'_>,
    ) -> impl Future<Output = Result<(), Self::Error>>;

    /// How many rows a range has, up to `most` and one more.
    fn count(&mut self, range: &Range, most: u64)
    -> impl Future<Output = Result<u64, Self::Error>>;
}

/// Reads a page. The head is that of the snapshot.
pub async fn read_page<R: PageReader>(
    reader: &mut R,
    head: Head,
    query: &PageQuery,
    plan: Plan,
) -> Result<Page, R::Error> {
    let total = if query.count { Some(total(reader, head, query, &plan).await?) } else { None };
    if query.limit == 0 {
        return Ok(Walk::new(query, None).page(head.position, total));
    }
    Ok(walk(reader, head, query, plan, Walk::new).await?.page(head.position, total))
}

/// Reads a page of users that indexes find, if they are few; `None` if they are not.
pub async fn read_few<R: PageReader>(
    reader: &mut R,
    head: Head,
    query: &PageQuery,
    plan: Plan,
) -> Result<Option<Page>, R::Error> {
    if query.count || query.limit == 0 {
        return Ok(None);
    }
    let found = match &plan.source {
        Source::Along(range) => {
            let ids = reader.ids(IdStep::Range(range), FEW).await?;
            (ids.len() <= FEW).then_some(Found { ids, by_all_words: false })
        }
        Source::Keys(_) | Source::Range(_) | Source::Words => {
            find(reader, head, query, &plan, FEW).await?
        }
    };
    let Some(found) = found else { return Ok(None) };
    let mut walk = Walk::new(query, plan.residual);
    show(reader, query, plan.status, found, &mut walk).await?;
    Ok(Some(walk.page(head.position, None)))
}

/// Walks the rows of a plan.
async fn walk<'q, R: PageReader>(
    reader: &mut R,
    head: Head,
    query: &'q PageQuery,
    plan: Plan,
    begin: fn(&'q PageQuery, Option<Filter>) -> Walk<'q>,
) -> Result<Walk<'q>, R::Error> {
    if let Some(found) = find(reader, head, query, &plan, usize::MAX).await? {
        let mut walk = begin(query, plan.residual);
        show(reader, query, plan.status, found, &mut walk).await?;
        return Ok(walk);
    }
    let is_along = matches!(plan.source, Source::Along(_));
    let Plan { source, status, residual } = if is_along { plan } else { Plan::in_order(query) };
    let mut walk = begin(query, residual);
    if let Source::Along(range) = source {
        reader.rows_along(&range, query, status, &mut walk).await?;
    }
    Ok(walk)
}

/// Users that indexes found.
struct Found {
    /// Sorted, none twice.
    ids: Vec<UserId>,
    /// Each of them has all words of the query.
    by_all_words: bool,
}

/// The users that the plan's source finds; `None` if they are too many to be sorted, or if the rows
/// are read along an index.
async fn find<R: PageReader>(
    reader: &mut R,
    head: Head,
    query: &PageQuery,
    plan: &Plan,
    most: usize,
) -> Result<Option<Found>, R::Error> {
    let sorted_max = most.min(SORTED_ROWS_MAX);
    let ids = match &plan.source {
        Source::Along(_) => return Ok(None),
        Source::Words => return by_words(reader, &query.words, most).await,
        Source::Keys(lookups) => by_keys(reader, lookups, sorted_max).await?,
        Source::Range(range) if has_too_many(head, range) => return Ok(None),
        Source::Range(range) => reader.ids(IdStep::Range(range), sorted_max).await?,
    };
    let is_few = ids.len() <= sorted_max;
    Ok(is_few.then(|| Found { ids: distinct(ids), by_all_words: false }))
}

/// Whether the kept counters say that a status has too many users.
fn has_too_many(head: Head, range: &Range) -> bool {
    let count = range.counter().map(|counter| head.count(counter));
    count.is_some_and(|count| usize::try_from(count).unwrap_or(usize::MAX) > SORTED_ROWS_MAX)
}

/// The users that have any of the keys, until there are more than so many.
async fn by_keys<R: PageReader>(
    reader: &mut R,
    lookups: &[Lookup],
    most: usize,
) -> Result<Vec<UserId>, R::Error> {
    let mut found = Vec::new();
    for lookup in lookups {
        let further = match lookup {
            // Whether there is such a row shows when it is read.
            Lookup::Id(id) => {
                found.push(*id);
                continue;
            }
            Lookup::AnyEmail(key) => Some(IdStep::FurtherEmail(key)),
            Lookup::AnyPhoneNumber(key) => Some(IdStep::FurtherPhoneNumber(key)),
            Lookup::Username(_)
            | Lookup::Email(_)
            | Lookup::ExternalId(_)
            | Lookup::PhoneNumber(_) => None,
        };
        for step in [Some(IdStep::Key(lookup)), further].into_iter().flatten() {
            found.extend(reader.ids(step, most).await?);
            if found.len() > most {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// The users that have each of the rarer words; `None` if every word has more than `most` entries.
async fn by_words<R: PageReader>(
    reader: &mut R,
    words: &[String],
    most: usize,
) -> Result<Option<Found>, R::Error> {
    for entries in WORD_ENTRIES.into_iter().take_while(|entries| *entries <= most) {
        let mut all: Option<Vec<UserId>> = None;
        let mut by_all_words = true;
        for word in words {
            let last = format!("{word}\u{10FFFF}");
            let found = reader.ids(IdStep::Words(word, &last), entries).await?;
            if found.len() > entries {
                by_all_words = false;
                continue;
            }
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
            return Ok(Some(Found { ids, by_all_words }));
        }
    }
    Ok(None)
}

fn distinct(mut ids: Vec<UserId>) -> Vec<UserId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Shows the rows of users that were found to the walk, in the order of the page and from where it
/// begins.
async fn show<R: PageReader>(
    reader: &mut R,
    query: &PageQuery,
    status: Option<Status>,
    found: Found,
    walk: &mut Walk<'_>,
) -> Result<(), R::Error> {
    if found.by_all_words {
        walk.has_words();
    }
    let (mut ids, sort) = (found.ids, query.sort);
    if sort.by == SortBy::Id {
        // The id is the key. Whether there is such a row shows when it is read.
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
        let mut places = reader.places(&ids, sort.by).await?;
        if let Some(after) = &query.after {
            let begin = (after.key.clone(), after.id);
            places.retain(|place| compare(place, &begin, sort.direction) == Ordering::Greater);
        }
        places.sort_unstable_by(|one, other| compare(one, other, sort.direction));
        ids = places.into_iter().map(|(_, id)| id).collect();
    }
    reader.rows(&ids, query, status, walk).await
}

/// How many users meet the query: from the kept counters, else counted up to a bound.
async fn total<R: PageReader>(
    reader: &mut R,
    head: Head,
    query: &PageQuery,
    plan: &Plan,
) -> Result<Total, R::Error> {
    if let Some(counter) = plan.counter(query) {
        return Ok(Total::Exactly(head.count(counter)));
    }
    let (count, is_complete) = if let Source::Along(range) = &plan.source
        && plan.is_direct(query)
    {
        (reader.count(range, TOTAL_EXACT_MAX).await?, true)
    } else {
        let enough = usize::try_from(TOTAL_EXACT_MAX).unwrap_or(usize::MAX).saturating_add(1);
        let query = PageQuery {
            after: None,
            limit: enough,
            bytes_max: usize::MAX,
            examined_max: COUNT_EXAMINED_MAX,
            ..query.clone()
        };
        let walk = walk(reader, head, &query, plan.clone(), Walk::counting).await?;
        (u64::try_from(walk.matched()).unwrap_or(u64::MAX), walk.is_complete())
    };
    let is_exact = is_complete && count <= TOTAL_EXACT_MAX;
    Ok(if is_exact { Total::Exactly(count) } else { Total::AtLeast(count.min(TOTAL_EXACT_MAX)) })
}
