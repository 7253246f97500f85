//! One sitting: the servers are started and seeded, and every case is measured in every round.
//!
//! What is compared is measured in the same round, one after the other, and what is told is the
//! median over the rounds: a machine that is slower for a while is slower for both.

use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::{Context, Result, ensure};

use super::{
    Options, bulk,
    case::{CASES, Case, Kind},
    disk, engine, hello,
    load::{self, Load},
    people::Random,
    process::{self, Memory, Server},
    report::{median, say},
    seed,
    work::{self, Creates, Deletes, Fixed, Idempotency, Known, Reads, Replaces},
};

/// Connections that ask for what no index helps to find.
const SCANS: usize = 4;
/// The shortest measuring of pages that take long.
const SCAN_AT_LEAST: Duration = Duration::from_secs(1);
/// The longest that the users of a round may take to leave.
const SETTLED_WITHIN: Duration = Duration::from_mins(10);

/// Users of the hot set: what the default byte cache holds many times over.
const HOT_USERS: usize = 10_000;

/// What one case came to in one round.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Answers in a second.
    pub(super) rate: f64,
    /// Half of the answers took at most this long, in microseconds.
    pub(super) p50_us: f64,
    /// 99 of 100 answers took at most this long, in microseconds.
    pub(super) p99_us: f64,
    /// CPU time of the server for one answer, in microseconds.
    pub(super) cpu_us: f64,
    /// Bytes of a body.
    pub(super) body_bytes: usize,
}

/// Everything that was measured.
pub(super) struct Results {
    /// The rounds of each case.
    pub(super) cases: BTreeMap<Case, Vec<Sample>>,
    /// The rounds of the engine's bare loop.
    pub(super) engine: Vec<engine::Round>,
    /// Users a second that went in as one stream, by round.
    pub(super) imports: Vec<f64>,
    /// Users a second that came out as one stream, by round.
    pub(super) exports: Vec<f64>,
    /// Medians of a durable append, in microseconds, by round.
    pub(super) append_us: Vec<f64>,
    /// First 200 after the start, in milliseconds.
    pub(super) cold_start_ms: Vec<f64>,
    /// Memory of the idle service and of the one that has gone through everything.
    pub(super) memory: (Memory, Memory),
}

/// The running servers and what is known of their data.
struct Sitting<'a> {
    options: &'a Options,
    hello: Server,
    warm: Server,
    cold: Server,
    keyed: Server,
    /// The key of the service that asks for one.
    key: String,
    users: Vec<Known>,
    fresh: Vec<Known>,
    next_number: u64,
    revision: u64,
    last_page: String,
}

/// Measures everything, in a directory of its own that is removed before and afterwards.
pub(super) fn run(options: &Options) -> Result<Results> {
    let place = &options.place;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    let (warm_data, cold_data) = (place.join("warm"), place.join("cold"));
    let engine_data = place.join("engine");
    fs::create_dir_all(place)?;
    let (users, cold_start_ms) = seed::seed(options, &warm_data)?;
    seed::copy_files(&warm_data, &cold_data)?;
    seed::copy_files(&warm_data, &engine_data)?;
    let keyed_data = place.join("keyed");
    seed::copy_files(&warm_data, &keyed_data)?;
    let key = seed::create_key(options, &keyed_data)?;
    let warm = seed::start(options, &warm_data, &[])?;
    let idle = process::memory(warm.id(), &warm_data)?;
    let cold = seed::start(options, &cold_data, &["--cache-entries", "0"])?;
    let keyed = seed::start_closed(options, &keyed_data)?;
    let hello_arguments =
        |address: std::net::SocketAddr| vec!["bench".into(), "hello".into(), address.to_string()];
    let hello = Server::start(&options.program, hello_arguments, "/")?;
    let next_number = options.users;
    let last_page = seed::last_page(&warm)?;
    let fresh = Vec::new();
    let mut sitting = Sitting {
        options,
        hello,
        warm,
        cold,
        keyed,
        key,
        users,
        fresh,
        next_number,
        revision: 0,
        last_page,
    };
    let mut engine = engine::Engine::open(&engine_data.join("roster.db"), options.users)?;
    let (mut cases, mut rounds, mut append_us) = (BTreeMap::<_, Vec<_>>::new(), vec![], vec![]);
    let (mut imports, mut exports) = (vec![], vec![]);
    for round in 1..=options.rounds {
        say(&format!("round {round} of {}", options.rounds))?;
        append_us.push(disk::durable_append(place, options.measure)?.as_secs_f64() * 1e6);
        let bare = engine.round(options.measure)?;
        exports.push(bulk::export(sitting.warm.address, options.users, options.measure)?);
        imports.push(sitting.import(bare.bulk.rate)?);
        sitting.settle()?;
        rounds.push(bare);
        for case in CASES {
            let sample = sitting.measure(case, round).with_context(|| case.to_string())?;
            cases.entry(case).or_default().push(sample);
        }
        sitting.settle()?;
    }
    let memory = (idle, process::memory(sitting.warm.id(), &warm_data)?);
    sitting.warm.stop()?;
    drop((sitting.cold, sitting.keyed, sitting.hello, engine));
    fs::remove_dir_all(place)?;
    let engine = rounds;
    Ok(Results { cases, engine, imports, exports, append_us, cold_start_ms, memory })
}

impl Sitting<'_> {
    /// Deletes the users that a round made, so that the next one finds as many as this one did.
    fn settle(&mut self) -> Result<()> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        let load = Load {
            address: self.warm.address,
            process: None,
            connections: 64,
            warm_up: Duration::ZERO,
            measure: SETTLED_WITHIN,
        };
        let (host, random) = (load.address, Random::new(0));
        load::run(load, &mut Deletes { host, users: &mut self.fresh, random })?;
        ensure!(self.fresh.is_empty(), "the users of a round took too long to leave");
        Ok(())
    }

    /// Sends as many users as the engine would take in the time.
    fn import(&mut self, bare: f64) -> Result<f64> {
        let count = bare * self.options.measure.as_secs_f64();
        let count =
            [4096_u32, 8192, 16_384, 32_768].into_iter().find(|most| f64::from(*most) > count);
        let start = self.next_number;
        self.next_number += u64::from(count.unwrap_or(65_536));
        bulk::import(self.warm.address, start..self.next_number, &mut self.fresh)
    }

    fn measure(&mut self, case: Case, round: u32) -> Result<Sample> {
        let server = match case.kind {
            Kind::Hello | Kind::HelloPage => &self.hello,
            Kind::GetCold | Kind::ListCold | Kind::ScimGet | Kind::ScimList => &self.cold,
            Kind::GetKeyed => &self.keyed,
            Kind::GetHot
            | Kind::ListFirst
            | Kind::ListLast
            | Kind::ByUsername
            | Kind::ByEmail
            | Kind::FilterUsername
            | Kind::FilterEmail
            | Kind::SearchRare
            | Kind::SearchCommon
            | Kind::SearchLetter
            | Kind::Scan
            | Kind::ScanWorst
            | Kind::GetBesideScans
            | Kind::Post
            | Kind::PostMarked
            | Kind::Put
            | Kind::Delete => &self.warm,
        };
        let load = Load {
            address: server.address,
            process: Some(server.id()),
            connections: case.connections,
            warm_up: self.options.warm_up,
            measure: self.options.measure,
        };
        let outcome = self.run(case.kind, load, u64::from(round))?;
        ensure!(outcome.answers > 0, "nothing was answered in time");
        ensure!(outcome.body_bytes >= case.kind.body_bytes_min(), "too little was answered");
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        Ok(Sample {
            rate: outcome.rate(),
            p50_us: microseconds(outcome.latency(0.5)),
            p99_us: microseconds(outcome.latency(0.99)),
            cpu_us: microseconds(outcome.cpu_per_answer()),
            body_bytes: outcome.body_bytes,
        })
    }

    fn create(&mut self, load: Load, idempotency: Idempotency) -> Result<load::Outcome> {
        let (host, next) = (load.address, self.next_number);
        let mut posts =
            Creates { host, next, end: u64::MAX, idempotency, created: &mut self.fresh };
        let outcome = load::run(load, &mut posts);
        self.next_number = posts.next;
        outcome
    }

    fn run(&mut self, kind: Kind, load: Load, round: u64) -> Result<load::Outcome> {
        let address = load.address;
        let all = self.users.as_slice();
        let hot = all.get(..HOT_USERS.min(all.len())).unwrap_or_default();
        let random = Random::new(round);
        // Long enough for some answers.
        let long = Load { measure: load.measure.max(SCAN_AT_LEAST), ..load };
        let fixed = |path: &str| Fixed { host: address, path: path.to_owned() };
        let reads = |users, path| Reads {
            host: address,
            users,
            path,
            key: None,
            random: Random::new(round),
        };
        match kind {
            Kind::Hello => load::run(load, &mut fixed("/")),
            Kind::HelloPage => load::run(load, &mut fixed(hello::PAGE_PATH)),
            Kind::GetHot => load::run(load, &mut reads(hot, work::one)),
            Kind::GetKeyed => {
                let key = Some(self.key.as_str());
                load::run(load, &mut Reads { key, ..reads(hot, work::one) })
            }
            Kind::GetCold => load::run(load, &mut reads(all, work::one)),
            Kind::ScimGet => load::run(load, &mut reads(all, work::one_by_scim)),
            Kind::ScimList => load::run(load, &mut fixed(work::SCIM_PAGE)),
            Kind::ListFirst | Kind::ListCold => load::run(load, &mut fixed("/users")),
            Kind::ListLast => load::run(load, &mut fixed(&self.last_page)),
            Kind::ByUsername => load::run(load, &mut reads(all, work::by_username)),
            Kind::ByEmail => load::run(load, &mut reads(all, work::by_email)),
            Kind::FilterUsername => load::run(load, &mut reads(all, work::filter_username)),
            Kind::FilterEmail => load::run(load, &mut reads(all, work::filter_email)),
            Kind::SearchRare => load::run(load, &mut reads(all, work::search_rare)),
            Kind::SearchCommon => load::run(load, &mut fixed("/users?q=lovelace")),
            Kind::SearchLetter => load::run(load, &mut fixed("/users?q=a")),
            Kind::Scan => load::run(long, &mut fixed(work::SCAN)),
            Kind::ScanWorst => load::run(long, &mut fixed(&work::scan_worst())),
            Kind::GetBesideScans => {
                let scans = Load { connections: SCANS, process: None, ..load };
                let (mut scan, mut gets) = (fixed(&work::scan_worst()), reads(hot, work::one));
                load::beside(scans, &mut scan, || load::run(load, &mut gets))
            }
            Kind::Post => self.create(load, Idempotency::Unkeyed),
            Kind::PostMarked => self.create(load, Idempotency::Keyed),
            Kind::Put => {
                let revision = &mut self.revision;
                load::run(load, &mut Replaces { host: address, users: all, random, revision })
            }
            Kind::Delete => {
                let users = &mut self.fresh;
                load::run(load, &mut Deletes { host: address, users, random })
            }
        }
    }
}

impl Results {
    /// The median over the rounds of one figure of a case.
    pub(super) fn figure(&self, case: Case, of: fn(&Sample) -> f64) -> Option<f64> {
        median(self.cases.get(&case)?.iter().map(of).collect())
    }

    /// The median over the rounds of a ratio, both sides taken in the same round.
    pub(super) fn ratio(&self, a: Case, b: Case, of: fn(&Sample) -> f64) -> Option<f64> {
        let rounds = self.cases.get(&a)?.iter().zip(self.cases.get(&b)?);
        median(rounds.map(|(a, b)| of(a) / of(b)).collect())
    }

    /// The median ratio of a case to the engine's bare loop, round by round.
    pub(super) fn to_engine(
        &self,
        case: Case,
        of: fn(&Sample) -> f64,
        bare: fn(&engine::Round) -> f64,
    ) -> Option<f64> {
        let rounds = self.cases.get(&case)?.iter().zip(&self.engine);
        median(rounds.map(|(sample, round)| of(sample) / bare(round)).collect())
    }

    /// The median ratio of imports to the engine's bare loop, round by round.
    pub(super) fn import_to_engine(&self) -> Option<f64> {
        let rounds = self.imports.iter().zip(&self.engine);
        median(rounds.map(|(rate, round)| rate / round.bulk.rate).collect())
    }

    /// The median ratio of exports, users in a second, to answers of a case, round by round.
    pub(super) fn export_to(&self, case: Case) -> Option<f64> {
        let rounds = self.exports.iter().zip(self.cases.get(&case)?);
        median(rounds.map(|(rate, sample)| rate / sample.rate).collect())
    }

    /// The median ratio of a case's middle latency to a durable append, round by round.
    pub(super) fn to_append(&self, case: Case) -> Option<f64> {
        let rounds = self.cases.get(&case)?.iter().zip(&self.append_us);
        median(rounds.map(|(sample, append)| sample.p50_us / append).collect())
    }
}
