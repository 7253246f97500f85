//! The benchmark: the built service, compared with bare loops on the same machine and store.
//!
//! `cargo xtask bench` prints ratios, because figures of two runs or two machines are not
//! comparable, and compares them with goals. Nothing else may run at the same time. With
//! `--against`, a second binary alternates with the first in every case. The benchmark uses the
//! service only from outside: its command line, its port, and its tables.

mod bare;
mod cases;
mod load;
mod overload;
mod people;
mod process;
mod report;
mod service;
mod sitting;
mod streams;
#[cfg(test)]
mod tests;

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

pub(crate) use bare::hello::serve as hello;
pub(crate) use overload::{Overload, run as overload};
use report::say;

/// The maximum load of a machine that counts as idle.
const IDLE_LOAD_MAX: f64 = 0.3;

/// The command-line arguments.
#[derive(Args)]
pub(crate) struct Bench {
    /// The engine that stores the users
    #[arg(long, value_enum, default_value_t = Engine::Sqlite)]
    engine: Engine,
    #[command(flatten)]
    common: Common,
    /// A second binary, which alternates with the first
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
}

/// The arguments of both tools.
#[derive(Args)]
pub(crate) struct Common {
    /// Three short rounds instead of seven
    #[arg(long)]
    quick: bool,
    /// The number of stored users
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1000..))]
    users: u64,
    /// The binary of the service; by default, a release build is made
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    Sqlite,
    Postgres,
}

/// The options of a run.
struct Options {
    users: u64,
    is_quick: bool,
    binaries: Vec<PathBuf>,
    place: PathBuf,
    /// Prevents another run in the same directory, because each run would remove the files of the
    /// other.
    _alone: File,
}

impl Options {
    fn new(common: Common, against: Option<PathBuf>, place: &str) -> Result<Self> {
        let program = env::current_exe()?;
        let roster = match common.binary {
            Some(path) => path,
            None => build("roster")?,
        };
        let binaries: Vec<_> = [Some(roster), against].into_iter().flatten().collect();
        for binary in &binaries {
            ensure!(binary.is_file(), "{} does not exist", binary.display());
        }
        let binaries = binaries.iter().map(fs::canonicalize).collect::<Result<_, _>>()?;
        let place = program.with_file_name(place);
        let alone = alone(&place)?;
        Ok(Self { users: common.users, is_quick: common.quick, binaries, place, _alone: alone })
    }

    const fn rounds(&self) -> u32 {
        if self.is_quick { 3 } else { 7 }
    }

    const fn warm_up(&self) -> Duration {
        Duration::from_millis(if self.is_quick { 100 } else { 300 })
    }

    const fn measure(&self) -> Duration {
        Duration::from_millis(if self.is_quick { 300 } else { 1000 })
    }
}

/// Runs the benchmark.
pub(crate) fn run(words: Bench) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        return run_optimised();
    }
    let options = Options::new(words.common, words.against, "bench")?;
    warn_if_busy()?;
    let rows = match words.engine {
        Engine::Sqlite => cases::SQLITE,
        Engine::Postgres => cases::POSTGRES,
    };
    sitting::run(&options, rows)?;
    Ok(ExitCode::SUCCESS)
}

/// The lock of a directory, which is held while the file is open.
fn alone(place: &Path) -> Result<File> {
    let file = File::create(place.with_extension("lock"))?;
    file.try_lock().context("another bench is running")?;
    Ok(file)
}

/// Prints a warning if something else is running, because then the figures are not valid.
fn warn_if_busy() -> Result<()> {
    let load = process::machine_load()?;
    if load > IDLE_LOAD_MAX {
        say(&format!("The load of the machine is {load}: do not use the figures.\n"))?;
    }
    Ok(())
}

/// Builds the benchmark itself with optimization, and runs it with the same arguments.
fn run_optimised() -> Result<ExitCode> {
    let status = Command::new(build("xtask")?).args(env::args_os().skip(1)).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes the release build of a package. Returns the path of its program.
fn build(package: &str) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--release", "-p", package]);
    ensure!(cargo.status()?.success(), "the build failed");
    let program = env::current_exe()?;
    let target = program.ancestors().nth(2).context("xtask runs outside a target directory")?;
    Ok(target.join("release").join(package))
}
