//! The wire table: bytes sent over a raw socket, and the expected responses.
//!
//! Each row is data: the bytes, the exact status, the headers, the problem code if the service
//! writes the response, whether the connection stays open, and the reason. One runner runs all rows
//! and reports all failing rows together. After each row it sends an ordinary request. The same
//! table is run against the service over the oracle and against the built binary over each engine.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "what a test cannot do without fails it; a table is as long as it is"
)]

mod client;
mod http2;
mod row;
mod rows;
mod run;
mod subject;

use roster_testkit::process::Engine;

use subject::Subject;

#[test]
fn the_table_is_large_and_each_of_its_rows_has_its_own_name() {
    let (all, timed, framed) = (rows::all(), rows::timed(), http2::rows());
    let names = all.iter().chain(&timed).map(|row| row.name);
    let names: Vec<&str> = names.chain(framed.iter().map(|row| row.name)).collect();
    let again = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    assert_eq!(again, None, "a name stands twice");
    assert!(names.len() >= 550, "{} rows", names.len());
}

#[test]
fn the_table_holds_for_the_service_over_the_oracle() {
    let subject = Subject::over_the_oracle(subject::patient());
    run::hold(&subject, &rows::all());
}

#[test]
fn the_rows_of_http2_hold_for_the_service_over_the_oracle() {
    let subject = Subject::over_the_oracle(subject::patient());
    http2::hold(&subject, &http2::rows());
}

#[test]
fn a_caller_that_holds_its_share_of_memory_is_refused_over_the_oracle() {
    http2::hold_share(&Subject::over_the_oracle(subject::patient()));
}

#[test]
fn the_rows_that_take_time_hold_for_the_service_over_the_oracle() {
    let subject = Subject::over_the_oracle(subject::impatient());
    run::hold(&subject, &rows::timed());
}

roster_testkit::over_each_engine! {
    the_table_holds_for_the_built_binary,
    the_rows_of_http2_hold_for_the_built_binary,
}

fn the_table_holds_for_the_built_binary(engine: Engine) {
    run::hold(&Subject::binary(engine), &rows::all());
}

fn the_rows_of_http2_hold_for_the_built_binary(engine: Engine) {
    http2::hold(&Subject::binary(engine), &http2::rows());
}
