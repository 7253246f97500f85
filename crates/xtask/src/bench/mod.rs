//! The bench: the real binary, a bare hyper server and the engine's bare loop, in turn.
//!
//! `cargo xtask bench [--quick] [--users N]` prints ratios, for figures of two sittings or two
//! machines do not compare, and holds them against the targets. `--engine postgres` measures the
//! service over PostgreSQL instead. Nothing else may run meanwhile.
//! It knows the service from outside only: its command line, its port, and the tables it keeps.

mod answer;
mod bulk;
mod case;
mod disk;
mod engine;
mod growth;
mod hello;
mod load;
mod overload;
mod people;
mod postgres;
mod process;
mod report;
mod seed;
mod sitting;
mod statements;
mod stored;
mod targets;
mod work;

use std::{
    env,
    fs::File,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

pub(crate) use overload::run as overload;

use self::{
    report::{median, number, print_rows, print_table, say},
    sitting::Results,
};

const USAGE: &str = "usage: cargo xtask bench [--engine sqlite|postgres] [--quick] [--users N] \
    [--binary PATH]";
/// How busy a machine may be that counts as idle.
const BUSY_PERCENT_MAX: u64 = 10;
/// Fewest users: enough for pages that are neither first nor last.
const USERS_MIN: u64 = 1000;

/// What to measure, and with which binaries.
struct Options {
    users: u64,
    rounds: u32,
    warm_up: Duration,
    measure: Duration,
    program: PathBuf,
    roster: PathBuf,
    place: PathBuf,
}

/// Runs the bench with the words that follow `bench` on the command line.
pub(crate) fn run(words: &[String]) -> Result<ExitCode> {
    if let [first, address] = words
        && first == "hello"
    {
        hello::serve(address.parse()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let asked = parse(words)?;
    if cfg!(debug_assertions) {
        run_optimised("bench", words)?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = options(&asked)?;
    let _alone = alone(&options.place)?;
    warn_of_company()?;
    if asked.store == Store::Postgres {
        postgres::run(&options)?;
        return Ok(ExitCode::SUCCESS);
    }
    let results = sitting::run(&options)?;
    say(&format!("\nMedians of {} rounds, {} users\n", results.append_us.len(), asked.users))?;
    print_figures(&results)?;
    say("Against the targets\n")?;
    let mut rows = targets::rows(&results, asked.users);
    rows.extend(growth::rows(&results, &options.program, asked.users)?);
    print_rows(&rows)?;
    Ok(ExitCode::SUCCESS)
}

/// Sees to it that no other bench runs on the same place: each would remove what the other has
/// there. The lock lasts as long as the file is open.
fn alone(place: &Path) -> Result<File> {
    let file = File::create(place.with_extension("lock"))?;
    file.try_lock().context("another bench is running")?;
    Ok(file)
}

/// Says so when something else is running: then the figures do not count.
fn warn_of_company() -> Result<()> {
    let before = process::machine_time()?;
    thread::sleep(Duration::from_secs(1));
    let after = process::machine_time()?;
    let busy = (after.busy - before.busy) * 100 / (after.all - before.all).max(1);
    if busy > BUSY_PERCENT_MAX {
        say(&format!("The machine is {busy} % busy with something else: the figures lie.\n"))?;
    }
    Ok(())
}

/// What the service keeps its users in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    Sqlite,
    Postgres,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    store: Store,
    quick: bool,
    users: u64,
    binary: Option<PathBuf>,
}

fn parse(words: &[String]) -> Result<Asked> {
    let mut asked = Asked { store: Store::Sqlite, quick: false, users: 10_000, binary: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => asked.quick = true,
            "--engine" => asked.store = store(words.next().context(USAGE)?)?,
            "--users" => asked.users = words.next().context(USAGE)?.parse()?,
            "--binary" => asked.binary = Some(words.next().context(USAGE)?.into()),
            _ => bail!(USAGE),
        }
    }
    ensure!(asked.users >= USERS_MIN, "at least {USERS_MIN} users");
    Ok(asked)
}

fn store(word: &str) -> Result<Store> {
    match word {
        "sqlite" => Ok(Store::Sqlite),
        "postgres" => Ok(Store::Postgres),
        _ => bail!(USAGE),
    }
}

fn options(asked: &Asked) -> Result<Options> {
    let program = env::current_exe()?;
    let roster = if let Some(path) = &asked.binary {
        path.clone()
    } else {
        build(&["roster"])?;
        program.with_file_name("roster")
    };
    ensure!(roster.is_file(), "{} does not exist", roster.display());
    let (rounds, warm_up, measure) = if asked.quick { (3, 100, 300) } else { (7, 300, 1000) };
    Ok(Options {
        users: asked.users,
        rounds,
        warm_up: Duration::from_millis(warm_up),
        measure: Duration::from_millis(measure),
        place: program.with_file_name("bench"),
        program,
        roster,
    })
}

/// Builds the bench itself as it has to be built, and goes on in that.
fn run_optimised(tool: &str, words: &[String]) -> Result<()> {
    build(&["roster", "xtask"])?;
    let program = env::current_exe()?;
    let target = program.ancestors().nth(2).context("xtask runs outside a target directory")?;
    let optimised = target.join("release").join("xtask");
    let status = Command::new(optimised).arg(tool).args(words).status()?;
    ensure!(status.success(), "the {tool} ended with {status}");
    Ok(())
}

fn build(packages: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
    cargo.args(["build", "--release"]).args(packages.iter().flat_map(|name| ["-p", name]));
    ensure!(cargo.status()?.success(), "the build failed");
    Ok(())
}

fn print_figures(results: &Results) -> Result<()> {
    let mut lines = Vec::new();
    for case in case::CASES {
        let figure = |of: fn(&sitting::Sample) -> f64, unit| {
            results.figure(case, of).map_or_else(String::new, |value| number(value, unit))
        };
        let bytes = results.cases.get(&case).and_then(|samples| samples.last());
        lines.push(vec![
            case.to_string(),
            figure(|sample| sample.rate, "/s"),
            figure(|sample| sample.p50_us, "us"),
            figure(|sample| sample.p99_us, "us"),
            figure(|sample| sample.cpu_us, "us"),
            bytes.map_or_else(String::new, |sample| sample.body_bytes.to_string()),
        ]);
    }
    for (name, rates) in
        [("import, one stream", &results.imports), ("export, one stream", &results.exports)]
    {
        let rate = median(rates.clone()).map(|value| number(value, "/s"));
        lines.push(vec![name.to_owned(), rate.unwrap_or_default()]);
    }
    for act in engine::ACTS {
        let figure = |part: fn(&engine::Grouped) -> f64, unit| {
            let values = results.engine.iter().map(|round| part(&round.of(act))).collect();
            median(values).map_or_else(String::new, |value| number(value, unit))
        };
        lines.push(vec![
            format!("engine, {act:?}, groups of {}", act.group()),
            figure(|grouped| grouped.rate, "/s"),
            figure(|grouped| grouped.commit_p50_us, "us"),
            figure(|grouped| grouped.commit_p99_us, "us"),
        ]);
    }
    let append = median(results.append_us.clone()).map(|value| number(value, "us"));
    let name = "durable append of 4 KiB".to_owned();
    lines.push(vec![name, String::new(), append.unwrap_or_default()]);
    let heads = ["", "rate", "p50", "p99", "server CPU", "body bytes"];
    print_table(&heads, &lines)
}

#[cfg(test)]
mod tests {
    use super::{Asked, Store, alone, parse};

    #[test]
    fn two_benches_do_not_share_a_place() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("bench");
        let first = alone(&place).unwrap();
        assert!(alone(&place).is_err());
        drop(first);
        assert!(alone(&place).is_ok());
    }

    #[test]
    fn the_command_line_is_read_or_refused() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let asked = Asked { store: Store::Sqlite, quick: false, users: 10_000, binary: None };
        assert_eq!(parse(&[]).unwrap(), asked);
        let asked =
            Asked { store: Store::Sqlite, quick: true, users: 5000, binary: Some("a/b".into()) };
        assert_eq!(parse(&words("--quick --users 5000 --binary a/b")).unwrap(), asked);
        assert_eq!(parse(&words("--engine postgres")).unwrap().store, Store::Postgres);
        assert!(parse(&words("--engine mysql")).is_err());
        assert!(parse(&words("--users")).is_err());
        assert!(parse(&words("--users 10")).is_err());
        assert!(parse(&words("--fast")).is_err());
    }
}
