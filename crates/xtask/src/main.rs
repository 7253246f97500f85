//! The repository's own tools: `cargo xtask tidy`, `lines`, `bench` and `overload`.
//!
//! Nothing here is part of the product.
//!
//! - `tidy`: the house rules that no compiler checks, and the count of lines
//! - `bench`: the bench and the overload run, with their load generator

mod bench;
mod tidy;

use std::{
    io::{self, Write},
    net::SocketAddr,
    process::ExitCode,
};

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Tool {
    /// Check the house rules that no compiler or linter checks
    Tidy,
    /// Count the lines of each crate without its tests, and the circles of imports
    Lines,
    /// Measure the built service against what the machine and the store allow
    Bench(bench::Bench),
    /// Ask the built service for more than it can do
    Overload(bench::Overload),
    /// A bare HTTP server
    #[command(hide = true)]
    Hello {
        /// Where it listens
        address: SocketAddr,
    },
}

fn main() -> ExitCode {
    let outcome = match Tool::parse_from(std::env::args()) {
        Tool::Tidy => tidy::run(),
        Tool::Lines => tidy::count_lines(),
        Tool::Bench(words) => bench::run(words),
        Tool::Overload(words) => bench::overload(words),
        Tool::Hello { address } => bench::hello(address).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        writeln!(io::stderr().lock(), "{error:#}").unwrap_or_default();
        ExitCode::from(2)
    })
}
