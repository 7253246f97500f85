//! Compares the engine with the oracle on random filters and searches over random users: `cargo run
//! -p roster-sqlite --example random_queries -- --queries 10000 --seed 1`.
//!
//! Fails at the first difference. Otherwise it prints how many queries found users.
#![expect(clippy::print_stdout, reason = "this is how a command answers")]

use std::{error::Error, sync::Arc};

use roster_sqlite::{Settings, Sqlite};
use roster_testkit::queries;

fn main() -> Result<(), Box<dyn Error>> {
    let (seed, questions) = queries::parse(std::env::args().skip(1))?;
    let directory = tempfile::tempdir()?;
    let settings = Settings::new(directory.path().to_owned(), queries::RULES);
    let store = Arc::new(Sqlite::open(settings)?);
    let runtime = tokio::runtime::Runtime::new()?;
    let tally = runtime.block_on(queries::compare(store, seed, questions));
    println!("seed {seed}: {tally}");
    Ok(())
}
