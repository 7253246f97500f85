//! Reading the change log: events, the head and the oldest position in one statement, so in one
//! snapshot.
//!
//! The events of the default tenant are read along the positions of all tenants: they have no index
//! of their own. Events of other tenants in between count as examined.

use std::sync::Arc;

use roster_core::{
    EventKind, EventKinds, EventsPage, EventsQuery, LogId, TenantId, list::Direction,
};
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

    /// The condition for these events after `$1`, and before a position if there is a parameter
    /// for it. Those of an index of their own are given as a range, so that no other index has the
    /// order of the page.
    fn condition(self, Numbers { stretch, before, .. }: &Numbers) -> String {
        // Positions have no gaps, so a range of positions bounds the number of examined rows.
        let along = match before {
            None => format!(
                "position > $1 AND position <= \
                 greatest($1, (SELECT min(position) - 1 FROM events)) + {stretch}"
            ),
            Some(before) => format!(
                "position > $1 AND position < {before} AND position >= \
                 least({before}, (SELECT position + 1 FROM log_head WHERE number = 1)) - {stretch}"
            ),
        };
        let of = |column: &str, key: &str| match before {
            None => format!("({column}, position) > ({key}, $1) AND {column} <= {key}"),
            Some(before) => format!(
                "({column}, position) > ({key}, $1) AND ({column}, position) < ({key}, {before})"
            ),
        };
        match self {
            Self::All => along,
            Self::Default => format!("{along} AND tenant = 0"),
            Self::Tenant => format!("{} AND tenant <> 0", of("tenant", "$4")),
            Self::Subject => format!("tenant = $4 AND {}", of("subject_id", "$5")),
        }
    }

    /// The order of its index, in which the position is last.
    fn order(self, direction: Direction) -> String {
        let columns: &[&str] = match self {
            Self::All | Self::Default => &["position"],
            Self::Tenant => &["tenant", "position"],
            Self::Subject => &["subject_id", "position"],
        };
        let word = match direction {
            Direction::Ascending => "",
            Direction::Descending => " DESC",
        };
        columns.iter().map(|column| format!("{column}{word}")).collect::<Vec<_>>().join(", ")
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
}

/// What determines the statement of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) scope: Scope,
    pub(crate) direction: Direction,
    /// Whether only events of some kinds are wanted.
    pub(crate) of_kinds: bool,
    /// Whether only events of some actors are wanted.
    pub(crate) of_actors: bool,
}

/// The parameters of a statement after the first three, each if the statement has it: the tenant
/// and the user, then these.
struct Numbers {
    /// The maximum number of examined events.
    stretch: String,
    before: Option<String>,
    kinds: Option<String>,
    actors: Option<String>,
}

impl Shape {
    fn of(tenant: TenantId, query: &EventsQuery) -> Self {
        Self {
            scope: Scope::of(tenant, query),
            direction: query.direction,
            of_kinds: query.kinds != EventKinds::ALL,
            of_actors: !query.actors.is_empty(),
        }
    }

    const fn is_filtered(self) -> bool {
        self.of_kinds || self.of_actors
    }

    /// Whether the statement has a parameter for the size of the stretch.
    const fn has_stretch(self) -> bool {
        self.scope.is_along_the_log() || self.is_filtered()
    }

    fn numbers(self) -> Numbers {
        let mut last = match self.scope {
            Scope::All | Scope::Default => 3,
            Scope::Tenant => 4,
            Scope::Subject => 5,
        };
        let mut next = |is_there: bool| {
            last += i32::from(is_there);
            is_there.then(|| format!("${last}"))
        };
        Numbers {
            stretch: next(self.has_stretch()).unwrap_or_default(),
            before: next(self.direction == Direction::Descending),
            kinds: next(self.of_kinds),
            actors: next(self.of_actors),
        }
    }
}

/// What separates the texts of a list in one parameter.
const SEPARATOR: &str = "\u{1f}";

/// The statement of a page: a first row with the head in `position`, the oldest position in `at`,
/// the end of the examined stretch in `version` and the log in `record`, then the events.
///
/// `$1` is the position before the page, `$2` the maximum number of rows, `$3` their maximum size
/// in bytes, the others are those of [`Numbers`]. The server adds up the sizes of the rows and
/// sends only one row more than the page needs, which limits the memory on both sides. It never
/// counts a row as larger than [`Event::bytes`] does.
///
/// [`Event::bytes`]: roster_core::Event::bytes
pub(crate) fn rows(shape: Shape) -> String {
    let Shape { scope, direction, .. } = shape;
    let numbers = shape.numbers();
    let (condition, order) = (scope.condition(&numbers), scope.order(direction));
    let record = if scope == Scope::All { EVENT_RECORD_OF_ALL } else { EVENT_RECORD };
    let along = |condition: &str, limit: &str| {
        format!(
            "SELECT position, tenant, kind, at, actor, request_id, subject_id, version, changed, \
             {record} AS record FROM events WHERE {condition} ORDER BY {order} LIMIT {limit}"
        )
    };
    let is_one_of = |column: &str, list: &Option<String>| {
        let list = list.as_ref()?;
        Some(format!("{column} = ANY(string_to_array({list}, chr(31)))"))
    };
    let tests = [is_one_of("kind", &numbers.kinds), is_one_of("actor", &numbers.actors)];
    let tests: Vec<String> = tests.into_iter().flatten().collect();
    let (is_filtered, tests) = (shape.is_filtered(), tests.join(" AND "));
    let Numbers { stretch, .. } = &numbers;
    let found = if !is_filtered {
        along(&condition, "$2")
    } else if scope.is_along_the_log() {
        along(&format!("{condition} AND {tests}"), "$2")
    } else {
        format!(
            "SELECT * FROM ({}) AS stretch WHERE {tests} ORDER BY {order} LIMIT $2",
            along(&condition, stretch)
        )
    };
    let end = if !scope.is_along_the_log() && is_filtered {
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
    let shape = Shape::of(tenant, query);
    if !shape.scope.is_along_the_log() {
        parameters.push(tenant.into());
        parameters.extend(query.user_id.map(Cell::from));
    }
    if shape.has_stretch() {
        parameters.push(stretch.into());
    }
    if shape.direction == Direction::Descending {
        parameters.push(query.before.into());
    }
    if shape.of_kinds {
        let kinds = EventKind::ALL.iter().filter(|kind| query.kinds.has(**kind));
        let kinds: Vec<&str> = kinds.map(|kind| kind.as_str()).collect();
        parameters.push(kinds.join(SEPARATOR).as_str().into());
    }
    if shape.of_actors {
        parameters.push(query.actors.join(SEPARATOR).as_str().into());
    }
    roster_engine::rows(Rows(connection, tenant), &rows(shape), &parameters).await
}

fn most(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A page of events.
pub(crate) async fn page(
    connection: Arc<Connection>,
    tenant: TenantId,
    query: &EventsQuery,
) -> QueryResult<EventsPage> {
    let rows = fetch(&connection, tenant, query).await?;
    let (first, rows) = rows.split_first().ok_or_else(|| corrupt("log_head"))?;
    let log = LogId::parse(first.text(8, "log_head.log_id")?);
    let log = log.ok_or_else(|| corrupt("log_head.log_id"))?;
    let head = first.number(0, "log_head.position")?;
    let oldest = first.number(2, "").unwrap_or(head + 1);
    let last = query.end(head, oldest);
    let is_along_the_log = Scope::of(tenant, query).is_along_the_log();
    // The whole stretch was examined, unless the page became full.
    let stretch = most(query.examined_max.max(1));
    let (begin, end) = match query.direction {
        Direction::Ascending => {
            (query.after, head.min(query.after.max(oldest - 1).saturating_add(stretch)))
        }
        Direction::Descending => {
            let before = query.before.min(head + 1);
            (before, last.max(before.saturating_sub(stretch)))
        }
    };
    let end = if is_along_the_log { end } else { first.number(6, "").unwrap_or(last) };
    let events = Vec::with_capacity(rows.len().min(AT_ONCE_MAX));
    let mut page = EventsPage { log, events, tenants: Vec::new(), reached: begin, head, oldest };
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
