//! The users of a page, found by its index or by a cursor.
//!
//! By index: the page goes on where the page before it ended, as the same caller was shown it, so
//! that nobody is lost when users leave meanwhile; an index that nobody walked to is reached by
//! passing over those before it, up to a bound. By cursor: a sealed place, good for one question,
//! one caller, one count and a day.

use roster_core::{
    StoreError,
    access::{Permit, ReadUsers},
    limits::PAGE_SIZE_MAX,
    list::{PageKey, PageQuery, SortBy, SortKey, Total},
    plan::Plan,
    user::Stored,
};
use roster_scim::{ScimError, ScimType};

use crate::{
    admission::{AdmissionGuard, Class, SHORT_PAGE_MAX},
    cursor::List,
    scim::{
        ScimProblem, cursor,
        limits::{PAGE_BYTES_MAX, SKIP_MAX},
        resources::Reader,
        walk::Walk,
    },
    state::AppState,
};

/// A page.
pub(super) struct Found {
    pub(super) items: Vec<Stored>,
    pub(super) total: Option<u64>,
    pub(super) start_index: Option<u64>,
    pub(super) next_cursor: Option<String>,
    /// How many there are as a walk by index counts them, where it has come to its end.
    pub(super) end: Option<u64>,
}

/// The page that begins at an index. `keeps_end`: its end counts even where it holds all there is.
pub(super) async fn by_index(
    app: &AppState,
    reader: Reader<'_>,
    query: PageQuery,
    start: u64,
    keeps_end: bool,
) -> Result<Found, ScimProblem> {
    let Reader { permit: may, actor, .. } = reader;
    let (_admitted, _scan) = admit(app, &query).await?;
    let cursors = app.cursors.of(List::ScimUsersByIndex, actor).with_query(&query);
    let kept = Walk::new(app, may, cursors, query.sort.direction);
    let known = if start == 1 { None } else { kept.before(start).await? };
    let (from, after) = known.map_or((1, None), |(index, place)| (index, Some(place)));
    let mut walk = Steps { app, may, query, after, ended: false, counted: None };
    let passed = walk.pass_over(start - from, start).await?;
    let items = walk.take().await?;

    let shown = u64::try_from(items.len()).unwrap_or(u64::MAX);
    let reached = start.saturating_add(shown);
    let holds_all = start == 1 && walk.ended && walk.query.limit > 0;
    let mut total = if holds_all { shown } else { lower_bound(walk.total().await?) };
    if shown > 0 {
        // A walk goes on while an index is not beyond the total. The total may be a lower bound.
        // Where users left during the walk, those who are still to come count by the index that
        // the walk will show them at: nobody may stop before the last of them.
        total = total.max(if walk.ended { reached - 1 } else { reached });
    }
    let place = walk.after.clone().or_else(|| last(&walk.query, &items));
    // Whoever was shown all there is goes no further.
    if let Some(place) = place.filter(|_| shown > 0 && (keeps_end || !holds_all)) {
        kept.note(reached, place).await?;
    }
    let end = if shown > 0 { reached - 1 } else { from - 1 + passed };
    let end = Some(end).filter(|_| walk.ended);
    Ok(Found { items, total: Some(total), start_index: Some(start), next_cursor: None, end })
}

/// Steps over pages of the store.
struct Steps<'a> {
    app: &'a AppState,
    may: Permit<ReadUsers>,
    query: PageQuery,
    /// Where it goes on; `None` at the start, and at the end.
    after: Option<PageKey>,
    ended: bool,
    /// How many there are in all, where a page could tell by the way.
    counted: Option<Total>,
}

impl Steps<'_> {
    async fn next(&mut self, limit: usize) -> Result<Vec<Stored>, StoreError> {
        let count = self.query.is_unconditional();
        let query = PageQuery { after: self.after.take(), limit, count, ..self.query.clone() };
        let page = self.app.directory.list(self.may, query).await?;
        self.counted = page.total;
        self.ended = page.next.is_none();
        self.after = page.next;
        Ok(page.items)
    }

    /// Passes over so many, or all that there are; tells how many.
    async fn pass_over(&mut self, count: u64, start: u64) -> Result<u64, ScimProblem> {
        if count > SKIP_MAX {
            if let Total::Exactly(total) = self.total().await?
                && start > total
            {
                self.ended = true;
                return Ok((total + 1).saturating_sub(start - count));
            }
            let detail = format!(
                "startIndex: an index that no page before led to is at most {SKIP_MAX} further \
                 on; walk from the start, or by cursor"
            );
            return Err(ScimError::new(ScimType::TooMany, detail).into());
        }
        let mut left = usize::try_from(count).unwrap_or(usize::MAX);
        while left > 0 && !self.ended {
            left -= self.next(left.min(PAGE_SIZE_MAX)).await?.len();
        }
        Ok(count - u64::try_from(left).unwrap_or(0))
    }

    async fn take(&mut self) -> Result<Vec<Stored>, ScimProblem> {
        let limit = self.query.limit;
        let (mut items, mut bytes) = (Vec::new(), 0);
        while items.len() < limit && !self.ended && bytes < PAGE_BYTES_MAX {
            let more = self.next(limit - items.len()).await?;
            bytes += more.iter().map(|item: &Stored| item.record.len()).sum::<usize>();
            items.extend(more);
        }
        Ok(items)
    }

    /// How many there are: exactly, or at least.
    async fn total(&self) -> Result<Total, ScimProblem> {
        if let Some(total) = self.counted {
            return Ok(total);
        }
        let query = PageQuery { limit: 0, count: true, after: None, ..self.query.clone() };
        let page = self.app.directory.list(self.may, query).await?;
        Ok(page.total.unwrap_or(Total::AtLeast(0)))
    }
}

/// The count, or the number that there are at least.
pub(in crate::scim) const fn lower_bound(total: Total) -> u64 {
    match total {
        Total::Exactly(total) | Total::AtLeast(total) => total,
    }
}

/// Where a walk that has come to its end would go on.
fn last(query: &PageQuery, items: &[Stored]) -> Option<PageKey> {
    let by_id = query.sort.by == SortBy::Id;
    let last = items.last().filter(|_| by_id)?;
    Some(PageKey { key: SortKey::Id, id: last.id })
}

/// The page that a cursor leads to; an empty one begins.
pub(super) async fn by_cursor(
    app: &AppState,
    reader: Reader<'_>,
    mut query: PageQuery,
    cursor: &str,
    count: Option<usize>,
) -> Result<Found, ScimProblem> {
    let cursors = app.cursors.of(List::ScimUsers, reader.actor).with_query(&query);
    let begins = cursor.is_empty();
    if !begins {
        let (after, limit) = cursor::open(app, &cursors, cursor, count)?;
        (query.after, query.limit) = (Some(after), limit);
    }
    let (_admitted, _scan) = admit(app, &query).await?;
    query.count = query.is_unconditional() || begins;
    let page = app.directory.list(reader.permit, query.clone()).await?;
    let total = match page.total {
        Some(Total::Exactly(total)) => Some(total),
        // RFC 9865 section 2: it may be left out.
        Some(Total::AtLeast(_)) | None => None,
    };
    let next = page.next.filter(|_| query.limit > 0);
    let next_cursor = match &next {
        Some(after) => Some(cursor::seal(app, &cursors, after, query.limit)?),
        None => None,
    };
    Ok(Found { items: page.items, total, start_index: None, next_cursor, end: None })
}

/// Admits a page to the lists, and to the long lists if it is long or needs a scan.
async fn admit<'f>(
    app: &'f AppState,
    query: &PageQuery,
) -> Result<(AdmissionGuard<'f>, Option<AdmissionGuard<'f>>), ScimProblem> {
    let many = query.limit > SHORT_PAGE_MAX;
    let admitted = app.admission.admit(if many { Class::LongLists } else { Class::Lists }).await?;
    let is_scan = !many && !Plan::of(query).is_bounded(query);
    let scan = if is_scan { Some(app.admission.admit_scan().await?) } else { None };
    Ok((admitted, scan))
}
