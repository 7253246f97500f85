//! Measures the service under overload.
//!
//! `cargo xtask overload` asks for the longest pages in an open loop, at twice and at ten times the
//! peak, for a minute each. The peak is the most that the service does for the same open loop. Each
//! request asks for another page. The service has one processor and the generator the other. With
//! `--slice` the run is short and only checks that every request gets a response: times of a busy
//! machine say nothing. With `--quick` everything takes a sixth of its time.

mod arrivals;
mod health;
mod open_loop;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Options, Store, alone,
    load::{self, Load},
    options, parse,
    process::{Server, cpu_times},
    report::{Row, Target, number, print_rows, print_table, say},
    run_optimised, seed, warn_of_company,
    work::Turns,
};
use health::{Found, Visitor};
use open_loop::{Outcome, Plan};

const USAGE: &str = "usage: cargo xtask overload [--slice | --quick] [--users N] [--binary PATH]";
/// The longest page there is.
const PAGE: usize = 1_000;
/// How many pages are asked for in turn.
const PAGES: usize = 256;
/// The processor of the service, and that of the generator.
const PROCESSORS: (&str, &str) = ("0", "1");
const CONNECTIONS: usize = 256;
/// Ordinary load, as a share of the peak.
const ORDINARY: f64 = 0.7;
/// Full load, as a share of the peak: the service is never idle.
const FULL: f64 = 1.2;
/// The least goodput at twice and at ten times the peak, as a share of it.
const GOODPUT_MIN: [f64; 2] = [0.85, 0.6];
/// So many answers in a row as they should be: it has recovered.
const RECOVERED_AFTER: usize = 100;

/// How long the parts of a sitting take.
#[derive(Clone, Copy)]
struct Times {
    peak: Duration,
    ordinary: Duration,
    overload: Duration,
    /// How long an answer to a question after its health may take.
    patience: Duration,
}

/// One part of a sitting.
struct Part {
    name: String,
    outcome: Outcome,
    health: Found,
    /// What the service used of its processor.
    cpu: Duration,
}

/// Runs with the words that follow `overload` on the command line.
pub(crate) fn run(words: &[String]) -> Result<ExitCode> {
    let slice = words.iter().any(|word| word == "--slice");
    if cfg!(debug_assertions) && !slice {
        run_optimised("overload", words)?;
        return Ok(ExitCode::SUCCESS);
    }
    let words: Vec<String> = words.iter().filter(|word| *word != "--slice").cloned().collect();
    let asked = parse(&words).context(USAGE)?;
    ensure!(asked.store == Store::Sqlite && !(asked.quick && slice), USAGE);
    let mut options = options(&asked)?;
    options.place = options.program.with_file_name("overload");
    let _alone = alone(&options.place)?;
    let seconds = Duration::from_secs;
    let times = if slice {
        Times {
            peak: seconds(1),
            ordinary: seconds(1),
            overload: seconds(2),
            patience: seconds(10),
        }
    } else {
        warn_of_company()?;
        let share = if asked.quick { 6 } else { 1 };
        Times {
            peak: seconds(15) / share.min(3),
            ordinary: seconds(30) / share,
            overload: seconds(60) / share,
            patience: seconds(1),
        }
    };
    sitting(&options, times, slice)?;
    Ok(ExitCode::SUCCESS)
}

fn sitting(options: &Options, times: Times, slice: bool) -> Result<()> {
    let place = &options.place;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    let data = place.join("data");
    fs::create_dir_all(place)?;
    say(&format!("load of the machine: {}", load_average()?))?;
    let filling = seed::start(options, &data, &[])?;
    seed::fill(&filling, options.users)?;
    filling.stop()?;
    pin_myself()?;
    let server = start(&options.roster, &data)?;
    if !slice {
        generator_alone(&options.program)?;
    }
    let pages = seed::second_pages(&server, PAGE, PAGES)?;
    let (waiting, cpu_us) = closed_loop(&server, &pages, times.peak)?;
    let cpu = number(cpu_us, "us");
    let text = format!("in a closed loop it does {}, with {cpu} each", number(waiting, "/s"));
    say(&text)?;
    let peak = peak(&server, &pages, waiting, times.peak)?;
    say(&format!("in an open loop it does {} at most: the peak", number(peak, "/s")))?;
    let visitor =
        Visitor { address: server.address, process: server.id(), patience: times.patience };
    let part = |name: &str, share: f64, lasts| part(visitor, name, &pages, peak * share, lasts);
    let ordinary = part("70 %", ORDINARY, times.ordinary)?;
    let full = part("1.2 x", FULL, times.ordinary)?;
    let mut parts = vec![ordinary, full];
    for (name, share) in [("2 x", 2.0), ("10 x", 10.0)] {
        thread::sleep(Duration::from_secs(2));
        parts.push(part(name, share, times.overload)?);
        let after = times.ordinary.min(times.overload);
        parts.push(part(&format!("after {name}"), ORDINARY, after)?);
    }
    say(&format!("load of the machine: {}", load_average()?))?;
    figures(&parts)?;
    everybody_was_answered(&parts)?;
    if !slice {
        judge(&parts, peak)?;
    }
    server.stop()?;
    fs::remove_dir_all(place)?;
    Ok(())
}

fn start(roster: &Path, data: &Path) -> Result<Server> {
    let roster = roster.display().to_string();
    let data = data.display().to_string();
    let arguments = |address: SocketAddr| {
        let address = address.to_string();
        let words = ["-c", PROCESSORS.0, &roster, "serve", "--listen", &address, "--data", &data];
        words.map(String::from).to_vec()
    };
    Server::start(&PathBuf::from("taskset"), arguments, "/users?limit=1")
}

/// Leaves the service's processor to the service.
fn pin_myself() -> Result<()> {
    let me = std::process::id().to_string();
    let pinned = Command::new("taskset").args(["-a", "-p", "-c", PROCESSORS.1, &me]).output();
    let pinned = pinned.context("taskset is missing: apt-get install util-linux")?;
    ensure!(pinned.status.success(), "{}", String::from_utf8_lossy(&pinned.stderr));
    Ok(())
}

/// What the generator itself can do, against a bare server: it must be more than it is asked for.
fn generator_alone(program: &Path) -> Result<()> {
    let program = program.display().to_string();
    let arguments = |address: SocketAddr| {
        let address = address.to_string();
        ["-c", PROCESSORS.0, &program, "bench", "hello", &address].map(String::from).to_vec()
    };
    let hello = Server::start(&PathBuf::from("taskset"), arguments, "/")?;
    let (address, lasts) = (hello.address, Duration::from_secs(3));
    let plan = Plan {
        address,
        paths: &["/".to_owned()],
        rate: 30_000.0,
        lasts,
        connections: CONNECTIONS,
        seed: 1,
    };
    let outcome = open_loop::run(&plan)?;
    let late = outcome.late_us.value_at_quantile(0.99);
    let text = format!(
        "the generator alone, against a bare server: {} asked, {} answered, 99 of 100 sent within \
         {late} us of when they were due",
        number(f64::from(outcome.due) / lasts.as_secs_f64(), "/s"),
        number(outcome.goodput(), "/s"),
    );
    say(&text)
}

/// The most that it does in a closed loop, and the processor time of each response.
fn closed_loop(server: &Server, paths: &[String], lasts: Duration) -> Result<(f64, f64)> {
    let mut most = (0.0_f64, 0.0);
    for connections in [2, 8] {
        let load = Load {
            address: server.address,
            process: Some(server.id()),
            connections,
            warm_up: lasts / 10,
            measure: lasts / 3,
        };
        let mut work = Turns { host: server.address, paths: paths.iter().cycle() };
        let outcome = load::run(load, &mut work)?;
        if outcome.rate() > most.0 {
            most = (outcome.rate(), outcome.cpu_per_answer().as_secs_f64() * 1e6);
        }
    }
    Ok(most)
}

/// The most that it does in an open loop.
fn peak(server: &Server, paths: &[String], waiting: f64, lasts: Duration) -> Result<f64> {
    let mut most = 0.0_f64;
    for share in [0.8, 0.9, 1.0, 1.1, 1.2] {
        let (address, rate, lasts) = (server.address, waiting * share, lasts / 3);
        let plan = Plan { address, paths, rate, lasts, connections: CONNECTIONS, seed: 3 };
        let outcome = open_loop::run(&plan)?;
        most = most.max(outcome.goodput());
    }
    Ok(most)
}

fn part(
    visitor: Visitor,
    name: &str,
    paths: &[String],
    rate: f64,
    lasts: Duration,
) -> Result<Part> {
    let Visitor { address, process, .. } = visitor;
    let plan = Plan { address, paths, rate, lasts, connections: CONNECTIONS, seed: 7 };
    let before = cpu_times(process)?;
    let (outcome, health) = health::beside(visitor, || open_loop::run(&plan))?;
    let cpu = cpu_times(process)?.since(&before);
    Ok(Part { name: name.to_owned(), outcome, health, cpu })
}

fn load_average() -> Result<String> {
    Ok(fs::read_to_string("/proc/loadavg")?.trim().to_owned())
}

fn figures(parts: &[Part]) -> Result<()> {
    let line = |part: &Part| {
        let Part { name, outcome, health, cpu } = part;
        let seconds = outcome.lasted.as_secs_f64();
        let refused = outcome.answers.get(&503).copied().unwrap_or(0);
        let ms = |micros: u64| number(Duration::from_micros(micros).as_secs_f64() * 1e3, "ms");
        let mib = |kib: u64| format!("{} MiB", kib / 1024);
        vec![
            name.clone(),
            number(f64::from(outcome.due) / seconds, "/s"),
            number(outcome.goodput(), "/s"),
            ms(outcome.good_us.value_at_quantile(0.5)),
            ms(outcome.good_us.value_at_quantile(0.99)),
            number(f64::from(refused) / seconds, "/s"),
            ms(outcome.refused_us.value_at_quantile(0.5)),
            ms(outcome.refused_us.value_at_quantile(0.99)),
            format!("{:.0} %", cpu.as_secs_f64() * 100.0 / seconds),
            number(f64::from(outcome.good_in_time) / cpu.as_secs_f64(), ""),
            format!("{} us", outcome.late_us.value_at_quantile(0.99)),
            format!("{}", outcome.lost),
            format!("{}/{}", health.well, health.asked),
            number(health.longest.as_secs_f64() * 1e3, "ms"),
            format!("{} -> {}", mib(health.memory_kib.0), mib(health.memory_kib.1)),
        ]
    };
    let lines: Vec<_> = parts.iter().map(line).collect();
    let heads = [
        "",
        "due",
        "2xx",
        "p50",
        "p99",
        "503",
        "p50",
        "p99",
        "CPU",
        "2xx/CPU s",
        "sent late",
        "lost",
        "well",
        "longest",
        "memory",
    ];
    say("")?;
    print_table(&heads, &lines)
}

/// What must hold on any machine, however busy.
fn everybody_was_answered(parts: &[Part]) -> Result<()> {
    for Part { name, outcome, health, .. } in parts {
        let strange: Vec<_> = outcome.answers.keys().filter(|s| ![200, 503].contains(*s)).collect();
        ensure!(strange.is_empty(), "{name}: answered {strange:?}");
        ensure!(outcome.lost == 0, "{name}: {} requests got no answer", outcome.lost);
        ensure!(outcome.without_wait == 0, "{name}: a 503 does not say when to come back");
        ensure!(outcome.answers.contains_key(&200), "{name}: nobody was served");
        ensure!(health.well == health.asked, "{name}: {health:?}");
    }
    Ok(())
}

fn judge(parts: &[Part], peak: f64) -> Result<()> {
    let [ordinary, full, rest @ ..] = parts else { bail!("nothing was measured") };
    let p99 = |part: &Part| part.outcome.good_us.value_at_quantile(0.99);
    let ordinary_p99 = Duration::from_micros(p99(ordinary));
    let mut rows = Vec::new();
    for (pair, goodput_min) in rest.chunks(2).zip(GOODPUT_MIN) {
        let [over, after] = pair else { continue };
        let row = |what: &str, value, unit, target| Row {
            work: format!("{}: {what}", over.name),
            value,
            unit,
            target,
        };
        let Found { asked, well, memory_kib: (first, most), .. } = over.health;
        let ratio = Duration::from_micros(p99(over)).as_secs_f64() / ordinary_p99.as_secs_f64();
        let grown = u32::try_from(most.saturating_sub(first)).map(f64::from).ok();
        let health = f64::from(well) * 100.0 / f64::from(asked.max(1));
        rows.extend([
            row(
                "2xx, to the peak",
                Some(over.outcome.goodput() / peak),
                "x",
                Target::AtLeast(goodput_min),
            ),
            row(
                "2xx, to those at 1.2 x",
                Some(over.outcome.goodput() / full.outcome.goodput()),
                "x",
                Target::Informational,
            ),
            row("p99 of 2xx, to that at 70 %", Some(ratio), "x", Target::AtMost(3.0)),
            row("health answered", Some(health), "%", Target::AtLeast(100.0)),
            row(
                "recovered after",
                recovery(&after.outcome, ordinary_p99),
                "s",
                Target::AtMost(5.0),
            ),
            row("memory grown by", grown.map(|kib| kib / 1024.0), "MiB", Target::AtMost(64.0)),
        ]);
    }
    say("Against the targets\n")?;
    print_rows(&rows)
}

/// When all was as it should be again: the start of the first answers in a row that were good and
/// no slower than an overload may make them.
fn recovery(after: &Outcome, ordinary_p99: Duration) -> Option<f64> {
    let good = |came: &open_loop::Came| came.status == 200 && came.took <= ordinary_p99 * 3;
    let all = after.first.as_slice();
    let row = all.windows(RECOVERED_AFTER).find(|row| row.iter().all(good))?;
    row.first().map(|came| came.at.as_secs_f64())
}
