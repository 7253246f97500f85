//! The repository's own tools: `cargo xtask tidy`, `cargo xtask bench`, `cargo xtask overload`.
//!
//! A tiny dispatcher; each tool is a module. Nothing here is part of the product.

mod bench;
mod tidy;

use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <TOOL>

  tidy      check the house rules that no compiler or linter checks
  bench     measure the built service against what the machine and the store allow
  overload  ask the built service for more than it can do, and see what becomes of it
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("tidy") => tidy::run(),
        Some("bench") => bench::run(&arguments.collect::<Vec<_>>()),
        Some("overload") => bench::overload(&arguments.collect::<Vec<_>>()),
        Some(_) | None => Err(anyhow::anyhow!(USAGE)),
    };
    outcome.unwrap_or_else(|error| {
        writeln!(io::stderr().lock(), "{error:#}").unwrap_or_default();
        ExitCode::from(2)
    })
}
