//! What is printed of a sitting: figures, bytes on the disk, and the rows with targets.

use std::collections::BTreeMap;

use anyhow::Result;

use super::sitting::{Act, CALLERS, Disk, Key, MEASURED, Results, Sample, Who};
use crate::bench::report::{Row, Target, number, print_table};

/// Callers of the rows that are judged.
const JUDGED: usize = 16;

/// A key in words.
pub(super) fn named((who, act, callers): Key) -> String {
    let act = match (who, act) {
        (Who::Bare, Act::Get) => "bare loop of reads",
        (Who::Bare, Act::Post) => "a transaction for each create",
        (_, Act::Get) => "GET one",
        (_, Act::List) => "list of 50",
        (_, Act::Filter) => "filter by username",
        (_, Act::Post) => "POST",
        (_, Act::Put) => "PUT",
        (_, Act::Delete) => "DELETE",
    };
    let over = if who == Who::Sqlite { " over SQLite" } else { "" };
    format!("{act}{over}, {callers} conn")
}

/// Prints what each measure came to.
pub(super) fn print_figures(results: &Results) -> Result<()> {
    let keys =
        CALLERS.into_iter().flat_map(|callers| MEASURED.map(|(who, act)| (who, act, callers)));
    let lines: Vec<_> = keys
        .map(|key| {
            let figure = |of: fn(&Sample) -> f64, unit| {
                results.figure(key, of).map_or_else(String::new, |value| number(value, unit))
            };
            vec![
                named(key),
                figure(|sample| sample.rate, "/s"),
                figure(|sample| sample.p50_us, "us"),
                figure(|sample| sample.p99_us, "us"),
                figure(|sample| sample.asker_us, "us"),
                figure(|sample| sample.database_us, "us"),
            ]
        })
        .collect();
    let heads = ["", "rate", "p50", "p99", "its CPU", "PostgreSQL's CPU"];
    print_table(&heads, &lines)
}

/// Prints what tables and indexes take of the disk for each of so many users.
pub(super) fn print_disk(disk: &Disk, users: u64) -> Result<()> {
    let users = f64::from(u32::try_from(users)?);
    let of_one = |bytes: i64| -> Result<String> {
        Ok(number(f64::from(u32::try_from(bytes / 1024)?) * 1024.0 / users, "B"))
    };
    let mut tables = BTreeMap::<&str, i64>::new();
    let mut lines = Vec::new();
    for relation in &disk.relations {
        *tables.entry(&relation.table).or_default() += relation.bytes;
        lines.push(vec![relation.table.clone(), relation.name.clone(), of_one(relation.bytes)?]);
    }
    for (table, bytes) in tables {
        lines.push(vec![table.to_owned(), "all of it".to_owned(), of_one(bytes)?]);
    }
    let log = "write-ahead log of the creates".to_owned();
    lines.push(vec![String::new(), log, of_one(disk.log_bytes)?]);
    print_table(&["table", "table or index", "bytes a user"], &lines)
}

/// The rows that are held against their targets.
pub(super) fn rows(results: &Results) -> Vec<Row> {
    let row = |a: Key, b: Key, target| Row {
        work: format!("{} / {}", named(a), named(b)),
        value: results.ratio(a, b),
        unit: "x",
        target,
    };
    let rows_of = |callers| {
        let (get, post) = ((Who::Service, Act::Get, callers), (Who::Service, Act::Post, callers));
        let judged = |least| match callers {
            JUDGED => Target::AtLeast(least),
            _ => Target::Informational,
        };
        [
            row(get, (Who::Bare, Act::Get, callers), judged(0.5)),
            row(post, (Who::Bare, Act::Post, callers), judged(2.0)),
            row(post, (Who::Sqlite, Act::Post, callers), judged(0.4)),
        ]
    };
    let mut rows: Vec<_> = CALLERS.into_iter().flat_map(rows_of).collect();
    rows.push(Row {
        work: "start to the first 200 on a filled database".to_owned(),
        value: Some(results.cold_start_ms),
        unit: "ms",
        target: Target::Informational,
    });
    rows
}
