//! Query plans, and the properties that every plan must have: rows are found along the index that
//! the statement is written for, in its order, whatever the tables contain.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use roster_core::Rules;
use tokio_postgres::Client;

use super::support::{beside, column, open_with, schema, set_policy};
use crate::Connector;

/// A statement, and how its plan must find the rows.
pub(super) struct Statement {
    pub(super) sql: String,
    /// All indexes of its plan except those of `log_head` and `schema_steps`.
    pub(super) indexes: &'static [&'static str],
    /// Whether the plan reads an index from its start, or from the key that the statement names.
    pub(super) enters: Enters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enters {
    AtStart,
    AtKey,
}

/// Tables of one row, or of the steps of the schema.
const SMALL: [&str; 2] = ["log_head", "schema_steps"];

/// Conditions that a plan may test on rows of an index: on a bounded stretch of the log, on one
/// row, on groups, on the pages of one walk, on the record that the purge itself leaves, on the
/// keys that a batch claims, or on the tenants of expired users.
const TESTED: [&str; 14] = [
    "(kind = ",
    "(tenant = 0)",
    "(pg_advisory_xact_lock(claim) IS NULL",
    "(NOT pg_try_advisory_xact_lock(claim)",
    "(stretch.kind = ",
    "(COALESCE(counted.bytes, ",
    "(era = ",
    "(count(*) > 1)",
    "(last_used_at < ",
    "(at >= ",
    "(at <= ",
    "(at > ",
    "(effect <> 'user.purged'",
    "((SubPlan 1) IS NULL)",
];

/// The suffix of an index that enforces the uniqueness of a key, if the policy requires it. A plan
/// may look up keys along this index or along the one without the suffix.
const UNIQUE: &str = "_unique";

/// Realistic rows: few families, fewer statuses. Only some users have external ids and telephone
/// numbers. Their tenants replace the word `tenant`.
const FILL: &str = r"
INSERT INTO users SELECT
    tenant, lpad(to_hex(n), 32, '0')::uuid, 1, CASE WHEN n % 50 = 0 THEN 1 ELSE 0 END, n / 1000,
    ('user' || n)::bytea, CASE WHEN n % 5 = 0 THEN '\xff' ELSE ('user' || n || '@x')::bytea END,
    CASE WHEN n % 4 = 0 THEN ('+44' || n)::bytea END, CASE WHEN n % 3 = 0 THEN n::text::bytea END,
    CASE WHEN n % 10 = 0 THEN '\xff' ELSE ('family' || n % 40)::bytea END,
    ('name' || n % 5000)::bytea,
    CASE WHEN n % 20 = 0 THEN ('2027-01-' || n % 28)::bytea ELSE '\xff' END, repeat('record ', 60)
FROM generate_series(1, 20000) AS n;
INSERT INTO keys SELECT
    lpad(n::text, 10, 'k'), tenant, 'key', 'scim', n, 'system', 0, 0, 0, 0, '\xaa', '', 0, n
FROM generate_series(1, 1000) AS n;
INSERT INTO deleted_users SELECT tenant, lpad(to_hex(n + 1000000), 32, '0')::uuid, 2, n / 100,
    ('gone' || n)::bytea,
    NULL, NULL, repeat('record ', 60) FROM generate_series(1, 5000) AS n;
INSERT INTO events SELECT n, tenant,
    CASE WHEN n % 9 = 0 THEN 'user.deleted' ELSE 'user.created' END, n, 'anonymous', 'request',
    lpad(to_hex(n % 20000), 32, '0')::uuid, 1, 'name', 'record'
FROM generate_series(1, 40000) AS n;
INSERT INTO words SELECT tenant, ('word' || n % 700)::bytea,
    lpad(to_hex(n), 32, '0')::uuid
FROM generate_series(1, 20000) AS n;
INSERT INTO further_keys SELECT tenant, n % 2, ('key' || n % 900)::bytea,
    lpad(to_hex(n), 32, '0')::uuid
FROM generate_series(1, 20000) AS n;
INSERT INTO idempotency_keys SELECT tenant, decode(lpad(to_hex(n), 64, '0'), 'hex'), '\x00', n,
    lpad(to_hex(n), 32, '0')::uuid, 1, n, 'user.created', NULL FROM generate_series(1, 20000) AS n;
INSERT INTO groups SELECT tenant, lpad(to_hex(n + 2000000), 32, '0')::uuid, 1, 40,
    ('group' || n)::bytea,
    CASE WHEN n % 3 = 0 THEN (n % 50)::text::bytea END, repeat('record ', 20)
FROM generate_series(1, 3000) AS n;
INSERT INTO group_members SELECT tenant, lpad(to_hex(2000000 + n % 3000 + 1), 32, '0')::uuid,
    lpad(to_hex(n % 20000 + 1), 32, '0')::uuid, 0 FROM generate_series(1, 60000) AS n;
INSERT INTO group_members SELECT tenant, lpad(to_hex(2000000 + n), 32, '0')::uuid,
    lpad(to_hex(2000000 + n * 10), 32, '0')::uuid, 1 FROM generate_series(1, 300) AS n;
INSERT INTO walk_ends SELECT n, decode(lpad(to_hex(n % 100), 64, '0'), 'hex'), n / 100 * 100 + 1,
    repeat('sealed', 15), n FROM generate_series(1, 20000) AS n;
ANALYZE groups, group_members, walk_ends;
ANALYZE users, deleted_users, events, words, further_keys, idempotency_keys";

/// The rows of the default tenant.
fn rows() -> String {
    FILL.replace("tenant", "0")
}

/// The same in fewer rows: one to sixty of each kind.
fn few_rows() -> String {
    rows().replace("000) AS n", ") AS n")
}

/// The same rows, of 200 tenants.
fn rows_of_tenants() -> String {
    let tenants = "INSERT INTO tenants \
                   SELECT n, 'n' || n, 1, 0, NULL, NULL, NULL, 0, 0, NULL, 0, 0, 0, 0 \
                   FROM generate_series(1, 199) AS n";
    format!("{tenants}; {}", FILL.replace("tenant", "n % 200"))
}

/// Empties all tables that [`FILL`] fills.
const EMPTY: &str = "TRUNCATE users, keys, deleted_users, events, words, further_keys, \
     idempotency_keys, groups, group_members, walk_ends";

/// Updates the statistics of all tables.
const ANALYZE: &str = "ANALYZE groups, group_members, walk_ends, keys, users, deleted_users, \
     events, words, further_keys, idempotency_keys, erasures, settings, tenants, clock_mark";

/// A statement that enters these indexes at a key.
pub(super) fn at_key(indexes: &'static [&'static str], sql: impl Into<String>) -> Statement {
    Statement { sql: sql.into(), indexes, enters: Enters::AtKey }
}

/// A statement that may enter these indexes at their start.
pub(super) fn at_start(indexes: &'static [&'static str], sql: impl Into<String>) -> Statement {
    Statement { sql: sql.into(), indexes, enters: Enters::AtStart }
}

/// The name of a group, and its statements.
pub(super) type Group = (&'static str, Vec<Statement>);

/// The sizes of tables at which statements must have the same plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// New tables, and 20,000 analyzed users: of the default tenant, and of many tenants.
    NewAndFull,
    /// Also tables that were analyzed while they were empty or had few rows. A session keeps a plan
    /// for some seconds while the tables grow, so the plan must be good for many rows too.
    All,
}

/// The statements of each group with their plans, each once. Fails unless the plans are the same at
/// these sizes and under each of these rules.
pub(super) async fn explain(
    rules: &[Rules],
    groups: &[Group],
    sizes: Sizes,
) -> Vec<(&'static str, String)> {
    let schema = schema();
    let url = schema.url();
    let client = beside(&url).await;
    open_with(&url, rules[0]).await.close().await;
    // The events that fill the tables are before those of the changes of the policy.
    client.batch_execute("UPDATE log_head SET position = 1000000").await.unwrap();
    let mut states = Vec::new();
    let few = format!("{}; {ANALYZE}", few_rows());
    let full = format!("{EMPTY}; {}; {ANALYZE}", rows());
    let tenants = format!("{EMPTY}; {}; {ANALYZE}", rows_of_tenants());
    let states_of_tables = [
        ("new", "", Sizes::NewAndFull),
        ("analyzed while empty", ANALYZE, Sizes::All),
        ("analyzed with few rows", &few, Sizes::All),
        ("full", &full, Sizes::NewAndFull),
        ("full of tenants", &tenants, Sizes::NewAndFull),
    ];
    let of_these = |(.., needed): &(_, _, Sizes)| sizes == Sizes::All || *needed == sizes;
    for (state, change, _) in states_of_tables.into_iter().filter(of_these) {
        client.batch_execute(change).await.unwrap();
        for rules in rules {
            set_policy(&url, *rules).await;
            let state = format!("{state} and {rules:?}");
            states.push((state, plans(&url, groups).await));
        }
    }
    let (mut texts, mut faults) = (Vec::new(), String::new());
    for (name, statements) in groups {
        let mut text = String::new();
        let mut seen = BTreeSet::new();
        for statement in statements.iter().filter(|statement| seen.insert(&statement.sql)) {
            faults.extend(fault_of_any(statement, &states));
            writeln!(text, "{}\n{}", statement.sql, states[0].1[&statement.sql]).unwrap();
        }
        texts.push((*name, text));
    }
    assert!(faults.is_empty(), "{faults}");
    texts
}

/// A description of a state, and the plan of each statement in it.
type State = (String, HashMap<String, String>);

/// The plans in a session of the engine.
async fn plans(url: &str, groups: &[Group]) -> HashMap<String, String> {
    let connection = Connector::parse(url).unwrap().connect().await.unwrap();
    let mut plans = HashMap::new();
    for Statement { sql, .. } in groups.iter().flat_map(|(_, statements)| statements) {
        if !plans.contains_key(sql) {
            plans.insert(sql.clone(), plan(connection.client(), sql).await);
        }
    }
    plans
}

async fn plan(client: &Client, sql: &str) -> String {
    let values = vec!["NULL"; parameters_of(sql)].join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    let explained = format!(
        "PREPARE explained AS {sql}; EXPLAIN (COSTS OFF) EXECUTE explained{values}; \
         DEALLOCATE explained"
    );
    let steps = column(client, &explained).await;
    steps.iter().fold(String::new(), |plan, step| plan + "    " + step + "\n")
}

/// How many parameters a statement has.
fn parameters_of(sql: &str) -> usize {
    let number = |text: &str| {
        let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().unwrap()
    };
    sql.split('$').skip(1).map(number).max().unwrap_or(0)
}

/// What is wrong with the plan of a statement in any of the states.
fn fault_of_any(statement: &Statement, states: &[State]) -> Option<String> {
    let sql = &statement.sql;
    let first = &states[0].1[sql];
    states.iter().find_map(|(state, plans)| {
        let plan = &plans[sql];
        let fault = fault(statement, plan).or_else(|| {
            let alike = plan.replace(UNIQUE, "") == first.replace(UNIQUE, "");
            (!alike).then(|| format!("another plan than\n{first}"))
        })?;
        Some(format!("{state}: {sql}\n{plan}{fault}\n\n"))
    })
}

/// What is wrong with a plan.
fn fault(statement: &Statement, plan: &str) -> Option<String> {
    let (mut indexes, mut entered) = (BTreeSet::new(), 0);
    let mut scans = 0;
    for step in plan.lines().map(|line| line.trim_start_matches([' ', '-', '>'])) {
        if let Some((_, table)) = step.split_once("Seq Scan on ") {
            let table = table.split(' ').next().unwrap_or_default();
            if !SMALL.contains(&table) {
                return Some(format!("scans {table}"));
            }
        }
        if step.starts_with("Filter: ") && !TESTED.iter().any(|test| step.contains(test)) {
            return Some("steps over rows".to_owned());
        }
        if step.starts_with("Sort") || step.starts_with("Incremental Sort") {
            return Some("sorts".to_owned());
        }
        if step.starts_with("Index")
            && let Some((_, rest)) = step.split_once(" using ")
        {
            let (index, table) = rest.split_once(" on ").unwrap();
            if !SMALL.contains(&table.split(' ').next().unwrap()) {
                indexes.insert(index.trim_end_matches(UNIQUE));
                scans += 1;
            }
        }
        if step.starts_with("Index Cond: ") && !step.contains("(number = ") {
            entered += 1;
        }
    }
    let wanted: BTreeSet<&str> = statement.indexes.iter().copied().collect();
    if indexes != wanted {
        return Some(format!("goes along {indexes:?} instead of {wanted:?}"));
    }
    let all_entered = entered == scans;
    (statement.enters == Enters::AtKey && !all_entered).then(|| "walks a whole index".to_owned())
}
