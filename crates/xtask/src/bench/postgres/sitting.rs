//! One sitting: cluster, services and loops are started, and measured in turns.
//!
//! What is compared is measured in the same round, one after the other, and what is told is the
//! median over the rounds. Whoever came in a round is gone before the next.

use std::{collections::BTreeMap, fs, path::Path, process::id, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::runtime::{self, Runtime};

use super::{
    cluster::Cluster,
    creates::Creates,
    reads::{self, Reads},
    side::Side,
    stored::{self, Relation, Stored},
    table::named,
};
use crate::bench::{
    Options,
    load::Load,
    process,
    report::{median, say},
    seed,
};

/// The database that the service fills, and its copy for the loop that writes.
const DATABASES: [&str; 2] = ["roster", "bare"];
/// Callers, each with one request under way.
pub(super) const CALLERS: [usize; 2] = [16, 64];

/// Users kept ready to leave, for each millisecond of leaving: more than a service can delete.
const STOCK_PER_MS: usize = 16;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// The service over PostgreSQL.
    Service,
    /// A bare loop over PostgreSQL.
    Bare,
    /// The service over SQLite.
    Sqlite,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    /// One user of all is read.
    Get,
    /// The first page of 50.
    List,
    /// The user with a username, by a filter.
    Filter,
    /// A new user.
    Post,
    /// A change of a user.
    Put,
    /// A user leaves.
    Delete,
}

/// Everything that is measured at a number of callers, in the order of a round.
pub(super) const MEASURED: [(Who, Act); 9] = [
    (Who::Bare, Act::Get),
    (Who::Service, Act::Get),
    (Who::Service, Act::List),
    (Who::Service, Act::Filter),
    (Who::Bare, Act::Post),
    (Who::Service, Act::Post),
    (Who::Sqlite, Act::Post),
    (Who::Service, Act::Put),
    (Who::Service, Act::Delete),
];

/// What was measured of whom, with so many callers.
pub(super) type Key = (Who, Act, usize);

/// What one key came to in one round.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Answers in a second.
    pub(super) rate: f64,
    /// Half of the answers took at most this long, in microseconds.
    pub(super) p50_us: f64,
    /// 99 of 100 answers took at most this long, in microseconds.
    pub(super) p99_us: f64,
    /// CPU time of the service, or of the loop, for one answer, in microseconds.
    pub(super) asker_us: f64,
    /// CPU time of PostgreSQL for one answer, in microseconds.
    pub(super) database_us: f64,
}

/// Everything that was measured.
pub(super) struct Results {
    samples: BTreeMap<Key, Vec<Sample>>,
    /// What the service's database took of the disk when it was filled.
    pub(super) disk: Disk,
    /// From the start of the service on a filled database to its first 200, in milliseconds.
    pub(super) cold_start_ms: f64,
}

impl Results {
    /// The median over the rounds of one figure.
    pub(super) fn figure(&self, key: Key, of: fn(&Sample) -> f64) -> Option<f64> {
        median(self.samples.get(&key)?.iter().map(of).collect())
    }

    /// The median over the rounds of a ratio of rates, both taken in the same round.
    pub(super) fn ratio(&self, a: Key, b: Key) -> Option<f64> {
        let rounds = self.samples.get(&a)?.iter().zip(self.samples.get(&b)?);
        median(rounds.map(|(a, b)| a.rate / b.rate).collect())
    }
}

/// What a filled database takes of the disk.
pub(super) struct Disk {
    /// Its tables and indexes.
    pub(super) relations: Vec<Relation>,
    /// Bytes of the write-ahead log that were written to fill it.
    pub(super) log_bytes: i64,
}

/// What runs during a sitting. Services go before their database does.
struct Sitting<'a> {
    options: &'a Options,
    service: Side,
    sqlite: Side,
    reads: Reads,
    creates: Creates,
    runtime: Runtime,
    cluster: Cluster,
}

/// Measures everything, in a directory of its own that is removed before and afterwards.
pub(super) fn run(options: &Options) -> Result<Results> {
    let place = &options.place;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let (mut sitting, disk) = Sitting::begin(options, place)?;
    let mut samples = BTreeMap::<_, Vec<_>>::new();
    for round in 1..=options.rounds {
        say(&format!("round {round} of {}", options.rounds))?;
        for callers in CALLERS {
            for (who, act) in MEASURED {
                let key = (who, act, callers);
                let sample = sitting.measure(key, u64::from(round));
                samples.entry(key).or_default().push(sample.with_context(|| named(key))?);
            }
        }
        sitting.settle()?;
    }
    let cold_start_ms = sitting.service.server.cold_start.as_secs_f64() * 1e3;
    sitting.end()?;
    fs::remove_dir_all(place)?;
    Ok(Results { samples, disk, cold_start_ms })
}

impl<'a> Sitting<'a> {
    /// Starts everything and fills both services.
    fn begin(options: &'a Options, place: &Path) -> Result<(Self, Disk)> {
        let folder = place.join("postgres");
        fs::create_dir(&folder)?;
        let mut cluster = Cluster::start(&folder)?;
        let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
        let [roster, bare] = DATABASES;
        let admin = runtime.block_on(cluster.connect("postgres"))?;
        let execute = |sql: &str| runtime.block_on(admin.batch_execute(sql));
        execute(&format!("CREATE DATABASE {roster}"))?;
        let (data, url) = (place.join("data"), cluster.url(roster));
        let words = ["--database", url.as_str()];
        let server = seed::start(options, &data, &words)?;
        let before = runtime.block_on(stored::written(&admin))?;
        let users = seed::fill(&server, options.users)?;
        let log_bytes = runtime.block_on(stored::written(&admin))? - before;
        server.stop()?;
        execute(&format!("CREATE DATABASE {bare} TEMPLATE {roster}"))?;
        execute("CHECKPOINT")?;
        let clients = |cluster: &mut Cluster, database, count| -> Result<Vec<_>> {
            (0..count).map(|_| runtime.block_on(cluster.connect(database))).collect()
        };
        let readers = clients(&mut cluster, roster, reads::connections())?;
        let writers = clients(&mut cluster, bare, CALLERS.into_iter().max().unwrap_or(1))?;
        let client = readers.first().context("no connections")?;
        runtime.block_on(client.batch_execute("VACUUM (ANALYZE)"))?;
        let stored = runtime.block_on(Stored::read(client))?;
        let relations = runtime.block_on(stored::relations(client))?;
        let Stored { ids, samples, now_ms } = stored;
        let reads = runtime.block_on(Reads::open(readers, ids))?;
        let creates = Creates::open(writers, samples, options.users, now_ms);
        let creates = runtime.block_on(creates)?;
        let service = Side::new(seed::start(options, &data, &words)?, users, options.users);
        let server = seed::start(options, &place.join("sqlite"), &[])?;
        let users = seed::fill(&server, options.users)?;
        let sqlite = Side::new(server, users, options.users);
        let disk = Disk { relations, log_bytes };
        Ok((Self { options, service, sqlite, reads, creates, runtime, cluster }, disk))
    }

    /// One thing by one of them. The warm-up is a run of its own, for the CPU time of PostgreSQL
    /// is that of a whole run.
    fn measure(&mut self, (who, act, callers): Key, round: u64) -> Result<Sample> {
        let Options { warm_up, measure, .. } = *self.options;
        let seed = round << 8;
        let mut run = |measure, seed| match who {
            Who::Bare => self.bare(act, callers, measure, seed),
            Who::Service | Who::Sqlite => self.over_http(who, act, callers, measure, seed),
        };
        run(warm_up, seed)?;
        let sample = run(measure, seed + 1)?;
        ensure!(sample.rate > 0.0, "nothing was answered in time");
        Ok(sample)
    }

    fn over_http(
        &mut self,
        who: Who,
        act: Act,
        connections: usize,
        measure: Duration,
        seed: u64,
    ) -> Result<Sample> {
        let side = if who == Who::Sqlite { &mut self.sqlite } else { &mut self.service };
        if act == Act::Delete {
            side.stock(usize::try_from(measure.as_millis())? * STOCK_PER_MS)?;
        }
        let (address, process) = (side.server.address, Some(side.server.id()));
        let load = Load { address, process, connections, warm_up: Duration::ZERO, measure };
        let before = process::family_cpu_times(self.cluster.id())?;
        let outcome = side.run(act, load, seed)?;
        let database = process::family_cpu_times(self.cluster.id())?.since(&before);
        Ok(Sample {
            rate: outcome.rate(),
            p50_us: microseconds(outcome.latency(0.5)),
            p99_us: microseconds(outcome.latency(0.99)),
            asker_us: microseconds(outcome.cpu_per_answer()),
            database_us: microseconds(database / outcome.answers.max(1)),
        })
    }

    fn bare(&mut self, act: Act, askers: usize, measure: Duration, seed: u64) -> Result<Sample> {
        let times = || -> Result<_> {
            let database = process::family_cpu_times(self.cluster.id())?;
            Ok((process::cpu_times(id())?, database))
        };
        let before = times()?;
        let done = match act {
            Act::Get => self.runtime.block_on(self.reads.run(askers, seed, measure))?,
            Act::Post => self.runtime.block_on(self.creates.run(askers, measure))?,
            Act::List | Act::Filter | Act::Put | Act::Delete => bail!("no loop does this"),
        };
        let (after, answers) = (times()?, done.answers.max(1));
        Ok(Sample {
            rate: done.rate,
            p50_us: microseconds(done.p50),
            p99_us: microseconds(done.p99),
            asker_us: microseconds(after.0.since(&before.0) / answers),
            database_us: microseconds(after.1.since(&before.1) / answers),
        })
    }

    /// Takes out whoever came in this round.
    fn settle(&mut self) -> Result<()> {
        self.service.settle()?;
        self.sqlite.settle()?;
        self.runtime.block_on(self.creates.settle())
    }

    /// Stops everything, the services first.
    fn end(self) -> Result<()> {
        self.service.server.stop()?;
        self.sqlite.server.stop()?;
        drop((self.reads, self.creates, self.runtime, self.cluster));
        Ok(())
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
