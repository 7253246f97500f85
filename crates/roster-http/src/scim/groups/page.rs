//! Pages of groups, by `startIndex` or by cursor.
//!
//! A page begins where the previous one ended, so no group is missed if others are deleted in
//! between. A filter without an index is tested on every group, up to a limit. A page ends early
//! once its groups have many members in the response.

use roster_core::{
    Actor, Stored,
    access::{Permit, ReadUsers},
    group::GroupQuery,
    limits::{COMPARISONS_MAX, PAGE_SIZE_MAX},
    list::{Direction, PageKey, Sort, SortBy, SortKey, Total},
};
use roster_scim::{
    ListRequest, Projection, ScimError, ScimType, filter::filter_groups, list::COUNT_DEFAULT,
};

use tokio::task::yield_now;

use super::shown::{Shown, group_of, shown};
use crate::{
    cursor::{List, ListCursors},
    limits::{
        admission::{Class, SHORT_PAGE_MAX},
        scim::{PAGE_MEMBERS_MAX, PAGE_READS_MAX, SKIP_MAX},
    },
    problem::Problem,
    scim::{
        ScimProblem, cursor,
        resources::Reader,
        users::lower_bound,
        walk::{Page as WalkPage, Walk},
    },
    state::AppState,
};

/// A page.
pub(super) struct Found {
    pub(super) items: Vec<Shown>,
    pub(super) total: Option<u64>,
    pub(super) start_index: Option<u64>,
    pub(super) next_cursor: Option<String>,
}

/// A query for groups.
pub(super) struct Asking<'a> {
    app: &'a AppState,
    may: Permit<ReadUsers>,
    actor: &'a Actor,
    projection: &'a Projection,
    query: GroupQuery,
    /// The filter as it was sent.
    text: &'a str,
}

/// Groups in their order, before their members are read.
struct Run {
    items: Vec<Stored>,
    /// Where the next page begins; `None` if no group follows.
    next: Option<PageKey>,
}

impl<'a> Asking<'a> {
    pub(super) fn read(
        app: &'a AppState,
        reader: Reader<'a>,
        request: &'a ListRequest,
    ) -> Result<Self, ScimProblem> {
        let Reader { permit: may, actor, strictness } = reader;
        let text = request.filter.as_deref().unwrap_or_default();
        let limit = request.count.unwrap_or(COUNT_DEFAULT);
        let mut query = GroupQuery { sort: request.sort, ..GroupQuery::first(limit) };
        if let Some(text) = &request.filter {
            let users = request.all_types.then(|| app.directory.schema());
            query = filter_groups(query, text, strictness, users.as_deref())?;
        }
        Ok(Self { app, may, actor, projection: &request.projection, query, text })
    }

    /// The page that begins at an index.
    pub(super) async fn by_index(mut self, start: u64) -> Result<Found, ScimProblem> {
        let _admitted = self.app.admission.admit(self.class()).await?;
        let cursors = self.cursors(List::ScimGroupsByIndex);
        let kept = Walk::new(self.app, self.may, cursors, self.query.sort.direction);
        let known = if start == 1 { None } else { kept.before(start).await? };
        let (from, after) = known.map_or((1, None), |(index, place)| (index, Some(place)));
        self.query.after = after;
        let run = self.run(start - from, start).await?;
        if run.items.is_empty() && run.next.is_some() && self.query.limit > 0 {
            return Err(too_many_examined());
        }
        let count = run.items.len();
        let items = self.shown(run.items).await?;
        let mut ended = run.next.is_none() && items.len() == count;

        let shown = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let reached = start.saturating_add(shown);
        let holds_all = start == 1 && ended && self.query.limit > 0;
        let counted = if holds_all { Total::Exactly(shown) } else { self.total().await? };
        if matches!(counted, Total::Exactly(total) if shown > 0 && total < reached)
            && items.len() == count
            && let Some(after) = run.next
        {
            // The store may have stopped looking for another group before the end.
            ended = self.ends_at(after).await?;
        }
        let mut total = lower_bound(counted);
        if shown > 0 {
            // The groups of later pages count by the index at which these pages will show them.
            total = total.max(if ended { reached - 1 } else { reached });
        }
        // A client that has all groups requests no other page.
        if let Some(last) = items.last().filter(|_| !holds_all) {
            let page = WalkPage { start, reached, is_last: ended };
            kept.note_page(page, self.key_of(&last.stored)?).await?;
        }
        Ok(Found { items, total: Some(total), start_index: Some(start), next_cursor: None })
    }

    /// The page at a cursor; an empty cursor begins the list.
    pub(super) async fn by_cursor(
        mut self,
        cursor: &str,
        count: Option<usize>,
    ) -> Result<Found, ScimProblem> {
        let cursors = self.cursors(List::ScimGroups);
        if !cursor.is_empty() {
            let (after, limit) = cursor::open(self.app, &cursors, cursor, count)?;
            (self.query.after, self.query.limit) = (Some(after), limit);
        }
        let _admitted = self.app.admission.admit(self.class()).await?;
        let run = self.run(0, 1).await?;
        let count = run.items.len();
        let items = self.shown(run.items).await?;
        // Groups may be left out because those before them have many members.
        let next = match items.last().filter(|_| items.len() < count) {
            Some(last) => Some(self.key_of(&last.stored)?),
            None => run.next,
        };
        let seal = |after| cursor::seal(self.app, &cursors, &after, self.query.limit);
        let next_cursor = next.map(seal).transpose()?;
        // RFC 9865 section 2: `totalResults` may be omitted. It is that of the whole list.
        self.query.after = None;
        let is_told = cursor.is_empty() || self.query.is_unconditional();
        let total = if is_told { Some(self.total().await?) } else { None };
        let total = total.and_then(|total| match total {
            Total::Exactly(total) => Some(total),
            Total::AtLeast(_) => None,
        });
        Ok(Found { items, total, start_index: None, next_cursor })
    }

    /// The groups of a page, after skipping this number of groups.
    async fn run(&self, skipped: u64, start: u64) -> Result<Run, ScimProblem> {
        if skipped > SKIP_MAX {
            if let Total::Exactly(total) = self.total().await?
                && start > total
            {
                return Ok(Run { items: Vec::new(), next: None });
            }
            let detail = format!(
                "startIndex: an index that does not follow a page is at most {SKIP_MAX} above the \
                 last one; start at 1, or use a cursor"
            );
            return Err(ScimError::new(ScimType::TooMany, detail).into());
        }
        let mut left = usize::try_from(skipped).unwrap_or(usize::MAX);
        let limit = self.query.limit;
        if self.query.has_tests() {
            // The page ends early once too many groups were examined.
            let query = GroupQuery {
                limit: left.saturating_add(limit),
                bytes_max: usize::MAX,
                comparisons_max: COMPARISONS_MAX,
                ..self.query.clone()
            };
            let mut page = self.app.directory.list_groups(self.may, query).await?;
            let items = page.items.split_off(left.min(page.items.len()));
            return Ok(Run { items, next: page.next });
        }
        let (mut after, mut run) =
            (self.query.after.clone(), Run { items: Vec::new(), next: None });
        while left > 0 || run.items.len() < limit {
            let wanted = if left > 0 { left } else { limit - run.items.len() };
            let query =
                GroupQuery { after, limit: wanted.min(PAGE_SIZE_MAX), ..self.query.clone() };
            let page = self.app.directory.list_groups(self.may, query).await?;
            yield_now().await;
            run.next = page.next;
            if left > 0 {
                left -= page.items.len();
            } else {
                run.items.extend(page.items);
            }
            after = run.next.clone();
            if after.is_none() {
                break;
            }
        }
        Ok(run)
    }

    /// Whether no group follows this position, as far as a number of pages show.
    async fn ends_at(&self, mut after: PageKey) -> Result<bool, ScimProblem> {
        for _ in 0..PAGE_READS_MAX {
            let query = GroupQuery {
                after: Some(after),
                limit: 1,
                comparisons_max: COMPARISONS_MAX,
                ..self.query.clone()
            };
            let page = self.app.directory.list_groups(self.may, query).await?;
            yield_now().await;
            match page.next {
                Some(next) if page.items.is_empty() => after = next,
                _ => return Ok(page.items.is_empty()),
            }
        }
        Ok(false)
    }

    /// The position of a group in the order of the list.
    fn key_of(&self, stored: &Stored) -> Result<PageKey, Problem> {
        let key = if self.query.sort.by == SortBy::Name {
            SortKey::Text(Some(group_of(stored)?.name_key()))
        } else {
            SortKey::Id
        };
        Ok(PageKey { key, id: stored.id })
    }

    /// The groups, with their members if the response contains them, until there are too many.
    async fn shown(&self, groups: Vec<Stored>) -> Result<Vec<Shown>, ScimProblem> {
        let shows = roster_scim::group::shows_members(self.projection);
        let (mut items, mut members) = (Vec::with_capacity(groups.len()), 0);
        for stored in groups {
            if !shows {
                items.push(Shown { stored, members: Vec::new() });
                continue;
            }
            if members >= PAGE_MEMBERS_MAX {
                break;
            }
            // The record stays that of the page, which the filter and the order are about. If the
            // group was changed since, its version is the former one. If it was deleted, it has no
            // members.
            let now = shown(self.app, self.may, stored.id, self.projection).await?;
            let of_group = now.map(|now| now.members).unwrap_or_default();
            members += of_group.len();
            items.push(Shown { stored, members: of_group });
            // The store may have had the members at once.
            yield_now().await;
        }
        Ok(items)
    }

    /// The number of groups: exact, or a lower bound.
    async fn total(&self) -> Result<Total, ScimProblem> {
        let query = GroupQuery {
            limit: 0,
            count: true,
            after: None,
            comparisons_max: COMPARISONS_MAX,
            ..self.query.clone()
        };
        let total = self.app.directory.list_groups(self.may, query).await?.total;
        Ok(total.unwrap_or(Total::AtLeast(0)))
    }

    const fn class(&self) -> Class {
        if self.query.has_tests() || self.query.limit > SHORT_PAGE_MAX {
            Class::LongLists
        } else {
            Class::Lists
        }
    }

    /// The cursors for this caller, filter and order.
    fn cursors(&self, list: List) -> ListCursors<'a> {
        let cursors = self.app.cursors_of(list, self.actor).with("filter", Some(self.text));
        let Sort { by, direction } = self.query.sort;
        // The order by id is the default.
        let sort = (by != SortBy::Id || direction == Direction::Descending)
            .then(|| format!("{by:?} {direction:?}"));
        cursors.with("sort", sort)
    }
}

/// The error of a filter that must be tested on too many groups.
fn too_many_examined() -> ScimProblem {
    let detail = "filter: too many groups must be examined; add a condition on id, displayName, \
                  externalId or members";
    ScimError::new(ScimType::TooMany, detail).into()
}
