//! One run: everything is started and filled, and each case is measured in every round.
//!
//! Compared figures are measured in the same round, one after another, and the result is the median
//! over the rounds. So a machine that is temporarily slower is slower for both. Two binaries
//! alternate in each case. Users that a round created are deleted before the next round.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use super::{
    Options,
    bare::{self, Bare, postgres, sqlite},
    cases::{self, Case, Measure, Read, Row, Sample, Subject, Work},
    load::{Load, Outcome, Pace},
    people::User,
    process::{self, Server},
    report::{Figure, Target, median, number, print_figures, print_table, say},
    service::{self, Service},
    streams,
};

/// Settings of PostgreSQL that differ from its defaults. Durability is that of a production server.
const POSTGRES_SETTINGS: &str = "-c shared_buffers=256MB -c max_wal_size=4GB";
/// The number of starts whose median is the cold start.
const STARTS: usize = 5;
/// The maximum number of users in one import.
const IMPORT_USERS: f64 = 65_536.0;
/// The minimum measuring time for slow pages.
const SCAN_AT_LEAST: Duration = Duration::from_secs(1);

/// A private PostgreSQL, removed when this is dropped.
pub(super) struct Cluster {
    folder: PathBuf,
    /// The URL of its database `roster`.
    pub(super) url: String,
    /// The process that is the parent of the others.
    process: u32,
}

impl Cluster {
    fn script(folder: &Path, command: &str) -> Result<String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/postgres.sh");
        let mut script = Command::new(script);
        script.arg(command).arg(folder).env("ROSTER_POSTGRES_OPTIONS", POSTGRES_SETTINGS);
        let output = script.output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    /// Creates one in a folder that must not exist yet.
    pub(super) fn start(folder: PathBuf) -> Result<Self> {
        let url = Self::script(&folder, "start")?;
        let lock = fs::read_to_string(folder.join("data/postmaster.pid"))?;
        let process = lock.lines().next().context("no process")?.trim().parse()?;
        Ok(Self { folder, url, process })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(Self::script(&self.folder, "stop"));
    }
}

/// The measured subjects: services by subject and binary, the bare server and the bare loop.
struct Sitting<'a> {
    options: &'a Options,
    rows: &'static [Row],
    services: BTreeMap<(Subject, usize), Service>,
    hello: Server,
    bare: Option<Box<dyn Bare>>,
    samples: BTreeMap<(Case, usize), Vec<Sample>>,
    /// The time from the start of the service to its first 200.
    starts_ms: Vec<f64>,
    figures: Vec<Figure>,
    // The last field, so that services and loops are dropped before their database.
    cluster: Option<Cluster>,
}

/// Measures every case of some rows in a new directory, and prints the figures.
pub(super) fn run(options: &Options, rows: &'static [Row]) -> Result<()> {
    let place = &options.place;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let mut sitting = Sitting::begin(options, rows)?;
    for round in 1..=options.rounds() {
        say(&format!("round {round} of {}", options.rounds()))?;
        sitting.round(round)?;
    }
    sitting.print()?;
    drop(sitting);
    Ok(fs::remove_dir_all(place)?)
}

impl<'a> Sitting<'a> {
    fn begin(options: &'a Options, rows: &'static [Row]) -> Result<Self> {
        let hello = |address: &str| {
            let mut command = Command::new(env::current_exe()?);
            command.args(["hello", address]);
            Ok(command)
        };
        let mut sitting = Self {
            options,
            rows,
            services: BTreeMap::new(),
            hello: Server::start(hello, "/")?,
            bare: None,
            samples: BTreeMap::new(),
            starts_ms: Vec::new(),
            figures: Vec::new(),
            cluster: None,
        };
        if rows.iter().any(|row| row.case.subject == Subject::Postgres) {
            sitting.cluster = Some(Cluster::start(options.place.join("postgres"))?);
        }
        for (number, binary) in options.binaries.iter().enumerate() {
            let data = options.place.join(format!("service-{number}"));
            let users =
                filled(Service::start(&[], binary, &data, &[], Vec::new())?, options.users)?;
            if sitting.cluster.is_some() {
                sitting.start_postgres(number, binary)?;
            } else {
                sitting.start_sqlite(number, binary, &data, &users)?;
            }
            let service = Service::start(&[], binary, &data, &[], users)?;
            sitting.services.insert((Subject::Service, number), service);
        }
        sitting.add_memory("at rest", 20.0)?;
        Ok(sitting)
    }

    /// Starts the service without its cache and the one that needs a key, and opens the bare loop,
    /// each on a copy of a directory. Measures the start of the service on it.
    fn start_sqlite(
        &mut self,
        number: usize,
        binary: &Path,
        data: &Path,
        users: &[User],
    ) -> Result<()> {
        let copy = |name: &str| copy_files(data, &data.with_file_name(format!("{name}-{number}")));
        let (uncached, keyed) = (copy("uncached")?, copy("keyed")?);
        service::create_key(binary, &keyed)?;
        for (subject, data, more) in [
            (Subject::Uncached, uncached, ["--cache-entries", "0"].as_slice()),
            (Subject::Keyed, keyed, &[]),
        ] {
            let service = Service::start(&[], binary, &data, more, users.to_vec())?;
            self.services.insert((subject, number), service);
        }
        if number == 0 {
            let data = copy("bare")?;
            let start = |users| Service::start(&[], binary, &data, &[], users);
            let bare = sqlite::Sqlite::open(&data, &start, users, self.options.measure())?;
            self.bare = Some(Box::new(bare));
            for _ in 0..STARTS {
                let server = start(Vec::new())?.server;
                self.starts_ms.push(server.cold_start.as_secs_f64() * 1e3);
                server.stop()?;
            }
        }
        Ok(())
    }

    /// Starts the service over a new database. For the first service, also opens the bare loop.
    fn start_postgres(&mut self, number: usize, binary: &Path) -> Result<()> {
        let cluster = self.cluster.as_ref().context("no cluster")?;
        let (options, process) = (self.options, cluster.process);
        let (server, roster) = cluster.url.rsplit_once('/').context("a URL without a database")?;
        let name = format!("service{number}");
        postgres::copy_database(&cluster.url, roster, &name)?;
        let (url, copy) = (format!("{server}/{name}"), format!("{server}/bare"));
        let data = options.place.join(&name);
        let start = |url: &str, users| {
            Service::start(&[], binary, &data, &["--allow-open", "--database", url], users)
        };
        let before = postgres::log_bytes(&url)?;
        let users = filled(start(&url, Vec::new())?, options.users)?;
        if number == 0 {
            say("Bytes on the disk, as the service filled it\n")?;
            postgres::print_disk(&url, options.users, before)?;
            postgres::copy_database(&cluster.url, &name, "bare")?;
            let fill = || start(&copy, users.clone());
            let bare = postgres::Postgres::open(&url, &copy, process, &fill, options.measure())?;
            self.bare = Some(Box::new(bare));
        }
        let service = start(&url, users)?;
        self.starts_ms.push(service.server.cold_start.as_secs_f64() * 1e3);
        self.services.insert((Subject::Postgres, number), service);
        Ok(())
    }

    fn add_memory(&mut self, when: &str, most: f64) -> Result<()> {
        let service = self.services.get(&(Subject::Service, 0)).context("no service")?;
        self.figures.push(Figure {
            name: format!("memory {when}, mapped files apart"),
            value: Some(process::memory_mib(service.server.id())?),
            unit: "MiB",
            target: Target::AtMost(most),
        });
        Ok(())
    }

    fn round(&mut self, round: u32) -> Result<()> {
        for case in cases::cases(self.rows) {
            let is_ours = !matches!(case.subject, Subject::Hello | Subject::Bare);
            let count = if is_ours { self.options.binaries.len() } else { 1 };
            let mut binaries: Vec<usize> = (0..count).collect();
            if round.is_multiple_of(2) {
                binaries.reverse();
            }
            for binary in binaries {
                let sample = self.measure(case, binary, u64::from(round));
                let sample = sample.with_context(|| case.to_string())?;
                self.samples.entry((case, binary)).or_default().push(sample);
            }
        }
        for service in self.services.values_mut() {
            service.settle()?;
        }
        Ok(())
    }

    fn measure(&mut self, case: Case, binary: usize, seed: u64) -> Result<Sample> {
        let Case { subject, work, connections } = case;
        let mut measure = self.options.measure();
        if matches!(work, Work::Read(Read::Scan | Read::WorstScan)) {
            measure = measure.max(SCAN_AT_LEAST);
        }
        if work == Work::Append {
            return bare::append(&self.options.place, measure);
        }
        if subject == Subject::Bare {
            let bare = self.bare.as_mut().context("no bare loop")?;
            return bare.run(work, connections, measure, seed);
        }
        let mut load = Load {
            address: self.hello.address,
            processes: [Some(self.hello.id()), None],
            connections,
            pace: Pace::Closed,
            warm_up: self.options.warm_up(),
            measure,
        };
        if subject == Subject::Hello {
            let path = ["/".to_owned()];
            return sample(&super::load::run(&load, &mut service::turns(load.address, &path))?);
        }
        let bare = Case { subject: Subject::Bare, ..case };
        let bare = self.samples.get(&(bare, 0)).and_then(|samples| samples.last()).copied();
        let service = self.services.get_mut(&(subject, binary)).context("not started")?;
        load.address = service.server.address;
        let database = self.cluster.as_ref().filter(|_| subject == Subject::Postgres);
        load.processes = [Some(service.server.id()), database.map(|cluster| cluster.process)];
        if work == Work::Export {
            let rate = streams::export(load.address, service.users.len(), measure)?;
            return Ok(Sample { rate, ..Sample::default() });
        }
        if work == Work::Import {
            // As many as the loop would process in the time.
            let wanted = bare.map_or(0.0, |bare| bare.rate * measure.as_secs_f64());
            let mut count = 4096_u32;
            while f64::from(count) < wanted.min(IMPORT_USERS) {
                count *= 2;
            }
            let numbers = service.next_number..service.next_number + u64::from(count);
            service.next_number = numbers.end;
            let rate = streams::import(load.address, numbers, &mut service.fresh)?;
            service.settle()?;
            return Ok(Sample { rate, ..Sample::default() });
        }
        sample(&service.run(work, &load, seed)?)
    }

    fn figure(&self, measure: Measure, case: Case, binary: usize) -> Option<f64> {
        median(self.samples.get(&(case, binary))?.iter().map(|s| measure.of(s)).collect())
    }

    /// The median ratio of two series. Both values of a ratio are from the same round.
    fn ratio(&self, measure: Measure, a: (Case, usize), b: (Case, usize)) -> Option<f64> {
        let rounds = self.samples.get(&a)?.iter().zip(self.samples.get(&b)?);
        median(rounds.map(|(a, b)| measure.of(a) / measure.of(b)).collect())
    }

    fn print(&mut self) -> Result<()> {
        self.add_memory("after the run", 150.0)?;
        let (rounds, users) = (self.options.rounds(), self.options.users);
        say(&format!("\nMedians of {rounds} rounds, {users} users\n"))?;
        let mut lines = Vec::new();
        let measures =
            [Measure::Rate, Measure::P50, Measure::P99, Measure::Cpu, Measure::DatabaseCpu];
        for case in cases::cases(self.rows) {
            for binary in 0..self.options.binaries.len() {
                let Some(samples) = self.samples.get(&(case, binary)) else { continue };
                let name = if binary > 0 { format!("{case}, other") } else { case.to_string() };
                let figure = |measure: Measure| {
                    let value = self.figure(measure, case, binary).filter(|value| *value > 0.0);
                    value.map_or_else(String::new, |value| number(value, measure.unit()))
                };
                let bytes = samples.last().map_or(0, |sample| sample.body_bytes).to_string();
                lines.push([vec![name], measures.map(figure).to_vec(), vec![bytes]].concat());
            }
        }
        let heads = ["", "rate", "p50", "p99", "its CPU", "PostgreSQL's CPU", "body bytes"];
        print_table(&heads, &lines)?;
        if self.options.binaries.len() > 1 {
            say("The first binary to the other\n")?;
            let mut lines = Vec::new();
            for case in cases::cases(self.rows) {
                let ratio = |measure| self.ratio(measure, (case, 0), (case, 1));
                let cell = |measure| {
                    let ratio = ratio(measure).filter(|ratio| ratio.is_finite());
                    ratio.map_or_else(String::new, |ratio| number(ratio, "x"))
                };
                if ratio(Measure::Rate).is_some() {
                    lines.push([vec![case.to_string()], measures.map(cell).to_vec()].concat());
                }
            }
            print_table(&["", "rate", "p50", "p99", "its CPU", "PostgreSQL's CPU"], &lines)?;
        }
        say("Against the goals\n")?;
        let mut figures = std::mem::take(&mut self.figures);
        figures.push(Figure {
            name: "start to the first 200".to_owned(),
            value: median(self.starts_ms.clone()),
            unit: "ms",
            target: Target::AtMost(50.0),
        });
        for Row { measure, case, by, target } in self.rows.iter().copied() {
            let name = format!("{measure:?} of {case}");
            let (name, value, unit) = if let Some(by) = by {
                (format!("{name} / {by}"), self.ratio(measure, (case, 0), (by, 0)), "x")
            } else {
                (name, self.figure(measure, case, 0), measure.unit())
            };
            figures.push(Figure { name, value, unit, target });
        }
        print_figures(&figures)
    }
}

fn filled(mut service: Service, users: u64) -> Result<Vec<User>> {
    let rate = service.fill(users)?;
    say(&format!("filled with {users} users at {rate:.0}/s"))?;
    let users = std::mem::take(&mut service.users);
    service.server.stop()?;
    Ok(users)
}

/// Copies the files of a stopped service to another folder.
fn copy_files(from: &Path, to: &Path) -> Result<PathBuf> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(to.to_owned())
}

fn sample(outcome: &Outcome) -> Result<Sample> {
    ensure!(outcome.good > 0, "nothing was answered in time");
    let time = |quantile| {
        Duration::from_nanos(outcome.good_ns.value_at_quantile(quantile)).as_secs_f64() * 1e6
    };
    let [cpu_us, database_us] =
        outcome.cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / f64::from(outcome.good));
    let (rate, p50_us, p99_us) = (outcome.rate(), time(0.5), time(0.99));
    Ok(Sample { rate, p50_us, p99_us, cpu_us, database_us, body_bytes: outcome.body_bytes })
}
