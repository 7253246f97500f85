//! The table of public bug reports: what other user directories got wrong, tried on this one.
//!
//! The rows are in `scim.txt` and `rest.txt`, one for each report. `scim.txt` starts with the form
//! of a row. Each row runs on a service of its own, over the oracle and each engine. The files are
//! read when the test runs, so a new row needs no build. `open-scim.txt` has the rows
//! that do not hold yet: a test fails when one holds, so that it moves to its table.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a row fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the row")]
#![expect(clippy::format_push_string, reason = "clearer than writing with errors that cannot be")]

mod lists;
mod row;
mod run;
mod subset;

use roster_test_service::service::{self, Engine};

const SCIM: &str = "scim.txt";
const REST: &str = "rest.txt";
const OPEN: &str = "open-scim.txt";

macro_rules! tests {
    ($($engine:ident: $scim:ident, $rest:ident;)*) => {
        $(
            #[test]
            fn $scim() {
                run::hold(Engine::$engine, SCIM);
            }

            #[test]
            fn $rest() {
                run::hold(Engine::$engine, REST);
            }
        )*
    };
}

tests! {
    Oracle: reports_of_scim_hold_over_the_oracle, reports_of_rest_hold_over_the_oracle;
    Sqlite: reports_of_scim_hold_over_sqlite, reports_of_rest_hold_over_sqlite;
    Postgres: reports_of_scim_hold_over_postgres, reports_of_rest_hold_over_postgres;
}

#[test]
fn changes_of_lists_that_cannot_be_read_change_nothing() {
    for engine in [Engine::Oracle, Engine::Sqlite] {
        for strict in [false, true] {
            lists::change_lists(engine, strict);
        }
    }
}

#[test]
fn open_reports_do_not_hold_yet() {
    run::fail(Engine::Oracle, OPEN);
}

#[test]
fn each_row_names_a_source_and_differs_from_the_others() {
    let rows: Vec<_> = [SCIM, REST, OPEN].into_iter().flat_map(row::read).collect();
    for (at, row) in rows.iter().enumerate() {
        let (repository, number) = row.source.rsplit_once('#').unwrap_or(("", ""));
        let is_report = repository.split('/').count() == 2 && number.parse::<u32>().is_ok();
        let is_standard = row.source.starts_with("RFC ");
        assert!(is_report || is_standard || row.source == "found here", "{}", row.place);
        assert!(!row.requests.is_empty(), "{}: no request", row.place);
        let same = rows[..at].iter().find(|other| other.sentence == row.sentence);
        assert!(same.is_none(), "{}: this sentence occurs before", row.place);
    }
    let reports = rows.iter().filter(|row| row.source.contains('#')).count();
    assert!(reports >= 60, "{reports} reports");
}
