//! The rows of a service over PostgreSQL.
//!
//! `cargo xtask bench --engine postgres` starts a cluster of its own and measures, in turns, the
//! service over it, the same reads and writes in a bare loop, and the service over SQLite. What is
//! told are ratios of one sitting, as everywhere in the bench.

mod cluster;
mod counter;
mod creates;
mod reads;
mod side;
mod sitting;
mod stored;
mod table;
#[cfg(test)]
mod tests;

use anyhow::Result;

use super::{
    Options,
    report::{print_rows, say},
};

/// Measures everything, in a directory of its own that is removed before and afterwards.
pub(super) fn run(options: &Options) -> Result<()> {
    say(&format!("PostgreSQL with {}", cluster::SETTINGS.join(", ")))?;
    let results = sitting::run(options)?;
    say(&format!("\nMedians of {} rounds, {} users\n", options.rounds, options.users))?;
    table::print_figures(&results)?;
    say("Bytes on the disk, as the service filled it\n")?;
    table::print_disk(&results.disk, options.users)?;
    say("Against the targets\n")?;
    print_rows(&table::rows(&results))
}
