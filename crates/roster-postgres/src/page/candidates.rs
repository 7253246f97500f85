//! Pages whose rows are found first and then put in order: a list of ids, one user name, or a
//! condition that few rows meet, under another order than its index has.

use std::{cmp::Ordering, collections::HashMap};

use roster_core::{
    UserId,
    list::{Direction, PageQuery, SortBy, SortKey},
    page::{
        Flow, Walk,
        order::{Place, compare},
    },
    plan::SORTED_ROWS_MAX,
};

use super::{
    parameters::Parameters,
    row::{key_of, take},
    sql::Shape,
    walked::Snapshot,
};
use crate::{columns::id_column, pool::QueryResult};

/// So many records are fetched at once.
const PORTION: usize = 256;

/// The places of the driver's rows, or of one more than are put in order.
pub(super) async fn driven(snapshot: &Snapshot<'_>, shape: &Shape<'_>) -> QueryResult<Vec<Place>> {
    let mut parameters = Parameters::new(SORTED_ROWS_MAX.saturating_add(1), None);
    let sql = shape.driven(&mut parameters);
    places(snapshot, shape.sort.by, &sql, &parameters).await
}

/// Puts rows that were found by their ids in order, and walks them from where the page begins.
pub(super) async fn fill_ids(
    snapshot: &Snapshot<'_>,
    shape: &Shape<'_>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
    mut ids: Vec<UserId>,
) -> QueryResult<()> {
    if let (SortBy::Id, Some(after)) = (shape.sort.by, &query.after) {
        ids.retain(|id| match shape.sort.direction {
            Direction::Ascending => *id > after.id,
            Direction::Descending => *id < after.id,
        });
    }
    let places = if shape.sort.by == SortBy::Id {
        // The id is the key; whether there is such a row shows when it is read.
        ids.iter().map(|id| (SortKey::Id, *id)).collect()
    } else {
        let mut parameters = Parameters::of_ids(&ids);
        let sql = shape.keys_of_ids(&mut parameters);
        places(snapshot, shape.sort.by, &sql, &parameters).await?
    };
    walk_places(snapshot, shape, query, walk, places).await
}

/// Puts places in order and walks their rows from where the page begins.
pub(super) async fn walk_places(
    snapshot: &Snapshot<'_>,
    shape: &Shape<'_>,
    query: &PageQuery,
    walk: &mut Walk<'_>,
    mut places: Vec<Place>,
) -> QueryResult<()> {
    if let Some(after) = &query.after {
        let begin = (after.key.clone(), after.id);
        places.retain(|place| compare(place, &begin, shape.sort.direction) == Ordering::Greater);
    }
    places.sort_unstable_by(|one, other| compare(one, other, shape.sort.direction));
    places.dedup();
    let portion = query.limit.saturating_add(1).clamp(1, PORTION);
    for places in places.chunks(portion) {
        let ids: Vec<UserId> = places.iter().map(|(_, id)| *id).collect();
        let mut parameters = Parameters::of_ids(&ids);
        let sql = shape.of_ids(&mut parameters);
        let rows = snapshot.rows(&sql, &parameters).await?;
        let mut by_id = HashMap::with_capacity(rows.len());
        for row in &rows {
            by_id.insert(id_column(row, 0, "users.id")?, row);
        }
        for id in ids {
            if let Some(row) = by_id.get(&id)
                && take(walk, row, shape.sort.by)? == Flow::Stop
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn places(
    snapshot: &Snapshot<'_>,
    by: SortBy,
    sql: &str,
    parameters: &Parameters,
) -> QueryResult<Vec<Place>> {
    let rows = snapshot.rows(sql, parameters).await?;
    let mut places = Vec::with_capacity(rows.len());
    for row in &rows {
        places.push((key_of(row, 1, by)?, id_column(row, 0, "users.id")?));
    }
    Ok(places)
}
