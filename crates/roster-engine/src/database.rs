//! The statements that both engines run, and the values of their rows.

use bytes::Bytes;
use roster_core::{
    Event, EventKind, Group, Head, LogId, StoreError, Stored, TenantId, TenantName, Timestamp,
    UserId, event::changed_of, page::Flow,
};

/// The parts of statements that differ between the engines.
pub trait Dialect {
    /// The right side of a comparison of a column with each id of a list, which is a parameter.
    fn any(parameter: &str) -> String;

    /// The rows of a statement for each id of a list, which is a parameter. The statement has the
    /// id as this text. An engine that runs it in a loop cannot choose a plan by statistics.
    fn for_each(ids: &str, statement: impl FnOnce(&str) -> String) -> String {
        statement(ids)
    }

    /// The condition that a unique column has a value. For an engine that cannot name an index, it
    /// is a range, and [`Dialect::ordered_by`] admits only the index of that column.
    fn equals(column: &str, value: &str) -> String {
        format!("{column} = {value}")
    }

    /// The order of the only row that a condition of [`Dialect::equals`] selects.
    fn ordered_by(_column: &str) -> String {
        String::new()
    }

    /// The join of members with their users, and a condition that belongs to it.
    fn users_of_members() -> (String, &'static str) {
        let by_id = Self::indexed_by("users_id");
        let join = format!("group_members CROSS JOIN users{by_id}");
        (join, " AND users.tenant = group_members.tenant AND id = member_id")
    }

    /// The join of keys of users with the users.
    fn users_of_keys() -> (String, &'static str) {
        let by_id = Self::indexed_by("users_id");
        let join = format!(
            "further_keys CROSS JOIN (SELECT tenant AS of_tenant, id AS of_id, version, status, \
             record FROM users{by_id}) AS users"
        );
        (join, " AND of_tenant = tenant AND of_id = id")
    }

    /// The value of an absent sort key. It sorts after every text.
    const ABSENT_KEY: &'static str;

    /// Names the index along which a table is read, for an engine that needs the name.
    fn indexed_by(index: &str) -> String;

    /// The statement that deletes the first `$2` rows of tenant `$1`, given the key of the table
    /// and the order of an index.
    fn delete_first(table: &str, key: &str, order: &str) -> String {
        format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} \
             WHERE tenant = $1 ORDER BY {order} LIMIT $2)"
        )
    }
}

/// Runs the statements of one transaction or snapshot for one tenant. Their parameters are `$1`,
/// `$2` and so on, and first appear in this order. A statement reads and writes rows of that tenant
/// only, which is one of its parameters; housekeeping and checks are the exceptions.
pub trait Database: Dialect + Copy {
    /// The error of a failed statement.
    type Error: From<StoreError>;

    /// The tenant.
    fn tenant(self) -> TenantId;

    /// The same transaction or snapshot, for another tenant.
    fn of(self, tenant: TenantId) -> Self;

    /// Calls `show` with each row of a statement until it returns [`Flow::Stop`]. An engine may run
    /// the statement once for each id of a list.
    fn each(
        self,
        sql: &str,
        parameters: &[Cell],
        show: impl FnMut(Values) -> Result<Flow, StoreError>,
    ) -> impl Future<Output = Result<(), Self::Error>>;

    /// The ids that a statement returns, which has no other column.
    fn ids(
        self,
        sql: &str,
        parameters: &[Cell],
    ) -> impl Future<Output = Result<Vec<UserId>, Self::Error>>;

    /// Executes a statement. Returns the number of rows that it changed.
    fn execute(
        self,
        sql: &str,
        parameters: &[Cell],
    ) -> impl Future<Output = Result<u64, Self::Error>>;
}

/// The head of the log, with the counters of a tenant.
pub const HEAD: &str = "SELECT position, active, suspended, deleted FROM log_head \
     CROSS JOIN tenants WHERE number = 1 AND tenants.id = $1";

/// Reads the head of the log.
pub async fn head<D: Database>(db: D) -> Result<Head, D::Error> {
    let row = first(db, HEAD, &[db.tenant().into()]).await?.ok_or_else(|| corrupt("log_head"))?;
    Ok(row.head(0)?)
}

/// When a tenant was deleted.
pub const DELETED_AT: &str = "SELECT deleted_at FROM tenants WHERE id = $1";

/// Whether the tenant exists and is not deleted.
pub async fn is_live<D: Database>(db: D) -> Result<bool, D::Error> {
    let row = first(db, DELETED_AT, &[db.tenant().into()]).await?;
    Ok(row.is_some_and(|row| matches!(row.0.first(), Some(Cell::Null))))
}

/// The rows of a statement.
pub async fn rows<D: Database>(
    db: D,
    sql: &str,
    parameters: &[Cell],
) -> Result<Vec<Values>, D::Error> {
    let mut rows = Vec::new();
    let keep = |row| {
        rows.push(row);
        Ok(Flow::Next)
    };
    db.each(sql, parameters, keep).await?;
    Ok(rows)
}

/// The first row of a statement.
pub async fn first<D: Database>(
    db: D,
    sql: &str,
    parameters: &[Cell],
) -> Result<Option<Values>, D::Error> {
    let mut first = None;
    let keep = |row| {
        first = Some(row);
        Ok(Flow::Stop)
    };
    db.each(sql, parameters, keep).await?;
    Ok(first)
}

/// A value in a row, or a parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    /// NULL.
    Null,
    /// An integer or a boolean.
    Integer(i64),
    /// A text, or a key made from one.
    Text(Bytes),
    /// An id or bytes. Empty bytes sort before every id.
    Bytes(Bytes),
    /// A list of ids.
    Ids(Vec<UserId>),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<TenantId> for Cell {
    fn from(tenant: TenantId) -> Self {
        Self::Integer(tenant.number().into())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<&[u8]> for Cell {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Bytes::copy_from_slice(bytes))
    }
}

impl From<UserId> for Cell {
    fn from(id: UserId) -> Self {
        Self::from(id.as_bytes().as_slice())
    }
}

/// The values of a row. `place` names a damaged one in the error.
#[derive(Clone, Debug, Default)]
pub struct Values(pub Vec<Cell>);

impl Values {
    /// The size of all values in bytes.
    pub fn size(&self) -> usize {
        let size = |value: &Cell| match value {
            Cell::Null => 0,
            Cell::Integer(_) => 8,
            Cell::Text(bytes) | Cell::Bytes(bytes) => bytes.len(),
            Cell::Ids(ids) => ids.len() * 16,
        };
        self.0.iter().map(size).sum()
    }

    /// An integer.
    pub fn number(&self, index: usize, place: &str) -> Result<i64, StoreError> {
        if let Some(Cell::Integer(number)) = self.0.get(index) {
            return Ok(*number);
        }
        Err(corrupt(place))
    }

    /// A tenant.
    pub fn tenant(&self, index: usize, place: &str) -> Result<TenantId, StoreError> {
        TenantId::new(self.number(index, place)?).ok_or_else(|| corrupt(place))
    }

    /// A time.
    pub fn moment(&self, index: usize, place: &str) -> Result<Timestamp, StoreError> {
        self.number(index, place).map(Timestamp::from_millis)
    }

    /// A text or bytes.
    pub fn bytes(&self, index: usize, place: &str) -> Result<&Bytes, StoreError> {
        match self.0.get(index) {
            Some(Cell::Text(bytes) | Cell::Bytes(bytes)) => Ok(bytes),
            _ => Err(corrupt(place)),
        }
    }

    /// A text.
    pub fn text(&self, index: usize, place: &str) -> Result<&str, StoreError> {
        std::str::from_utf8(self.bytes(index, place)?).map_err(|_| corrupt(place))
    }

    /// An id.
    pub fn id(&self, index: usize, place: &str) -> Result<UserId, StoreError> {
        UserId::from_slice(self.bytes(index, place)?).ok_or_else(|| corrupt(place))
    }

    /// The head of the log, from that column on.
    pub fn head(&self, first: usize) -> Result<Head, StoreError> {
        let number = |index| self.number(first + index, "log_head");
        Ok(Head {
            position: number(0)?,
            active: number(1)?,
            suspended: number(2)?,
            deleted: number(3)?,
        })
    }

    /// The identity of the log.
    pub fn log_id(&self, index: usize) -> Result<LogId, StoreError> {
        let id = self.bytes(index, "log_id")?[..].try_into().map_err(|_| corrupt("log_id"))?;
        Ok(LogId(id))
    }

    /// A user or group whose id, version and record are the first values of the row.
    pub fn stored(&self, table: &str) -> Result<Stored, StoreError> {
        let (id, version) = (self.id(0, table)?, self.number(1, table)?);
        Ok(Stored { id, version, record: self.bytes(2, table)?.clone() })
    }

    /// A group of such a row.
    pub fn group(&self) -> Result<Group, StoreError> {
        group_of(&self.stored("groups")?)
    }
}

/// The group of a stored record.
pub(crate) fn group_of(Stored { id, record, .. }: &Stored) -> Result<Group, StoreError> {
    Group::from_record(record).map_err(|fault| corrupt_record("groups", *id, &fault.member))
}

/// The event of a row of `events`, after its position.
pub fn event_of(row: &Values) -> Result<(i64, Event), StoreError> {
    let changed = changed_of(row.text(7, "events.changed")?);
    let (changed, members) = changed.ok_or_else(|| corrupt("events.changed"))?;
    let kind = EventKind::parse(row.text(1, "events.kind")?);
    let event = Event {
        kind: kind.ok_or_else(|| corrupt("events.kind"))?,
        at: row.moment(2, "events.at")?,
        actor: row.text(3, "events.actor")?.to_owned(),
        request_id: row.text(4, "events.request_id")?.to_owned(),
        user_id: row.id(5, "events.subject_id")?,
        version: row.number(6, "events.version")?,
        changed,
        members,
        record: row.bytes(8, "events.record")?.clone(),
    };
    Ok((row.number(0, "events.position")?, event))
}

/// The tenant of such a row and its name, which are behind the event.
pub fn tenant_of_event(row: &Values) -> Result<(TenantId, Option<TenantName>), StoreError> {
    let name = if matches!(row.0.get(10), Some(Cell::Null)) {
        None
    } else {
        let name = TenantName::parse(row.text(10, "tenants.name")?);
        Some(name.ok_or_else(|| corrupt("tenants.name"))?)
    };
    Ok((row.tenant(9, "events.tenant")?, name))
}

/// A record with a damaged member.
pub(crate) fn corrupt_record(table: &str, id: UserId, member: &str) -> StoreError {
    corrupt(&format!("{table}.record of {id}, {member}"))
}

/// The error for stored bytes that are invalid.
pub fn corrupt(place: &str) -> StoreError {
    StoreError::Corrupt { place: place.to_owned() }
}
