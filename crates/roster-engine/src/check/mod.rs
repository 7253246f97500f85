//! The check of a store: all stored data besides the records must follow from the records, and the
//! change log must lead to the current state.
//!
//! It reads one snapshot and changes nothing. Tables are read tenant by tenant, in pages in the
//! order of ids, so that memory does not grow with the collection. Engines run the statements
//! ([`CheckReader`]).

mod audit;
mod findings;
mod forks;
mod groups;
mod history;
mod log;
mod rows;
mod schema;
mod search;
mod users;

use std::fmt;

use roster_core::{PolicyKey, Sharing, TenantId, page::Flow};

use crate::{
    database::{self, Cell, Database, Values, first, rows},
    settings::setting,
    tenants::WHOLE_TENANT,
};

pub use findings::{Findings, Line};
pub use search::SearchRow;

/// Runs the statements of a check in one snapshot. An absent sort key is read as empty bytes.
pub trait CheckReader: Database<Error: fmt::Display> {
    /// The indexes in `rows` of the rows that are missing in their table.
    fn missing(self, rows: &[SearchRow]) -> impl Future<Output = Result<Vec<usize>, Self::Error>>;

    /// The statement that counts the keys that belong to more than one user.
    fn count_shared_sql(key: PolicyKey) -> String;
}

/// Checks everything that both engines store.
pub async fn check<R: CheckReader>(reader: R, position: i64) -> Vec<Line> {
    let mut lines = vec![check_counters(reader, position).await];
    lines.extend(users::check(reader, position).await);
    lines.push(log::check_idempotency_keys(reader, position).await);
    lines
}

/// The tenants, without those that are purged.
async fn tenants<R: CheckReader>(reader: R) -> Result<Vec<TenantId>, R::Error> {
    let rows = rows(reader, "SELECT id FROM tenants WHERE status < 2 ORDER BY id", &[]).await?;
    Ok(rows.iter().map(|row| row.tenant(0, "tenants.id")).collect::<Result<_, _>>()?)
}

/// The tables with rows of tenants. A key of the operator has no tenant.
const TABLES_OF_TENANTS: [&str; 12] = [
    "users",
    "deleted_users",
    "events",
    "words",
    "further_keys",
    "idempotency_keys",
    "settings",
    "groups",
    "group_members",
    "erasures",
    "keys",
    "webhooks",
];

/// Rows that no change makes: the place, the condition of such a row, and what it is.
const IMPOSSIBLE_ROWS: [(&str, &str, &str); 4] = [
    ("tenants", "status < 0 OR status > 3", "have an unknown status"),
    ("tenants", "id > 0 AND status < 2 AND name IS NULL", "have no name and are not purged"),
    (
        "tenants",
        "status > 1 AND (id = 0 OR name IS NOT NULL OR display_name IS NOT NULL \
         OR external_id IS NOT NULL OR users_max IS NOT NULL \
         OR active <> 0 OR suspended <> 0 OR deleted <> 0 OR groups <> 0)",
        "are purged and still have a name or other values",
    ),
    (
        "clock_mark",
        "revision < 1 OR at < 0 OR pending_at < 0 OR waited_ms < 0",
        "have a value below its minimum",
    ),
];

/// The purged tenants that would never be erased.
const FORGOTTEN_TENANTS: &str = "SELECT count(*) FROM tenants WHERE status = 2 AND NOT EXISTS \
     (SELECT 1 FROM erasures WHERE tenant = tenants.id AND erasures.id = $1)";

/// Checks the stored counters of each tenant, that each row has a tenant in which not everything is
/// erased, and the uniqueness of keys.
pub async fn check_counters<R: CheckReader>(reader: R, position: i64) -> Line {
    let mut line = Line::new("counters");
    let read = read_counters(reader, position, &mut line).await;
    line.end(read);
    line
}

/// The keys whose last change is not counted: a service would not notice it.
const UNCOUNTED_KEYS: &str = "SELECT count(*) FROM keys WHERE generation > \
     coalesce((SELECT generation FROM keys_head WHERE id = 1), 0)";

const LAST: &str = "SELECT coalesce(max(position), 0) FROM events";

/// Checks the head of the log, the counters of tenants and the policy on shared keys.
async fn read_counters<R: CheckReader>(
    reader: R,
    position: i64,
    line: &mut Line,
) -> Result<(), R::Error> {
    for tenant in tenants(reader).await? {
        let kept = database::head(reader.of(tenant)).await?;
        for (name, kept, sql) in [
            ("active", kept.active, "SELECT count(*) FROM users WHERE tenant = $1 AND status = 0"),
            (
                "suspended",
                kept.suspended,
                "SELECT count(*) FROM users WHERE tenant = $1 AND status = 1",
            ),
            ("deleted", kept.deleted, "SELECT count(*) FROM deleted_users WHERE tenant = $1"),
        ] {
            let counted =
                first(reader, sql, &[tenant.into()]).await?.unwrap_or_default().integer(0);
            let what = format!("is {kept}, but there are {counted}");
            line.require(kept == counted, &format!("tenants.{name} of {}", tenant.number()), &what);
        }
        line.count += 3;
    }
    for table in TABLES_OF_TENANTS {
        // Only events without a record stay after everything else is erased.
        let may_stay = if table == "events" { "record = ''" } else { "false" };
        let sql = format!(
            "SELECT count(*) FROM {table} WHERE tenant IS NOT NULL AND NOT EXISTS \
             (SELECT 1 FROM tenants WHERE tenants.id = {table}.tenant \
             AND (status < 3 OR {may_stay}))"
        );
        let strays = number(reader, &sql).await?;
        line.require(strays == 0, &table, &format!("{strays} rows have no tenant"));
    }
    for (table, condition, what) in IMPOSSIBLE_ROWS {
        let sql = format!("SELECT count(*) FROM {table} WHERE {condition}");
        let rows = number(reader, &sql).await?;
        line.require(rows == 0, &table, &format!("{rows} rows {what}"));
    }
    let forgotten = first(reader, FORGOTTEN_TENANTS, &[WHOLE_TENANT.into()]).await?;
    let forgotten = forgotten.unwrap_or_default().integer(0);
    let what = format!("{forgotten} purged tenants would never be erased");
    line.require(forgotten == 0, &"erasures", &what);
    let uncounted = number(reader, UNCOUNTED_KEYS).await?;
    let what = format!("is lower than the generation of {uncounted} keys");
    line.require(uncounted == 0, &"keys_head.generation", &what);
    line.count += 1;
    let last = number(reader, LAST).await?;
    // If all events were deleted by age, there is no last event to compare.
    let what = format!("is {position}, but the last event is at {last}");
    line.require(last == position || last == 0, &"log_head.position", &what);
    line.count += 1;
    for key in PolicyKey::ALL.iter().copied() {
        let policy =
            setting(reader.of(TenantId::DEFAULT), key.stored_name()).await?.unwrap_or_default();
        if policy.octets(0) == Sharing::Unique.stored().as_bytes() {
            let shared = number(reader, &R::count_shared_sql(key)).await?;
            let what = format!("{shared} keys that are to be unique belong to several users");
            line.require(shared == 0, &key.name(), &what);
        }
        line.count += 1;
    }
    Ok(())
}

/// Calls `show` with every row of a statement.
async fn each<R: CheckReader>(
    reader: R,
    sql: &str,
    parameters: &[Cell],
    mut show: impl FnMut(Values),
) -> Result<(), R::Error> {
    let show = |row| {
        show(row);
        Ok(Flow::Next)
    };
    reader.each(sql, parameters, show).await
}

/// The number in the only row of an aggregate.
async fn number<R: CheckReader>(reader: R, sql: &str) -> Result<i64, R::Error> {
    Ok(first(reader, sql, &[]).await?.unwrap_or_default().integer(0))
}
