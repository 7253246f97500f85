//! Measures the service under overload.
//!
//! `cargo xtask overload` requests the longest pages in an open loop, at twice and at ten times the
//! peak, for a minute each. The peak is the highest rate that the service reaches for the same open
//! loop. Each request is for another page. The service has one processor and the generator the
//! other. With `--slice` the run is short and only checks that every request gets a response,
//! because times on a busy machine are meaningless. With `--quick` everything takes a sixth of the
//! time.

mod health;

use std::{
    env, fs,
    process::{Command, ExitCode},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::{
    Common, Options,
    load::{self, Load, Outcome, Pace, Timed},
    process::Server,
    report::{Figure, Target, number, print_figures, print_table, say},
    run_optimised,
    service::{Service, turns},
    warn_if_busy,
};
use health::{Health, Probe};

/// The longest page there is.
const PAGE: usize = 1_000;
/// The number of pages that are requested in turn.
const PAGES: usize = 256;
/// The commands that pin a process to the processor of the service, and to that of the generator.
const SERVICE_PROCESSOR: [&str; 3] = ["taskset", "-c", "0"];
const GENERATOR_PROCESSOR: &str = "1";
const CONNECTIONS: usize = 256;
/// The ordinary load, as a share of the peak.
const ORDINARY: f64 = 0.7;
/// The overloads, as multiples of the peak, with the minimum goodput of each as a share of the
/// peak.
const OVERLOADS: [(&str, f64, f64); 2] = [("2 x", 2.0, 0.85), ("10 x", 10.0, 0.6)];
/// The service has recovered after this number of consecutive good responses.
const RECOVERED_AFTER: usize = 100;

/// The command-line arguments.
#[derive(Args)]
pub(crate) struct Overload {
    #[command(flatten)]
    common: Common,
    /// A few seconds without goals, for a busy machine
    #[arg(long, conflicts_with = "quick")]
    slice: bool,
}

/// The durations of the parts, and the maximum time of a health probe.
struct Times {
    peak: Duration,
    ordinary: Duration,
    overload: Duration,
    probe: Duration,
}

/// One part of a run.
struct Part {
    name: String,
    outcome: Outcome,
    health: Health,
}

/// Runs the overload benchmark.
pub(crate) fn run(words: Overload) -> Result<ExitCode> {
    if cfg!(debug_assertions) && !words.slice {
        return run_optimised();
    }
    let times = if words.slice {
        let [peak, ordinary, overload, probe] = [1, 1, 2, 10].map(Duration::from_secs);
        Times { peak, ordinary, overload, probe }
    } else {
        warn_if_busy()?;
        let [peak, ordinary, overload, probe] = [15, 30, 60, 1].map(Duration::from_secs);
        let share = if words.common.quick { 6 } else { 1 };
        let (peak, ordinary, overload) = (peak / share.min(3), ordinary / share, overload / share);
        Times { peak, ordinary, overload, probe }
    };
    let options = Options::new(words.common, None, "overload")?;
    measure(&options, &times, words.slice)?;
    Ok(ExitCode::SUCCESS)
}

fn measure(options: &Options, times: &Times, is_slice: bool) -> Result<()> {
    let place = &options.place;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    let data = place.join("data");
    fs::create_dir_all(place)?;
    let binary = options.binaries.first().context("no binary")?;
    let mut filling = Service::start(&[], binary, &data, &[], Vec::new())?;
    filling.fill(options.users)?;
    filling.server.stop()?;
    let me = std::process::id().to_string();
    let pinned =
        Command::new("taskset").args(["-a", "-p", "-c", GENERATOR_PROCESSOR, &me]).output();
    let pinned = pinned.context("taskset is missing: apt-get install util-linux")?;
    ensure!(pinned.status.success(), "{}", String::from_utf8_lossy(&pinned.stderr));
    let service = Service::start(&SERVICE_PROCESSOR, binary, &data, &[], Vec::new())?;
    if !is_slice {
        generator_alone()?;
    }
    let paths = service.second_pages(PAGE, PAGES)?;
    let server = &service.server;
    let run = |pace, connections, measure| {
        let processes = [Some(server.id()), None];
        let (address, warm_up) = (server.address, Duration::ZERO);
        let load = Load { address, processes, connections, pace, warm_up, measure };
        load::run(&load, &mut turns(address, &paths))
    };
    let closed = run(Pace::Closed, 8, times.peak / 3)?.rate();
    let mut peak = 0.0_f64;
    for share in [0.8, 0.9, 1.0, 1.1, 1.2] {
        let outcome = run(Pace::Open(closed * share), CONNECTIONS, times.peak / 3)?;
        peak = peak.max(outcome.rate());
    }
    let (closed, most) = (number(closed, "/s"), number(peak, "/s"));
    say(&format!("in a closed loop it does {closed}, in an open loop {most} at most: the peak"))?;
    let probe = Probe { address: server.address, process: server.id(), timeout: times.probe };
    let part = |name: String, share: f64, lasts| {
        let (outcome, health) =
            probe.during(|| run(Pace::Open(peak * share), CONNECTIONS, lasts))?;
        anyhow::Ok(Part { name, outcome, health })
    };
    let mut parts = vec![part("70 %".to_owned(), ORDINARY, times.ordinary)?];
    for (name, share, _) in OVERLOADS {
        thread::sleep(Duration::from_secs(2));
        parts.push(part(name.to_owned(), share, times.overload)?);
        let after = times.ordinary.min(times.overload);
        parts.push(part(format!("after {name}"), ORDINARY, after)?);
    }
    print_parts(&parts)?;
    check(&parts)?;
    if !is_slice {
        judge(&parts, peak)?;
    }
    service.server.stop()?;
    Ok(fs::remove_dir_all(place)?)
}

/// The maximum rate of the generator, against a bare server. It must exceed the rates of the runs.
fn generator_alone() -> Result<()> {
    let program = env::current_exe()?;
    let [taskset, words @ ..] = SERVICE_PROCESSOR;
    let hello = |address: &str| {
        let mut command = Command::new(taskset);
        command.args(words).arg(&program).args(["hello", address]);
        Ok(command)
    };
    let hello = Server::start(hello, "/")?;
    let (address, paths) = (hello.address, ["/".to_owned()]);
    let load = Load {
        address,
        processes: [None; 2],
        connections: CONNECTIONS,
        pace: Pace::Open(30_000.0),
        warm_up: Duration::ZERO,
        measure: Duration::from_secs(3),
    };
    let outcome = load::run(&load, &mut turns(address, &paths))?;
    say(&format!(
        "the generator alone, against a bare server: {} due, {} done, 99 of 100 sent within {} us",
        number(f64::from(outcome.due) / outcome.elapsed.as_secs_f64(), "/s"),
        number(outcome.rate(), "/s"),
        outcome.late_ns.value_at_quantile(0.99) / 1000,
    ))
}

fn print_parts(parts: &[Part]) -> Result<()> {
    let ms = |time: Duration| number(time.as_secs_f64() * 1e3, "ms");
    let line = |part: &Part| {
        let Part { name, outcome, health } = part;
        let seconds = outcome.elapsed.as_secs_f64();
        let refused = outcome.statuses.get(&503).copied().unwrap_or(0);
        let cpu = outcome.cpu.iter().sum::<Duration>().as_secs_f64();
        let at = |times: &hdrhistogram::Histogram<u64>, quantile| {
            ms(Duration::from_nanos(times.value_at_quantile(quantile)))
        };
        vec![
            name.clone(),
            number(f64::from(outcome.due) / seconds, "/s"),
            number(outcome.rate(), "/s"),
            at(&outcome.good_ns, 0.5),
            at(&outcome.good_ns, 0.99),
            number(f64::from(refused) / seconds, "/s"),
            at(&outcome.refused_ns, 0.5),
            at(&outcome.refused_ns, 0.99),
            number(cpu * 100.0 / seconds, "%"),
            number(f64::from(outcome.good) / cpu, ""),
            at(&outcome.late_ns, 0.99),
            outcome.lost.to_string(),
            format!("{}/{}", health.healthy, health.probes),
            ms(health.longest),
            format!("{:.0} -> {:.0} MiB", health.memory_mib.0, health.memory_mib.1),
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
        "healthy",
        "longest",
        "memory",
    ];
    say("")?;
    print_table(&heads, &lines)
}

/// Checks the conditions that must hold on any machine, even if it is busy.
fn check(parts: &[Part]) -> Result<()> {
    for Part { name, outcome, health } in parts {
        let others = outcome.statuses.keys().filter(|status| ![200, 503].contains(*status));
        let others: Vec<_> = others.collect();
        ensure!(others.is_empty(), "{name}: answered {others:?}");
        ensure!(outcome.lost == 0, "{name}: {} requests got no response", outcome.lost);
        ensure!(outcome.without_retry_after == 0, "{name}: a 503 without Retry-After");
        ensure!(outcome.statuses.contains_key(&200), "{name}: no request succeeded");
        ensure!(health.healthy == health.probes, "{name}: {health:?}");
    }
    Ok(())
}

fn judge(parts: &[Part], peak: f64) -> Result<()> {
    let [ordinary, rest @ ..] = parts else { bail!("nothing was measured") };
    let p99 = |part: &Part| Duration::from_nanos(part.outcome.good_ns.value_at_quantile(0.99));
    let mut figures = Vec::new();
    for (pair, (name, _, goodput_min)) in rest.chunks(2).zip(OVERLOADS) {
        let [over, after] = pair else { continue };
        let Health { probes, healthy, memory_mib: (first, most), .. } = over.health;
        let ratio = p99(over).as_secs_f64() / p99(ordinary).as_secs_f64();
        let healthy = f64::from(healthy) * 100.0 / f64::from(probes.max(1));
        let recovered = recovery(&after.outcome.timeline, p99(ordinary) * 3);
        let goodput = over.outcome.rate() / peak;
        for (what, value, unit, target) in [
            ("2xx, to the peak", Some(goodput), "x", Target::AtLeast(goodput_min)),
            ("p99 of 2xx, to that at 70 %", Some(ratio), "x", Target::AtMost(3.0)),
            ("health answered", Some(healthy), "%", Target::AtLeast(100.0)),
            ("recovered after", recovered, "s", Target::AtMost(5.0)),
            ("memory grown by", Some(most - first), "MiB", Target::AtMost(64.0)),
        ] {
            figures.push(Figure { name: format!("{name}: {what}"), value, unit, target });
        }
    }
    say("Against the goals\n")?;
    print_figures(&figures)
}

/// The time of the first of enough consecutive good responses that are no slower than an overload
/// allows, in seconds.
fn recovery(timeline: &[Timed], slowest: Duration) -> Option<f64> {
    let is_good = |one: &Timed| one.status == 200 && one.took <= slowest;
    let row = timeline.windows(RECOVERED_AFTER).find(|row| row.iter().all(is_good))?;
    row.first().map(|one| one.at.as_secs_f64())
}
