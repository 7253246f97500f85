//! The rows that are held against their targets.

use super::{
    case::{Case, Kind, case},
    report::{Row, Target, median},
    sitting::{Results, Sample},
};

/// From here on the targets of a large collection hold.
const LARGE: u64 = 1_000_000;

const RATE: fn(&Sample) -> f64 = |sample| sample.rate;
const P50: fn(&Sample) -> f64 = |sample| sample.p50_us;
const P99: fn(&Sample) -> f64 = |sample| sample.p99_us;
const CPU: fn(&Sample) -> f64 = |sample| sample.cpu_us;

/// All rows, for a collection of so many users.
pub(super) fn rows(results: &Results, users: u64) -> Vec<Row> {
    let mut rows = reads(results, users);
    rows.extend(writes(results));
    rows.extend(tails(results));
    rows.extend(resources(results, users));
    rows
}

fn row(work: impl Into<String>, value: Option<f64>, unit: &'static str, target: Target) -> Row {
    Row { work: work.into(), value, unit, target }
}

fn reads(results: &Results, users: u64) -> Vec<Row> {
    let cold = if users >= LARGE { 0.40 } else { 0.45 };
    let of_hello = |kind, connections, least| {
        let (a, b) = (case(kind, connections), case(Kind::Hello, connections));
        let value = results.ratio(a, b, RATE);
        row(format!("{a} / hello"), value, "x", Target::AtLeast(least))
    };
    let told = |kind| {
        let (a, b) = (case(kind, 16), case(Kind::Hello, 16));
        row(format!("{a} / hello"), results.ratio(a, b, RATE), "x", Target::Informational)
    };
    let page_of = |kind| {
        let p50 = results.figure(case(kind, 1), P50).map(|us| us / 1000.0);
        row(format!("{}, p50", case(kind, 1)), p50, "ms", Target::Informational)
    };
    let keyed = |connections| {
        let (a, b) = (case(Kind::GetKeyed, connections), case(Kind::GetHot, connections));
        row(format!("{a} / without"), results.ratio(a, b, RATE), "x", Target::AtLeast(0.9))
    };
    let scim = |kind, rest, connections| {
        let (a, b) = (case(kind, connections), case(rest, connections));
        row(format!("{a} / REST"), results.ratio(a, b, RATE), "x", Target::AtLeast(0.65))
    };
    let export = results.export_to(case(Kind::Hello, 16));
    let page = results.ratio(case(Kind::ListFirst, 16), case(Kind::HelloPage, 16), RATE);
    let depth = results.ratio(case(Kind::ListLast, 1), case(Kind::ListFirst, 1), P50);
    vec![
        of_hello(Kind::GetHot, 16, 0.70),
        of_hello(Kind::GetHot, 64, 0.70),
        keyed(16),
        keyed(64),
        of_hello(Kind::GetCold, 16, cold),
        of_hello(Kind::GetCold, 64, cold),
        scim(Kind::ScimGet, Kind::GetCold, 16),
        scim(Kind::ScimGet, Kind::GetCold, 64),
        scim(Kind::ScimList, Kind::ListCold, 16),
        of_hello(Kind::ListFirst, 16, 0.12),
        of_hello(Kind::ListLast, 16, 0.12),
        row("list of 50, first page / hello of 24 KB, 16 conn", page, "x", Target::Informational),
        row("last page / first page, p50 at 1 conn", depth, "x", Target::AtMost(1.2)),
        of_hello(Kind::ByUsername, 16, 0.40),
        of_hello(Kind::ByEmail, 16, 0.40),
        of_hello(Kind::ByUsername, 64, 0.40),
        of_hello(Kind::ByEmail, 64, 0.40),
        of_hello(Kind::FilterUsername, 16, 0.40),
        of_hello(Kind::FilterEmail, 16, 0.40),
        of_hello(Kind::FilterUsername, 64, 0.40),
        of_hello(Kind::FilterEmail, 64, 0.40),
        told(Kind::SearchRare),
        told(Kind::SearchCommon),
        told(Kind::SearchLetter),
        page_of(Kind::Scan),
        page_of(Kind::ScanWorst),
        row("export, users/s / hello, 16 conn", export, "x", Target::AtLeast(0.55)),
    ]
}

fn writes(results: &Results) -> Vec<Row> {
    let post = results.to_engine(case(Kind::Post, 64), RATE, |round| round.insert.rate);
    let put = results.to_engine(case(Kind::Put, 64), RATE, |round| round.update.rate);
    let delete = results.to_engine(case(Kind::Delete, 64), RATE, |round| round.delete.rate);
    let marked = case(Kind::PostMarked, 64);
    let marked = results.to_engine(marked, RATE, |round| round.marked.rate);
    let least = Target::AtLeast(0.6);
    let append = results.to_append(case(Kind::Post, 1));
    vec![
        row("POST, 64 conn / engine", post, "x", least),
        row("POST with a key, 64 conn / engine", marked, "x", Target::Informational),
        row("PUT, 64 conn / engine", put, "x", least),
        row("DELETE, 64 conn / engine", delete, "x", least),
        row("import / engine", results.import_to_engine(), "x", least),
        row("POST, 1 conn, p50 / fdatasync p50", append, "x", Target::AtMost(1.6)),
    ]
}

fn tails(results: &Results) -> Vec<Row> {
    let read = |kind, connections| {
        let (a, b): (Case, Case) = (case(kind, connections), case(Kind::Hello, connections));
        let value = results.ratio(a, b, P99);
        row(format!("p99 {a} / p99 hello"), value, "x", Target::AtMost(5.0))
    };
    let write = |kind, bare| {
        let a = case(kind, 64);
        let value = results.to_engine(a, P99, bare);
        row(format!("p99 {a} / p99 of a group commit"), value, "x", Target::AtMost(4.0))
    };
    let beside = |connections| {
        let (a, b) = (case(Kind::GetBesideScans, connections), case(Kind::GetHot, connections));
        row(format!("p99 {a} / p99 without"), results.ratio(a, b, P99), "x", Target::AtMost(2.0))
    };
    vec![
        beside(1),
        beside(4),
        read(Kind::GetHot, 16),
        read(Kind::GetHot, 64),
        read(Kind::GetCold, 16),
        read(Kind::GetCold, 64),
        read(Kind::ListFirst, 16),
        read(Kind::ByUsername, 16),
        read(Kind::ByEmail, 16),
        write(Kind::Post, |round| round.insert.commit_p99_us),
        write(Kind::Put, |round| round.update.commit_p99_us),
        write(Kind::Delete, |round| round.delete.commit_p99_us),
    ]
}

fn resources(results: &Results, users: u64) -> Vec<Row> {
    let start = if users >= LARGE { 100.0 } else { 50.0 };
    let (idle, after) = results.memory;
    let mib = |kib: u64| u32::try_from(kib).map(|kib| f64::from(kib) / 1024.0).ok();
    let cpu = |kind, target| {
        let case = case(kind, 64);
        row(format!("CPU of the server, {case}"), results.figure(case, CPU), "us", target)
    };
    vec![
        row(
            "cold start to the first 200",
            median(results.cold_start_ms.clone()),
            "ms",
            Target::AtMost(start),
        ),
        row("RSS idle, mapped data apart", mib(idle.resident_kib), "MiB", Target::AtMost(20.0)),
        row("RSS after, mapped data apart", mib(after.resident_kib), "MiB", Target::AtMost(150.0)),
        row("mapped data after", mib(after.mapped_kib), "MiB", Target::Informational),
        cpu(Kind::GetHot, Target::AtMost(14.0)),
        cpu(Kind::ListFirst, Target::AtMost(60.0)),
        cpu(Kind::Post, Target::Informational),
    ]
}
