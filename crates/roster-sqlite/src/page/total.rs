//! How many users meet the conditions: from the kept counters where they tell it, else by
//! counting along the plan's driver, up to a bound.

use std::collections::BTreeSet;

use roster_core::{
    Head, Status,
    limits::TOTAL_EXACT_MAX,
    list::{Equals, PageQuery, Total},
    page::Walk,
    plan::{Driver, Plan},
};
use rusqlite::{CachedStatement, Connection};

use super::sql::{AFTER_ID, Shape};
use crate::failure::ReadResult;

/// Most rows that are looked at for a total; beyond, it is what was found so far, or more.
const COUNT_EXAMINED_MAX: u64 = 100_000;

/// Counts the users that meet the query's conditions.
pub(super) fn count(connection: &Connection, head: Head, query: &PageQuery) -> ReadResult<Total> {
    if query.is_unconditional() {
        return Ok(Total::Exactly(head.live().unsigned_abs()));
    }
    let by_columns = query.filter.is_none() && query.words.is_empty();
    if let Some(status) = query.equals.status
        && by_columns
        && query.equals == (Equals { status: Some(status), ..Equals::default() })
    {
        return Ok(Total::Exactly(of_status(head, status)));
    }
    if !by_columns {
        return tested(connection, head, query);
    }
    let driver = Plan::of(query).driver;
    let shape = Shape { driver: &driver, sort: query.sort, equals: &query.equals };
    let mut statement = connection.prepare_cached(&shape.matches())?;
    shape.bind_driver(&mut statement)?;
    shape.bind_residuals(&mut statement)?;
    let mut counted = Counted::default();
    match (&query.equals.ids, &driver) {
        (Some(ids), Driver::Ids) => {
            for id in ids.iter().collect::<BTreeSet<_>>() {
                statement.raw_bind_parameter(AFTER_ID, id.as_bytes())?;
                counted.rows(&mut statement)?;
            }
        }
        _ => counted.rows(&mut statement)?,
    }
    Ok(counted.total())
}

/// Counts by walking as a page is walked, since records have to be looked into.
fn tested(connection: &Connection, head: Head, query: &PageQuery) -> ReadResult<Total> {
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
    super::fill(connection, head, &query, &mut walk)?;
    let matched = u64::try_from(walk.matched()).unwrap_or(u64::MAX);
    if walk.is_complete() && walk.matched() < enough {
        Ok(Total::Exactly(matched))
    } else {
        Ok(Total::AtLeast(matched.min(TOTAL_EXACT_MAX)))
    }
}

/// How many live users have that status.
pub(super) const fn of_status(head: Head, status: Status) -> u64 {
    match status {
        Status::Active => head.active.unsigned_abs(),
        Status::Suspended => head.suspended.unsigned_abs(),
    }
}

#[derive(Default)]
struct Counted {
    matches: u64,
    examined: u64,
}

impl Counted {
    fn rows(&mut self, statement: &mut CachedStatement<'_>) -> ReadResult<()> {
        let mut rows = statement.raw_query();
        while !self.is_enough()
            && let Some(row) = rows.next()?
        {
            self.examined += 1;
            self.matches += u64::from(row.get::<_, bool>(0)?);
        }
        Ok(())
    }

    const fn is_enough(&self) -> bool {
        self.matches > TOTAL_EXACT_MAX || self.examined > COUNT_EXAMINED_MAX
    }

    fn total(&self) -> Total {
        if self.is_enough() {
            Total::AtLeast(self.matches.min(TOTAL_EXACT_MAX))
        } else {
            Total::Exactly(self.matches)
        }
    }
}
