//! The cases of the benchmark: one table for each engine.
//!
//! A row is a figure of a case, or its ratio to that of another case. A run executes the cases that
//! its rows name, in the order of the rows. Writes come last, and creates before deletes.

use std::fmt;

use super::report::Target::{self, AtLeast, AtMost, None as Open};
use Measure::{Cpu, DatabaseCpu, P50, Rate};
use Read::{
    Any, ByEmail, ByUsername, FilterEmail, FilterUsername, LastPage, List, One, Scan, ScimAny,
    ScimList, SearchLetter, SearchMany, SearchOne, WorstScan,
};
use Subject::{Bare, Hello, Keyed, Postgres, Service, Uncached};
use Work::{Append, Delete, Export, Import, KeyedPost, Post, Put, ReadBesideScans};

/// The subject that executes the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// A bare hyper server.
    Hello,
    /// A loop over the tables of the store, without HTTP and rules.
    Bare,
    /// The service over SQLite.
    Service,
    /// The same without its cache.
    Uncached,
    /// The same, with callers that need a key.
    Keyed,
    /// The service over PostgreSQL.
    Postgres,
}

/// The target of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Read {
    /// One user of a set that the cache contains; for the bare server, 500 bytes.
    One,
    /// One user of all users.
    Any,
    /// The same, by SCIM.
    ScimAny,
    /// The first page of 50.
    List,
    /// The last page of 50.
    LastPage,
    /// The first page of 50, by SCIM.
    ScimList,
    /// The user with a username.
    ByUsername,
    /// The user with an e-mail address.
    ByEmail,
    /// The user with a username, by a filter.
    FilterUsername,
    /// The user with an e-mail address, primary or not, by a filter.
    FilterEmail,
    /// The user with a word that no other has.
    SearchOne,
    /// The first page of the many users with a word.
    SearchMany,
    /// The first page of the users with a word that begins with a letter.
    SearchLetter,
    /// A page by a filter for which no index can be used.
    Scan,
    /// A page by the slowest such filter.
    WorstScan,
}

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Repeated reads.
    Read(Read),
    /// One user of the hot set is read, while other connections run queries for which no index can
    /// be used.
    ReadBesideScans,
    /// All users are read as one stream.
    Export,
    /// 4 KiB are appended to a file that is synced.
    Append,
    /// A user is created.
    Post,
    /// A user is created, by a request with an idempotency key.
    KeyedPost,
    /// A user is changed.
    Put,
    /// A user is deleted.
    Delete,
    /// Users are created by one stream.
    Import,
}

/// Work by a subject, on a number of connections with one request in progress on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    /// The subject.
    pub(super) subject: Subject,
    /// The work.
    pub(super) work: Work,
    /// The number of connections.
    pub(super) connections: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, work, connections } = self;
        if let Work::Read(read) = work {
            write!(f, "{read:?} ({subject:?})")?;
        } else {
            write!(f, "{work:?} ({subject:?})")?;
        }
        if *connections > 0 { write!(f, ", {connections} conn") } else { Ok(()) }
    }
}

/// The result of a case in one round.
#[derive(Clone, Copy, Default)]
pub(super) struct Sample {
    /// Responses per second; for streams, users per second.
    pub(super) rate: f64,
    /// The median time of a response, in microseconds.
    pub(super) p50_us: f64,
    /// The 99th percentile of the time of a response, in microseconds.
    pub(super) p99_us: f64,
    /// The CPU time of the service, or of the loop, per response, in microseconds.
    pub(super) cpu_us: f64,
    /// The CPU time of PostgreSQL per response, in microseconds.
    pub(super) database_us: f64,
    /// The size of a body in bytes.
    pub(super) body_bytes: usize,
}

/// One figure of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    Rate,
    P50,
    P99,
    Cpu,
    DatabaseCpu,
}

impl Measure {
    /// This figure of a sample.
    pub(super) const fn of(self, sample: &Sample) -> f64 {
        match self {
            Self::Rate => sample.rate,
            Self::P50 => sample.p50_us,
            Self::P99 => sample.p99_us,
            Self::Cpu => sample.cpu_us,
            Self::DatabaseCpu => sample.database_us,
        }
    }

    /// Its unit.
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::Rate => "/s",
            Self::P50 | Self::P99 | Self::Cpu | Self::DatabaseCpu => "us",
        }
    }
}

/// A figure of a case, or its ratio to that of a second case.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The figure.
    pub(super) measure: Measure,
    /// The case.
    pub(super) case: Case,
    /// The case by which it is divided, in the same round.
    pub(super) by: Option<Case>,
    /// The goal.
    pub(super) target: Target,
}

/// Every case of some rows, each once, in their order.
pub(super) fn cases(rows: &[Row]) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in rows.iter().flat_map(|row| [Some(row.case), row.by]).flatten() {
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

const fn on(subject: Subject, work: Work, connections: usize) -> Case {
    Case { subject, work, connections }
}

const fn read(subject: Subject, read: Read, connections: usize) -> Case {
    on(subject, Work::Read(read), connections)
}

const fn hello(connections: usize) -> Case {
    read(Hello, One, connections)
}

const fn ratio(measure: Measure, case: Case, by: Case, target: Target) -> Row {
    Row { measure, case, by: Some(by), target }
}

const fn rate(case: Case, by: Case, target: Target) -> Row {
    ratio(Rate, case, by, target)
}

const fn p99(case: Case, by: Case, most: f64) -> Row {
    ratio(Measure::P99, case, by, AtMost(most))
}

const fn figure(measure: Measure, case: Case, target: Target) -> Row {
    Row { measure, case, by: None, target }
}

/// The service over SQLite.
pub(super) const SQLITE: &[Row] = &[
    rate(read(Service, One, 16), hello(16), AtLeast(0.7)),
    rate(read(Service, One, 64), hello(64), AtLeast(0.7)),
    rate(read(Uncached, Any, 16), hello(16), AtLeast(0.45)),
    rate(read(Uncached, Any, 64), hello(64), AtLeast(0.45)),
    rate(read(Keyed, One, 16), read(Service, One, 16), AtLeast(0.9)),
    rate(read(Keyed, One, 64), read(Service, One, 64), AtLeast(0.9)),
    rate(read(Uncached, ScimAny, 16), read(Uncached, Any, 16), AtLeast(0.65)),
    rate(read(Uncached, ScimAny, 64), read(Uncached, Any, 64), AtLeast(0.65)),
    rate(read(Uncached, ScimList, 16), read(Uncached, List, 16), AtLeast(0.65)),
    rate(read(Service, List, 16), hello(16), AtLeast(0.12)),
    rate(read(Service, LastPage, 16), hello(16), AtLeast(0.12)),
    ratio(P50, read(Service, LastPage, 1), read(Service, List, 1), AtMost(1.2)),
    rate(read(Service, ByUsername, 16), hello(16), AtLeast(0.4)),
    rate(read(Service, ByEmail, 16), hello(16), AtLeast(0.4)),
    rate(read(Service, FilterUsername, 16), hello(16), AtLeast(0.4)),
    rate(read(Service, FilterUsername, 64), hello(64), AtLeast(0.4)),
    rate(read(Service, FilterEmail, 16), hello(16), AtLeast(0.4)),
    rate(read(Service, FilterEmail, 64), hello(64), AtLeast(0.4)),
    rate(read(Service, SearchOne, 16), hello(16), Open),
    rate(read(Service, SearchMany, 16), hello(16), Open),
    rate(read(Service, SearchLetter, 16), hello(16), Open),
    figure(P50, read(Service, Scan, 1), Open),
    figure(P50, read(Service, WorstScan, 1), Open),
    p99(on(Service, ReadBesideScans, 1), read(Service, One, 1), 2.0),
    p99(on(Service, ReadBesideScans, 4), read(Service, One, 4), 2.0),
    p99(read(Service, One, 16), hello(16), 5.0),
    p99(read(Service, One, 64), hello(64), 5.0),
    p99(read(Uncached, Any, 16), hello(16), 5.0),
    p99(read(Service, List, 16), hello(16), 5.0),
    p99(read(Service, ByUsername, 16), hello(16), 5.0),
    figure(Cpu, read(Service, One, 64), AtMost(14.0)),
    figure(Cpu, read(Service, List, 64), AtMost(60.0)),
    rate(on(Service, Export, 0), hello(16), AtLeast(0.55)),
    ratio(P50, on(Service, Post, 1), on(Bare, Append, 0), AtMost(1.6)),
    rate(on(Service, Post, 64), on(Bare, Post, 0), AtLeast(0.6)),
    rate(on(Service, KeyedPost, 64), on(Bare, KeyedPost, 0), Open),
    rate(on(Service, Put, 64), on(Bare, Put, 0), AtLeast(0.6)),
    rate(on(Service, Delete, 64), on(Bare, Delete, 0), AtLeast(0.6)),
    rate(on(Service, Import, 0), on(Bare, Import, 0), AtLeast(0.6)),
    p99(on(Service, Post, 64), on(Bare, Post, 0), 4.0),
    p99(on(Service, Put, 64), on(Bare, Put, 0), 4.0),
    p99(on(Service, Delete, 64), on(Bare, Delete, 0), 4.0),
    figure(Cpu, on(Service, Post, 64), Open),
];

/// The service over PostgreSQL.
pub(super) const POSTGRES: &[Row] = &[
    rate(read(Postgres, Any, 16), read(Bare, Any, 16), AtLeast(0.5)),
    rate(read(Postgres, Any, 64), read(Bare, Any, 64), Open),
    rate(read(Postgres, List, 16), read(Postgres, Any, 16), Open),
    rate(read(Postgres, List, 64), read(Postgres, Any, 64), Open),
    rate(read(Postgres, FilterUsername, 16), read(Postgres, Any, 16), Open),
    rate(read(Postgres, FilterUsername, 64), read(Postgres, Any, 64), Open),
    figure(Cpu, read(Postgres, Any, 16), Open),
    figure(DatabaseCpu, read(Postgres, Any, 16), Open),
    rate(on(Postgres, Post, 16), on(Bare, Post, 16), AtLeast(2.0)),
    rate(on(Postgres, Post, 16), on(Service, Post, 16), AtLeast(0.4)),
    rate(on(Postgres, Post, 64), on(Bare, Post, 64), Open),
    rate(on(Postgres, Post, 64), on(Service, Post, 64), Open),
    rate(on(Postgres, Put, 16), on(Postgres, Post, 16), Open),
    rate(on(Postgres, Put, 64), on(Postgres, Post, 64), Open),
    rate(on(Postgres, Delete, 16), on(Postgres, Post, 16), Open),
    rate(on(Postgres, Delete, 64), on(Postgres, Post, 64), Open),
    figure(Cpu, on(Postgres, Post, 16), Open),
    figure(DatabaseCpu, on(Postgres, Post, 16), Open),
];
