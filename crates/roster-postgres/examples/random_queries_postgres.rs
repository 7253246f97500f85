//! Compares the engine with the oracle on random filters and searches over random users: `cargo run
//! -p roster-postgres --example random_queries_postgres -- --queries 10000 --seed 1`.
//!
//! Starts a private PostgreSQL, or uses that of `ROSTER_TEST_POSTGRES`. Fails at the first
//! difference. Otherwise it prints how many queries found users.
#![expect(clippy::print_stdout, reason = "this is how a command answers")]

use std::{error::Error, sync::Arc};

use roster_postgres::{Connector, Postgres, Settings};
use roster_testkit::{postgres::Cluster, queries};

fn main() -> Result<(), Box<dyn Error>> {
    let (seed, questions) = queries::parse(std::env::args().skip(1))?;
    let schema = Cluster::shared().schema();
    let settings = Settings::new(Connector::parse(&schema.url())?, queries::RULES);
    let runtime = tokio::runtime::Runtime::new()?;
    let tally = runtime.block_on(async {
        let store = Postgres::open(settings).await?;
        Ok::<_, Box<dyn Error>>(queries::compare(Arc::new(store), seed, questions).await)
    })?;
    println!("seed {seed}: {tally}");
    Ok(())
}
