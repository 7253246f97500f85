//! Plans of statements, and what must hold for every one of them: rows are found along the index
//! that the statement was made for, in its order, whatever is in the tables.

use std::{collections::BTreeSet, fmt::Write as _};

use roster_core::{Guard, Rules, Sharing};
use tokio_postgres::Client;

use super::support::{beside, column, open_with, schema};
use crate::{Connector, connect::Connection};

/// A statement and the way to its rows.
pub(super) struct Statement {
    pub(super) sql: String,
    /// All indexes of its plan but that of `log_head`.
    pub(super) indexes: &'static [&'static str],
    /// Whether it begins at the start of an index, or at the key it asks for.
    pub(super) enters: Enters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enters {
    AtStart,
    AtKey,
}

/// Tables of one row, or of the schema's own steps.
const SMALL: [&str; 2] = ["log_head", "schema_steps"];

/// How an index is named that holds the key of another one unique, where the rules say so. Keys that
/// are looked up may be found along either.
const UNIQUE: &str = "_unique";

const OTHER_RULES: Rules = Rules {
    email: Sharing::Shared,
    external_id: Sharing::Unique,
    put: Guard::Off,
    delete: Guard::Off,
};

/// Rows as real ones are: few families, fewer statuses, external ids and numbers of some alone.
const FILL: &str = r"
INSERT INTO users SELECT
    lpad(to_hex(n), 32, '0')::uuid, 1, CASE WHEN n % 50 = 0 THEN 1 ELSE 0 END, n / 1000,
    ('user' || n)::bytea, CASE WHEN n % 5 = 0 THEN '\xff' ELSE ('user' || n || '@x')::bytea END,
    CASE WHEN n % 4 = 0 THEN ('+44' || n)::bytea END, CASE WHEN n % 3 = 0 THEN n::text::bytea END,
    CASE WHEN n % 10 = 0 THEN '\xff' ELSE ('family' || n % 40)::bytea END,
    ('name' || n % 5000)::bytea, repeat('record ', 60)
FROM generate_series(1, 20000) AS n;
INSERT INTO deleted_users SELECT lpad(to_hex(n + 1000000), 32, '0')::uuid, 2, n / 100, ('gone' || n)::bytea,
    NULL, NULL, repeat('record ', 60) FROM generate_series(1, 5000) AS n;
INSERT INTO events SELECT n, CASE WHEN n % 9 = 0 THEN 'user.deleted' ELSE 'user.created' END, n,
    'anonymous', 'request', lpad(to_hex(n % 20000), 32, '0')::uuid, 1, 'name', 'record'
FROM generate_series(1, 40000) AS n;
INSERT INTO words SELECT ('word' || n % 700)::bytea, lpad(to_hex(n), 32, '0')::uuid
FROM generate_series(1, 20000) AS n;
INSERT INTO further_keys SELECT n % 2, ('key' || n % 900)::bytea, lpad(to_hex(n), 32, '0')::uuid
FROM generate_series(1, 20000) AS n;
INSERT INTO idempotency_keys SELECT decode(lpad(to_hex(n), 64, '0'), 'hex'), '\x00', n,
    lpad(to_hex(n), 32, '0')::uuid, 1, n, 'user.created', NULL FROM generate_series(1, 20000) AS n;
ANALYZE";

/// The statements and their plans, each once. They are the same with nobody there and with
/// 20,000 users, before the database looked at them and after, and under the other rules.
pub(super) async fn explain(statements: Vec<Statement>) -> String {
    let schema = schema();
    let url = schema.url();
    let client = beside(&url).await;
    open_with(&url, Rules::default()).await.close().await;
    let empty = plans(&url, &statements).await;
    open_with(&url, OTHER_RULES).await.close().await;
    let others = plans(&url, &statements).await;
    open_with(&url, Rules::default()).await.close().await;
    client.batch_execute(FILL).await.unwrap();
    let full = plans(&url, &statements).await;
    open_with(&url, OTHER_RULES).await.close().await;
    let full_others = plans(&url, &statements).await;
    drop(client);
    let (mut text, mut faults) = (String::new(), String::new());
    let mut seen = BTreeSet::new();
    for (nth, statement) in statements.iter().enumerate() {
        if !seen.insert(&statement.sql) {
            continue;
        }
        let states = [
            ("empty", &empty),
            ("empty, other rules", &others),
            ("full", &full),
            ("full, other rules", &full_others),
        ];
        for (state, plans) in states {
            let told = fault(statement, &plans[nth]).or_else(|| {
                let alike = plans[nth].replace(UNIQUE, "") == empty[nth].replace(UNIQUE, "");
                (!alike).then(|| format!("another plan than\n{}", empty[nth]))
            });
            if let Some(fault) = told {
                writeln!(faults, "{state}: {}\n{}{fault}\n", statement.sql, plans[nth]).unwrap();
                break;
            }
        }
        writeln!(text, "{}\n{}", statement.sql, empty[nth]).unwrap();
    }
    assert!(faults.is_empty(), "{faults}");
    text
}

/// The plans, by a session such as the engine has.
async fn plans(url: &str, statements: &[Statement]) -> Vec<String> {
    let connection: Connection = Connector::parse(url).unwrap().connect().await.unwrap();
    let mut plans = Vec::with_capacity(statements.len());
    for Statement { sql, .. } in statements {
        plans.push(plan(connection.client(), sql).await);
    }
    plans
}

async fn plan(client: &Client, sql: &str) -> String {
    let statement = client.prepare(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let values = vec!["NULL"; statement.params().len()].join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    client.batch_execute(&format!("PREPARE explained AS {sql}")).await.unwrap();
    let steps = column(client, &format!("EXPLAIN (COSTS OFF) EXECUTE explained{values}")).await;
    client.batch_execute("DEALLOCATE explained").await.unwrap();
    steps.iter().map(|step| format!("    {step}\n")).collect()
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
