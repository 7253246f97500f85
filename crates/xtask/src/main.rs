//! The repository's own tools: `cargo xtask tidy`, `lines`, `bench` and `overload`.
//!
//! None of these tools is part of the product.
//!
//! - `tidy`: the repository's rules that no compiler checks, and the count of lines
//! - `bench`: the benchmark and the overload run, with their load generator

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
    /// Check the repository's rules that no compiler or linter checks
    Tidy,
    /// Count the lines of each crate without its tests, and the circles of imports
    Lines,
    /// Compare the built service with the limits of the machine and the store
    Bench(bench::Bench),
    /// Send the built service more requests than it can process
    Overload(bench::Overload),
    /// A bare HTTP server
    #[command(hide = true)]
    Hello {
        /// The address on which it listens
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
