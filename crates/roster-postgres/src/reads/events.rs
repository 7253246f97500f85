//! Reading the change log: events, the head and the oldest position in one statement, so in one
//! snapshot.
//!
//! The events of the default tenant are read along the positions of all tenants: they have no index
//! of their own. Events of other tenants in between count as examined.

use std::sync::Arc;

use roster_core::{EventsPage, EventsQuery, LogId, TenantId};
use roster_engine::{Cell, Values, corrupt, event_of, tenant_of_event};

use crate::{
    connection::Connection,
    erasure::{EVENT_RECORD, EVENT_RECORD_OF_ALL},
    failure::QueryResult,
    reads::rows::Rows,
};

/// The maximum number of events of one statement.
const AT_ONCE_MAX: usize = 1000;

/// An upper bound of the size of `events.changed`, in bytes.
const NAMES_BYTES_MAX: usize = 2048;

const COLUMNS: &str = "position, kind, at, actor, request_id, subject_id, version, changed, record";

/// The events that a page selects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of all tenants.
    All,
    /// Those of the default tenant.
    Default,
    /// Those of another tenant.
    Tenant,
    /// Those of one user or group.
    Subject,
}

impl Scope {
    fn of(tenant: TenantId, query: &EventsQuery) -> Self {
        match query.user_id {
            _ if query.all_tenants => Self::All,
            Some(_) => Self::Subject,
            None if tenant.is_default() => Self::Default,
            None => Self::Tenant,
        }
    }

    /// The condition for these events after `$1`. Those of an index of their own are given as a
    /// range, so that no other index has the order of the page.
    const fn condition(self) -> &'static str {
        match self {
            // Positions have no gaps, so a range of positions bounds the number of examined rows.
            Self::All => {
                "position > $1 AND position <= \
                 greatest($1, (SELECT min(position) - 1 FROM events)) + $4"
            }
            Self::Default => {
                "position > $1 AND tenant = 0 AND position <= \
                 greatest($1, (SELECT min(position) - 1 FROM events)) + $4"
            }
            Self::Tenant => "(tenant, position) > ($4, $1) AND tenant <= $4 AND tenant <> 0",
            Self::Subject => {
                "tenant = $4 AND (subject_id, position) > ($5, $1) AND subject_id <= $5"
            }
        }
    }

    const fn order(self) -> &'static str {
        match self {
            Self::All | Self::Default => "position",
            Self::Tenant => "tenant, position",
            Self::Subject => "subject_id, position",
        }
    }

    /// Whether a page examines a stretch of positions, and not of an index of its own.
    const fn is_along_the_log(self) -> bool {
        matches!(self, Self::All | Self::Default)
    }

    /// The columns of the tenant behind those of an event, and of the row before the events.
    const fn of_tenant(self) -> (&'static str, &'static str) {
        match self {
            Self::All => (
                ", tenant, (SELECT name FROM tenants WHERE tenants.id = counted.tenant)",
                ", NULL::integer, NULL::text",
            ),
            Self::Default | Self::Tenant | Self::Subject => ("", ""),
        }
    }

    /// The parameters of the size of the stretch and of the kind.
    const fn stretch_and_kind(self) -> (&'static str, &'static str) {
        match self {
            Self::All | Self::Default => ("$4", "$5"),
            Self::Tenant => ("$5", "$6"),
            Self::Subject => ("$6", "$7"),
        }
    }
}

/// The statement of a page: a first row with the head in `position`, the oldest position in `at`,
/// the end of the examined stretch in `version` and the log in `record`, then the events.
///
/// `$1` is the position before the page, `$2` the maximum number of rows, `$3` their maximum size
/// in bytes. The others are the tenant unless it is the default one, the user, the size of the
/// stretch if the events are tested, and the kind. The server adds up the sizes of the rows and
/// sends only one row more than the page needs, which limits the memory on both sides. It never
/// counts a row as larger than [`Event::bytes`] does.
///
/// [`Event::bytes`]: roster_core::Event::bytes
pub(crate) fn rows(scope: Scope, of_kind: bool) -> String {
    let (condition, order) = (scope.condition(), scope.order());
    let (stretch, kind) = scope.stretch_and_kind();
    let record = if scope == Scope::All { EVENT_RECORD_OF_ALL } else { EVENT_RECORD };
    let along = |condition: &str, limit: &str| {
        format!(
            "SELECT position, tenant, kind, at, actor, request_id, subject_id, version, changed, \
             {record} AS record FROM events WHERE {condition} ORDER BY {order} LIMIT {limit}"
        )
    };
    let found = match (scope, of_kind) {
        (_, false) => along(condition, "$2"),
        (Scope::All | Scope::Default, true) => {
            along(&format!("{condition} AND kind = {kind}"), "$2")
        }
        (Scope::Tenant | Scope::Subject, true) => format!(
            "SELECT * FROM ({}) AS stretch WHERE kind = {kind} ORDER BY {order} LIMIT $2",
            along(condition, stretch)
        ),
    };
    let end = if !scope.is_along_the_log() && of_kind {
        format!(
            "(SELECT position FROM events WHERE {condition} ORDER BY {order} \
             OFFSET {stretch}::bigint - 1 LIMIT 1)"
        )
    } else {
        "NULL::bigint".to_owned()
    };
    let bytes =
        format!("octet_length(record) + greatest(octet_length(changed) - {NAMES_BYTES_MAX}, 0)");
    let (of_tenant, none) = scope.of_tenant();
    format!(
        "SELECT position, NULL::text, (SELECT min(position) FROM events), NULL::text, NULL::text, \
         NULL::uuid, {end}, NULL::text, encode(log_id, 'hex'){none} FROM log_head WHERE number = 1 \
         UNION ALL (SELECT {COLUMNS}{of_tenant} FROM (SELECT {COLUMNS}, tenant, \
         sum({bytes}) OVER (ORDER BY {order} \
         ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS bytes FROM ({found}) AS found) \
         AS counted WHERE coalesce(bytes, 0) < $3)"
    )
}

pub(crate) async fn fetch(
    connection: &Connection,
    tenant: TenantId,
    query: &EventsQuery,
) -> QueryResult<Vec<Values>> {
    let limit = most(query.limit.min(query.examined_max.max(1)).saturating_add(1));
    let bytes_max = most(query.bytes_max.max(1));
    let stretch = most(query.examined_max.max(1));
    // The statement adds the size of the stretch to this position.
    let after = query.after.min(i64::MAX - stretch);
    let mut parameters: Vec<Cell> = vec![after.into(), limit.into(), bytes_max.into()];
    let scope = Scope::of(tenant, query);
    if !scope.is_along_the_log() {
        parameters.push(tenant.into());
        parameters.extend(query.user_id.map(Cell::from));
    }
    if scope.is_along_the_log() || query.kind.is_some() {
        parameters.push(stretch.into());
    }
    parameters.extend(query.kind.map(|kind| Cell::from(kind.as_str())));
    let sql = rows(scope, query.kind.is_some());
    roster_engine::rows(Rows(connection, tenant), &sql, &parameters).await
}

fn most(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A page of events, in the order of the log.
pub(crate) async fn page(
    connection: Arc<Connection>,
    tenant: TenantId,
    query: &EventsQuery,
) -> QueryResult<EventsPage> {
    let rows = fetch(&connection, tenant, query).await?;
    let (first, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
    let head = first.number(0, "log_head.position")?;
    let oldest = first.number(2, "").unwrap_or(head + 1);
    let log = LogId::parse(first.text(8, "log_head.log_id")?);
    let mut page = EventsPage {
        log: log.ok_or_else(|| corrupt("log_head.log_id"))?,
        events: Vec::with_capacity(rows.len().min(AT_ONCE_MAX)),
        tenants: Vec::new(),
        reached: query.after,
        head,
        oldest,
    };
    let is_along_the_log = Scope::of(tenant, query).is_along_the_log();
    let end = if is_along_the_log {
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
        if query.all_tenants {
            page.tenants.push(tenant_of_event(row)?);
        }
        let (position, event) = event_of(row)?;
        bytes += event.bytes();
        page.events.push((position, event));
        page.reached = position;
    }
    // The stretch after the last row was not examined if the page is full.
    let full = page.events.len() >= query.limit || bytes >= query.bytes_max;
    if !(full && is_along_the_log) {
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
