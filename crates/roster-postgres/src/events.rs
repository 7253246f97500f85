//! Reading the change log: events, the head and the oldest position in one statement, so in one
//! snapshot.

use roster_core::{
    Event, EventKind, EventsPage, EventsQuery, StoreError, Timestamp, event::changed_of,
};
use tokio_postgres::{Row, types::ToSql};

use crate::{
    columns::{column, corrupt, id_column, record_column, uuid},
    connect::Connection,
    pool::{Miss, Question},
};

/// Most events that are asked for at once.
const AT_ONCE_MAX: usize = 1000;

/// The statement of a page: a first row that tells the head in the place of the position and the
/// oldest position in that of the moment, then the events. Positions are dense, so a stretch of
/// the log of one kind is bounded by positions as well as by rows.
pub(crate) fn rows(of_user: bool, of_kind: bool) -> String {
    let condition = match (of_user, of_kind) {
        (false, false) => "position > $1",
        (false, true) => {
            "position > $1 AND kind = $3 AND position <= \
             greatest($1, (SELECT min(position) - 1 FROM events)) + $4"
        }
        // Told as a range, so that no other index is in the order of the page.
        (true, _) => "(user_id, position) > ($3, $1) AND user_id <= $3",
    };
    format!(
        "SELECT position, NULL::text, (SELECT min(position) FROM events), NULL::text, NULL::text, \
         NULL::uuid, 0::bigint, NULL::text, NULL::text FROM log_head WHERE number = 1 \
         UNION ALL (SELECT position, kind, at, actor, request_id, user_id, version, changed, \
         record FROM events WHERE {condition} ORDER BY {}position LIMIT $2)",
        if of_user { "user_id, " } else { "" }
    )
}

impl Question for EventsQuery {
    type Answer = EventsPage;

    async fn ask(&self, connection: &Connection) -> Result<EventsPage, Miss> {
        page(connection, self).await
    }
}

/// Events in the order of the log.
async fn page(connection: &Connection, query: &EventsQuery) -> Result<EventsPage, Miss> {
    let most = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let examined_max = query.examined_max.max(1);
    let (user, kind) = (query.user_id.map(uuid), query.kind.map(EventKind::as_str));
    let by_kind = kind.is_some() && user.is_none();
    let rows_max = if kind.is_some() && user.is_some() { examined_max } else { query.limit };
    let limit = most(rows_max.min(examined_max).saturating_add(1));
    let stretch = most(examined_max);
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&query.after, &limit];
    if let Some(user) = &user {
        parameters.push(user);
    } else if let Some(kind) = &kind {
        parameters.push(kind);
        parameters.push(&stretch);
    }
    let statement = connection.prepare(&rows(user.is_some(), by_kind)).await?;
    let rows = connection.client().query(&statement, &parameters).await?;
    let (first, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
    let head: i64 = column(first, 0, "log_head.position")?;
    let oldest: Option<i64> = column(first, 2, "events.position")?;
    let oldest = oldest.unwrap_or(head + 1);
    let mut page = EventsPage {
        events: Vec::with_capacity(rows.len().min(AT_ONCE_MAX)),
        reached: query.after,
        head,
        oldest,
    };
    let end = if by_kind {
        // The whole stretch was looked at, unless the page is full before.
        head.min(query.after.max(oldest - 1).saturating_add(stretch))
    } else {
        head
    };
    let is_full = fill(&mut page, query, rows)?;
    if !is_full {
        page.reached = end;
    }
    Ok(page)
}

/// Fills a page; tells whether it was full before the rows ended.
fn fill(page: &mut EventsPage, query: &EventsQuery, rows: &[Row]) -> Result<bool, StoreError> {
    let (mut bytes, mut examined) = (0, 0);
    for row in rows {
        let full = page.events.len() >= query.limit || bytes >= query.bytes_max;
        if full || examined >= query.examined_max.max(1) {
            return Ok(true);
        }
        examined += 1;
        let (position, event) = event(row)?;
        if query.kind.is_none_or(|kind| event.kind == kind) {
            bytes += event.bytes();
            page.events.push((position, event));
        }
        page.reached = position;
    }
    // Of one kind, there may be others behind the last row.
    let full = page.events.len() >= query.limit || bytes >= query.bytes_max;
    Ok(full && query.kind.is_some() && query.user_id.is_none())
}

fn event(row: &Row) -> Result<(i64, Event), StoreError> {
    let kind: &str = column(row, 1, "events.kind")?;
    let changed: &str = column(row, 7, "events.changed")?;
    let (changed, members) = changed_of(changed).ok_or_else(|| corrupt("events.changed"))?;
    let event = Event {
        kind: EventKind::parse(kind).ok_or_else(|| corrupt("events.kind"))?,
        at: Timestamp::from_millis(column(row, 2, "events.at")?),
        actor: column(row, 3, "events.actor")?,
        request_id: column(row, 4, "events.request_id")?,
        user_id: id_column(row, 5, "events.user_id")?,
        version: column(row, 6, "events.version")?,
        changed,
        members,
        record: record_column(row, 8, "events.record")?,
    };
    Ok((column(row, 0, "events.position")?, event))
}
