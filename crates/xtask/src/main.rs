//! The repository's own tools: `cargo xtask tidy`.
//!
//! A tiny dispatcher; each tool is a module. Nothing here is part of the product.

mod tidy;

use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <TOOL>

  tidy    check the house rules that no compiler or linter checks
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("tidy") => tidy::run(),
        Some(_) | None => Err(anyhow::anyhow!(USAGE)),
    };
    outcome.unwrap_or_else(|error| {
        writeln!(io::stderr().lock(), "{error:#}").unwrap_or_default();
        ExitCode::from(2)
    })
}
