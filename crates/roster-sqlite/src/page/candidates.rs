//! Pages whose rows are found first and then put in order: a list of ids, one user name, or a
//! condition that few rows meet, under another order than its index has.

use std::cmp::Ordering;

use roster_core::{
    UserId,
    list::{Direction, PageQuery, SortBy, SortKey},
    page::{
        Flow, Walk,
        order::{Place, compare},
    },
    plan::Driver,
};
use rusqlite::{CachedStatement, Connection};

use super::{
    key_of,
    sql::{AFTER_ID, Shape},
    take,
};
use crate::{columns::id_of, failure::ReadResult};

/// Finds the driver's rows, puts them in order, and walks them from where the page begins.
pub(super) fn fill(
    connection: &Connection,
    shape: &Shape<'_>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
) -> ReadResult<()> {
    let places = match (&shape.equals.ids, shape.driver) {
        (Some(ids), Driver::Ids) => of_ids(connection, shape, ids)?,
        _ => driven(connection, shape)?,
    };
    walk_places(connection, shape, query, walk, places)
}

/// Puts rows that were found by their ids in order, and walks them from where the page begins.
/// The driver of the shape is [`Driver::Ids`].
pub(super) fn fill_ids(
    connection: &Connection,
    shape: &Shape<'_>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
    mut ids: Vec<UserId>,
) -> ReadResult<()> {
    if let (SortBy::Id, Some(after)) = (shape.sort.by, &query.after) {
        ids.retain(|id| match shape.sort.direction {
            Direction::Ascending => *id > after.id,
            Direction::Descending => *id < after.id,
        });
    }
    let places = of_ids(connection, shape, &ids)?;
    walk_places(connection, shape, query, walk, places)
}

fn walk_places(
    connection: &Connection,
    shape: &Shape<'_>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
    mut places: Vec<Place>,
) -> ReadResult<()> {
    if let Some(after) = &query.after {
        let begin = (after.key.clone(), after.id);
        places.retain(|place| compare(place, &begin, shape.sort.direction) == Ordering::Greater);
    }
    places.sort_unstable_by(|one, other| compare(one, other, shape.sort.direction));
    places.dedup();
    let mut statement = connection.prepare_cached(&shape.row())?;
    shape.bind_residuals(&mut statement)?;
    for (_, id) in places {
        if one(&mut statement, id, shape, walk)? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

fn one(
    statement: &mut CachedStatement<'_>,
    id: UserId,
    shape: &Shape<'_>,
    walk: &mut Walk<'_>,
) -> ReadResult<Flow> {
    statement.raw_bind_parameter(AFTER_ID, id.as_bytes())?;
    let mut rows = statement.raw_query();
    match rows.next()? {
        Some(row) => take(walk, row, shape.sort.by),
        None => Ok(Flow::Next),
    }
}

/// The places of those ids that there are.
fn of_ids(connection: &Connection, shape: &Shape<'_>, ids: &[UserId]) -> ReadResult<Vec<Place>> {
    if shape.sort.by == SortBy::Id {
        // The id is the key; whether there is such a row shows when it is read.
        return Ok(ids.iter().map(|id| (SortKey::Id, *id)).collect());
    }
    let mut statement = connection.prepare_cached(&shape.keys())?;
    let mut places = Vec::with_capacity(ids.len());
    for id in ids {
        statement.raw_bind_parameter(AFTER_ID, id.as_bytes())?;
        collect(&mut statement, shape.sort.by, &mut places)?;
    }
    Ok(places)
}

/// The places of the driver's rows.
fn driven(connection: &Connection, shape: &Shape<'_>) -> ReadResult<Vec<Place>> {
    let mut statement = connection.prepare_cached(&shape.keys())?;
    shape.bind_driver(&mut statement)?;
    let mut places = Vec::new();
    collect(&mut statement, shape.sort.by, &mut places)?;
    Ok(places)
}

fn collect(
    statement: &mut CachedStatement<'_>,
    by: SortBy,
    places: &mut Vec<Place>,
) -> ReadResult<()> {
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let id = id_of(row, 0, "users.id")?;
        places.push((key_of(by, row, 1)?, id));
    }
    Ok(())
}
