//! Pages of users, by `startIndex` or by cursor.
//!
//! A page by index begins where the previous page of the same caller ended, so no user is missed if
//! others are deleted in between. For an index that does not follow a page, the users before it are
//! skipped, up to a limit. A page reads a limited number of pages of the store. A cursor is an
//! encrypted position. It is valid for one query, caller and count, and for one day.

use roster_core::{
    StoreError,
    access::{Permit, ReadUsers},
    limits::PAGE_SIZE_MAX,
    list::{PageKey, PageQuery, SortBy, SortKey, Total},
    plan::Plan,
    user::Stored,
};
use roster_scim::{ScimError, ScimType};
use roster_server::limits::AdmissionGuard;
use tokio::task::yield_now;

use crate::{
    cursor::List,
    limits::{
        admission::{Class, SHORT_PAGE_MAX},
        scim::{PAGE_BYTES_MAX, PAGE_READS_MAX, SKIP_MAX},
    },
    scim::{
        ScimProblem, cursor,
        resources::Reader,
        walk::{Page as WalkPage, Walk},
    },
    state::AppState,
};

/// The places of a request: among the lists, the pages that are read, and the long lists.
struct Places<'f> {
    _list: AdmissionGuard<'f>,
    /// That of a short page without a scan, until it turns out to be large.
    page: Option<AdmissionGuard<'f>>,
    /// That of a short page that needs a scan or turned out to be large.
    long: Option<AdmissionGuard<'f>>,
}

/// A page.
pub(super) struct Found<'f> {
    pub(super) items: Vec<Stored>,
    pub(super) total: Option<u64>,
    pub(super) start_index: Option<u64>,
    pub(super) next_cursor: Option<String>,
    /// The number of users as the pages by index count them, if this is the last page.
    pub(super) end: Option<u64>,
    /// Kept until the response is written: only so many pages of megabytes are in memory at once
    /// before the bytes of responses count.
    _places: Places<'f>,
}

/// The page that begins at an index. With `keeps_end`, its end is stored even if it has all users.
pub(super) async fn by_index<'f>(
    app: &'f AppState,
    reader: Reader<'_>,
    query: PageQuery,
    start: u64,
    keeps_end: bool,
) -> Result<Found<'f>, ScimProblem> {
    let Reader { permit: may, actor, .. } = reader;
    let mut places = admit(app, &query).await?;
    let cursors = app.cursors_of(List::ScimUsersByIndex, actor).with_query(&query);
    let kept = Walk::new(app, may, cursors, query.sort.direction);
    let known = if start == 1 { None } else { kept.before(start).await? };
    let (from, after) = known.map_or((1, None), |(index, place)| (index, Some(place)));
    let reads_left = PAGE_READS_MAX;
    let mut walk = Steps { app, may, query, after, ended: false, counted: None, reads_left };
    let skipped = walk.skip(start - from, start).await?;
    let items = walk.take(&mut places).await?;

    let shown = u64::try_from(items.len()).unwrap_or(u64::MAX);
    let reached = start.saturating_add(shown);
    let holds_all = start == 1 && walk.ended && walk.query.limit > 0;
    let place = walk.after.clone().or_else(|| last(&walk.query, &items));
    let counted = if holds_all { Total::Exactly(shown) } else { walk.total().await? };
    // The store may have stopped looking for another user before the end. An exact total below the
    // next index says that there is none, unless users were deleted in between.
    let is_doubtful = matches!(counted, Total::Exactly(total) if shown > 0 && total < reached);
    let ended = walk.ended || (is_doubtful && walk.ends_here().await?);
    let mut total = lower_bound(counted);
    if shown > 0 {
        // A client requests pages until the index exceeds the total, which may be a lower bound.
        // If users were deleted in between, the users of later pages count by the index at which
        // these pages will show them, so that no client stops before the last one.
        total = total.max(if ended { reached - 1 } else { reached });
    }
    // A client that has all users requests no other page.
    if let Some(place) = place.filter(|_| shown > 0 && (keeps_end || !holds_all)) {
        let page = WalkPage { start, reached, is_last: ended };
        kept.note_page(page, place).await?;
    }
    let end = if shown > 0 { reached - 1 } else { from - 1 + skipped };
    let end = Some(end).filter(|_| ended);
    Ok(Found {
        items,
        total: Some(total),
        start_index: Some(start),
        next_cursor: None,
        end,
        _places: places,
    })
}

/// Steps over pages of the store.
struct Steps<'a> {
    app: &'a AppState,
    may: Permit<ReadUsers>,
    query: PageQuery,
    /// Where the next step begins; `None` at the start and at the end.
    after: Option<PageKey>,
    ended: bool,
    /// The total, if a page contained it.
    counted: Option<Total>,
    /// How many pages of the store may still be read.
    reads_left: usize,
}

impl<'a> Steps<'a> {
    async fn next(&mut self, limit: usize) -> Result<Vec<Stored>, StoreError> {
        let count = self.query.is_unconditional();
        let query = PageQuery { after: self.after.take(), limit, count, ..self.query.clone() };
        let page = self.app.directory.list(self.may, query).await?;
        self.counted = page.total;
        self.ended = page.next.is_none();
        self.after = page.next;
        self.reads_left = self.reads_left.saturating_sub(1);
        // The store may have had the page at once.
        yield_now().await;
        Ok(page.items)
    }

    /// Skips this number of users, or all. Returns how many were skipped.
    async fn skip(&mut self, count: u64, start: u64) -> Result<u64, ScimProblem> {
        if count > SKIP_MAX {
            if let Total::Exactly(total) = self.total().await?
                && start > total
            {
                self.ended = true;
                return Ok((total + 1).saturating_sub(start - count));
            }
            let detail = format!(
                "startIndex: an index that does not follow a page is at most {SKIP_MAX} above the \
                 last one; start at 1, or use a cursor"
            );
            return Err(ScimError::new(ScimType::TooMany, detail).into());
        }
        let mut left = usize::try_from(count).unwrap_or(usize::MAX);
        while left > 0 && !self.ended {
            self.check_reads()?;
            left -= self.next(left.min(PAGE_SIZE_MAX)).await?.len();
        }
        Ok(count - u64::try_from(left).unwrap_or(0))
    }

    /// The users of the page. Beyond what the store returns at once it is a long page, however few
    /// users it has, so that only so many have all their megabytes in memory.
    async fn take(&mut self, places: &mut Places<'a>) -> Result<Vec<Stored>, ScimProblem> {
        let limit = self.query.limit;
        let (mut items, mut bytes) = (Vec::new(), 0);
        while items.len() < limit && !self.ended && bytes < PAGE_BYTES_MAX {
            if self.reads_left == 0 && !items.is_empty() {
                break;
            }
            if !items.is_empty() && places.page.is_some() {
                places.long = Some(self.app.admission.admit_scan().await?);
                places.page = None;
            }
            self.check_reads()?;
            let more = self.next(limit - items.len()).await?;
            bytes += more.iter().map(|item: &Stored| item.record.len()).sum::<usize>();
            items.extend(more);
        }
        Ok(items)
    }

    /// Whether no user follows, as far as the pages that may still be read show.
    async fn ends_here(&mut self) -> Result<bool, StoreError> {
        while !self.ended && self.reads_left > 0 {
            if !self.next(1).await?.is_empty() {
                return Ok(false);
            }
        }
        Ok(self.ended)
    }

    /// Fails if no further page of the store may be read.
    fn check_reads(&self) -> Result<(), ScimProblem> {
        if self.reads_left > 0 {
            return Ok(());
        }
        let detail = "filter: too many users must be examined to reach this startIndex; add a \
                      condition with an index, or use a cursor";
        Err(ScimError::new(ScimType::TooMany, detail).into())
    }

    /// The number of users: exact, or a lower bound.
    async fn total(&self) -> Result<Total, ScimProblem> {
        if let Some(total) = self.counted {
            return Ok(total);
        }
        let query = PageQuery { limit: 0, count: true, after: None, ..self.query.clone() };
        let page = self.app.directory.list(self.may, query).await?;
        Ok(page.total.unwrap_or(Total::AtLeast(0)))
    }
}

/// The total, or its lower bound.
pub(in crate::scim) const fn lower_bound(total: Total) -> u64 {
    match total {
        Total::Exactly(total) | Total::AtLeast(total) => total,
    }
}

/// Where the page after the last one would begin.
fn last(query: &PageQuery, items: &[Stored]) -> Option<PageKey> {
    let by_id = query.sort.by == SortBy::Id;
    let last = items.last().filter(|_| by_id)?;
    Some(PageKey { key: SortKey::Id, id: last.id })
}

/// The page at a cursor; an empty cursor begins the list.
pub(super) async fn by_cursor<'f>(
    app: &'f AppState,
    reader: Reader<'_>,
    mut query: PageQuery,
    cursor: &str,
    count: Option<usize>,
) -> Result<Found<'f>, ScimProblem> {
    let cursors = app.cursors_of(List::ScimUsers, reader.actor).with_query(&query);
    let begins = cursor.is_empty();
    if !begins {
        let (after, limit) = cursor::open(app, &cursors, cursor, count)?;
        (query.after, query.limit) = (Some(after), limit);
    }
    let places = admit(app, &query).await?;
    query.count = query.is_unconditional() || begins;
    let page = app.directory.list(reader.permit, query.clone()).await?;
    let total = match page.total {
        Some(Total::Exactly(total)) => Some(total),
        // RFC 9865 section 2: `totalResults` may be omitted.
        Some(Total::AtLeast(_)) | None => None,
    };
    let next = page.next.filter(|_| query.limit > 0);
    let next_cursor = match &next {
        Some(after) => Some(cursor::seal(app, &cursors, after, query.limit)?),
        None => None,
    };
    let items = page.items;
    Ok(Found { items, total, start_index: None, next_cursor, end: None, _places: places })
}

/// Admits a page as a list, or as a long list if it is long or needs a scan.
async fn admit<'f>(app: &'f AppState, query: &PageQuery) -> Result<Places<'f>, ScimProblem> {
    let many = query.limit > SHORT_PAGE_MAX;
    let class = if many { Class::LongLists } else { Class::Lists };
    let list = app.admission.admit(class).await?;
    let is_scan = !many && !Plan::of(query).is_bounded(query);
    let (page, long) = if is_scan {
        (None, Some(app.admission.admit_scan().await?))
    } else {
        (app.admission.admit_page(class, query.limit).await?, None)
    };
    Ok(Places { _list: list, page, long })
}
