//! How many users meet the conditions: from the kept counters where they tell it, else by
//! counting along the plan's driver, up to a bound.

use roster_core::{
    Head, Status,
    limits::TOTAL_EXACT_MAX,
    list::{Equals, PageQuery, Total},
    page::Walk,
    plan::{Driver, Plan},
};

use super::{
    parameters::Parameters,
    sql::Shape,
    walked::{Snapshot, fill},
};
use crate::{
    columns::{column, corrupt},
    pool::QueryResult,
};

/// Most rows that are looked at for a total; beyond, it is what was found so far, or more.
const COUNT_EXAMINED_MAX: u64 = 100_000;

/// Whether the kept counters tell the total.
pub(super) fn is_kept(query: &PageQuery) -> bool {
    let status_alone = Equals { status: query.equals.status, ..Equals::default() };
    query.filter.is_none() && query.words.is_empty() && query.equals == status_alone
}

/// The total as the kept counters tell it, if they do.
pub(super) fn kept(query: &PageQuery, head: Head) -> Option<Total> {
    let count = match query.equals.status {
        None => head.live(),
        Some(Status::Active) => head.active,
        Some(Status::Suspended) => head.suspended,
    };
    is_kept(query).then_some(Total::Exactly(count.unsigned_abs()))
}

/// Counts the users that meet the query's conditions.
pub(super) async fn count(snapshot: &Snapshot<'_>, query: &PageQuery) -> QueryResult<Total> {
    if let Some(total) = kept(query, snapshot.head) {
        return Ok(total);
    }
    if query.filter.is_some() || !query.words.is_empty() {
        return tested(snapshot, query).await;
    }
    let driver = Plan::of(query).driver;
    let shape = Shape { driver: &driver, sort: query.sort, equals: &query.equals };
    let most = if shape.driver.residuals(shape.equals).next().is_some() {
        COUNT_EXAMINED_MAX
    } else {
        TOTAL_EXACT_MAX
    };
    let limit = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
    let mut parameters = match (&query.equals.ids, &driver) {
        (Some(ids), Driver::Ids) => Parameters::of_ids(ids),
        _ => Parameters::new(limit, None),
    };
    let sql = counted(&shape.matches(&mut parameters));
    let rows = snapshot.rows(&sql, &parameters).await?;
    let row = rows.first().ok_or_else(|| corrupt("a count"))?;
    let number = |index| column::<i64>(row, index, "a count").map(i64::unsigned_abs);
    let (examined, matches) = (number(0)?, number(1)?);
    if matches > TOTAL_EXACT_MAX || examined > COUNT_EXAMINED_MAX {
        Ok(Total::AtLeast(matches.min(TOTAL_EXACT_MAX)))
    } else {
        Ok(Total::Exactly(matches))
    }
}

/// The statement that counts rows which show whether they match.
pub(crate) fn counted(matches: &str) -> String {
    format!(
        "SELECT count(*), count(*) FILTER (WHERE rows.matched) FROM ({matches}) AS rows (matched)"
    )
}

/// Counts by walking as a page is walked, since records have to be looked into.
async fn tested(snapshot: &Snapshot<'_>, query: &PageQuery) -> QueryResult<Total> {
    let enough = usize::try_from(TOTAL_EXACT_MAX).unwrap_or(usize::MAX).saturating_add(1);
    let examined_max = usize::try_from(COUNT_EXAMINED_MAX).unwrap_or(usize::MAX);
    let query = PageQuery {
        after: None,
        limit: enough,
        bytes_max: usize::MAX,
        examined_max,
        ..query.clone()
    };
    let mut walk = Walk::counting(&query);
    Box::pin(fill(snapshot, &query, &mut walk)).await?;
    let matched = u64::try_from(walk.matched()).unwrap_or(u64::MAX);
    if walk.is_complete() && walk.matched() < enough {
        Ok(Total::Exactly(matched))
    } else {
        Ok(Total::AtLeast(matched.min(TOTAL_EXACT_MAX)))
    }
}
