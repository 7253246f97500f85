//! Reading the change log: events, the head and the oldest position in one statement, so in one
//! snapshot.

use std::sync::Arc;

use roster_core::{EventsPage, EventsQuery};
use roster_engine::{Cell, Values, corrupt, event_of};

use crate::{connect::Connection, erasure::EVENT_RECORD, failure::QueryResult};

/// The maximum number of events of one statement.
const AT_ONCE_MAX: usize = 1000;

/// An upper bound of the size of `events.changed`, in bytes.
const NAMES_BYTES_MAX: usize = 2048;

const COLUMNS: &str = "position, kind, at, actor, request_id, subject_id, version, changed, record";

/// The statement of a page: a first row with the head in `position`, the oldest position in `at`
/// and the end of the examined stretch in `version`, then the events.
///
/// `$1` is the position before the page, `$2` the maximum number of rows, `$3` their maximum size
/// in bytes, `$4` the user or the kind, `$5` the size of the stretch, `$6` the kind of a user's
/// events. The server adds up the sizes of the rows and sends only one row more than the page
/// needs, which limits the memory on both sides. It never counts a row as larger than
/// [`Event::bytes`] does.
pub(crate) fn rows(of_user: bool, of_kind: bool) -> String {
    // Written as a range, so that no other index has the order of the page.
    const OF_USER: &str = "(subject_id, position) > ($4, $1) AND subject_id <= $4";
    let order = if of_user { "subject_id, position" } else { "position" };
    let along = |condition: &str, limit: &str| {
        format!(
            "SELECT position, kind, at, actor, request_id, subject_id, version, changed, \
             {EVENT_RECORD} AS record FROM events WHERE {condition} ORDER BY {order} LIMIT {limit}"
        )
    };
    let found = match (of_user, of_kind) {
        (false, false) => along("position > $1", "$2"),
        // Positions have no gaps, so a range of positions bounds the number of examined rows.
        (false, true) => along(
            "position > $1 AND kind = $4 AND position <= \
             greatest($1, (SELECT min(position) - 1 FROM events)) + $5",
            "$2",
        ),
        (true, false) => along(OF_USER, "$2"),
        (true, true) => format!(
            "SELECT {COLUMNS} FROM ({}) AS stretch WHERE kind = $6 ORDER BY {order} LIMIT $2",
            along(OF_USER, "$5")
        ),
    };
    let end = if of_user && of_kind {
        format!(
            "(SELECT position FROM events WHERE {OF_USER} ORDER BY {order} \
             OFFSET $5::bigint - 1 LIMIT 1)"
        )
    } else {
        "NULL::bigint".to_owned()
    };
    let bytes =
        format!("octet_length(record) + greatest(octet_length(changed) - {NAMES_BYTES_MAX}, 0)");
    format!(
        "SELECT position, NULL::text, (SELECT min(position) FROM events), NULL::text, NULL::text, \
         NULL::uuid, {end}, NULL::text, NULL::text FROM log_head WHERE number = 1 \
         UNION ALL (SELECT {COLUMNS} FROM (SELECT {COLUMNS}, sum({bytes}) OVER (ORDER BY {order} \
         ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS bytes FROM ({found}) AS found) \
         AS counted WHERE coalesce(bytes, 0) < $3)"
    )
}

pub(crate) async fn fetch(
    connection: &Connection,
    query: &EventsQuery,
) -> QueryResult<Vec<Values>> {
    let limit = most(query.limit.min(query.examined_max.max(1)).saturating_add(1));
    let bytes_max = most(query.bytes_max.max(1));
    let stretch = most(query.examined_max.max(1));
    // The statement adds the size of the stretch to this position.
    let after = query.after.min(i64::MAX - stretch);
    let mut parameters: Vec<Cell> = vec![after.into(), limit.into(), bytes_max.into()];
    let kind = query.kind.map(|kind| Cell::from(kind.as_str()));
    match (query.user_id, kind) {
        (None, None) => {}
        (None, Some(kind)) => parameters.extend([kind, stretch.into()]),
        (Some(user), None) => parameters.push(user.into()),
        (Some(user), Some(kind)) => parameters.extend([user.into(), stretch.into(), kind]),
    }
    let sql = rows(query.user_id.is_some(), query.kind.is_some());
    roster_engine::rows(connection, &sql, &parameters).await
}

fn most(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A page of events, in the order of the log.
pub(crate) async fn page(
    connection: Arc<Connection>,
    query: &EventsQuery,
) -> QueryResult<EventsPage> {
    let rows = fetch(&connection, query).await?;
    let (first, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
    let head = first.number(0, "log_head.position")?;
    let oldest = first.number(2, "").unwrap_or(head + 1);
    let mut page = EventsPage {
        events: Vec::with_capacity(rows.len().min(AT_ONCE_MAX)),
        reached: query.after,
        head,
        oldest,
    };
    let end = if query.kind.is_some() && query.user_id.is_none() {
        // The whole stretch was examined, unless the page became full.
        let stretch = most(query.examined_max.max(1));
        head.min(query.after.max(oldest - 1).saturating_add(stretch))
    } else {
        first.number(6, "").unwrap_or(head)
    };
    let (mut bytes, mut examined) = (0, 0);
    for row in rows {
        let full = page.events.len() >= query.limit || bytes >= query.bytes_max;
        if full || examined >= query.examined_max.max(1) {
            return Ok(page);
        }
        examined += 1;
        let (position, event) = event_of(row)?;
        bytes += event.bytes();
        page.events.push((position, event));
        page.reached = position;
    }
    // If only events of one kind are read, more of them may follow the last row.
    let full = page.events.len() >= query.limit || bytes >= query.bytes_max;
    if !(full && query.kind.is_some() && query.user_id.is_none()) {
        page.reached = end;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use roster_core::{Attribute, MembersChanged, event::changed_text};

    use super::NAMES_BYTES_MAX;

    #[test]
    fn the_names_of_all_members_are_shorter_than_what_is_left_uncounted() {
        assert!(changed_text(Attribute::ALL, &MembersChanged::default()).len() < NAMES_BYTES_MAX);
    }
}
