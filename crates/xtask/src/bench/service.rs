//! A service that is measured: how it is started and filled, and the requests to it.

use std::{fs, net::SocketAddr, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use fake::{
    RngExt,
    rand::{SeedableRng, rngs::StdRng},
};
use serde_json::Value;

use super::{
    cases::{Read, Work},
    load::{self, Answered, Load, Outcome, Pace, Response, Source},
    people::{Person, User},
    process::Server,
    streams,
};

/// The number of users in the hot set. The default byte cache has room for many times as many.
const HOT_USERS: usize = 10_000;
/// The number of connections for loads that are not measured.
const UNMEASURED: usize = 64;
/// The maximum duration of a load that is not measured.
const UNMEASURED_WITHIN: Duration = Duration::from_hours(1);
/// The number of connections for queries for which no index can be used.
const SCANS: usize = 4;
/// The page size of the measured pages: the default.
const PAGE_SIZE: usize = 50;
/// The page size for finding the last page.
const LONG_PAGE: usize = 1000;
/// The maximum number of terms in a filter.
const TERMS_MAX: usize = 64;
/// The number of users per millisecond that are created for DELETE: more than a service can delete.
const DELETES_PER_MS: usize = 16;
/// The minimum size of a user in bytes, because a fast empty response would not be a result.
const USER_BYTES_MIN: usize = 200;
/// The file in a data directory in which the benchmark stores the service's key.
const KEY_FILE: &str = "bench-key";

/// A running service and the known state of its users.
pub(super) struct Service {
    /// Its process.
    pub(super) server: Server,
    /// The users of every round.
    pub(super) users: Vec<User>,
    /// The users that were created in this round.
    pub(super) fresh: Vec<User>,
    /// The number of the next user.
    pub(super) next_number: u64,
    revision: u64,
    /// The header line with the key, if the service needs one.
    authorization: String,
    last_page: String,
}

/// Creates the first key of a data directory. From then on every request needs a key.
pub(super) fn create_key(binary: &Path, data: &Path) -> Result<()> {
    let mut command = Command::new(binary);
    command.args(["keys", "create", "bench", "--scope", "all", "--data"]).arg(data);
    let output = command.output()?;
    ensure!(output.status.success(), "no key was made: {output:?}");
    let key = String::from_utf8(output.stdout)?;
    Ok(fs::write(data.join(KEY_FILE), format!("Authorization: Bearer {}\r\n", key.trim_end()))?)
}

impl Service {
    /// Starts the service on a directory with these stored users. `before` is the command that
    /// starts the binary, if there is one; `more` are further arguments.
    pub(super) fn start(
        before: &[&str],
        binary: &Path,
        data: &Path,
        more: &[&str],
        users: Vec<User>,
    ) -> Result<Self> {
        let authorization = fs::read_to_string(data.join(KEY_FILE)).unwrap_or_default();
        let path = if authorization.is_empty() { "/users?limit=1" } else { "/readyz" };
        let command = |address: &str| {
            let mut words = before.iter().map(AsRef::as_ref).chain([binary.as_os_str()]);
            let mut command = Command::new(words.next().context("no command")?);
            command.args(words).args(["serve", "--listen", address, "--data"]).arg(data);
            command.args(more);
            Ok(command)
        };
        Ok(Self {
            server: Server::start(command, path)?,
            next_number: users.iter().map(|user| user.number + 1).max().unwrap_or(0),
            users,
            fresh: Vec::new(),
            revision: 0,
            authorization,
            last_page: String::new(),
        })
    }

    /// Creates this number of users permanently. Returns the number per second.
    pub(super) fn fill(&mut self, count: u64) -> Result<f64> {
        let rate = self.create_fresh(count, false)?.rate();
        self.users.append(&mut self.fresh);
        Ok(rate)
    }

    /// Creates this number of users; not measured.
    pub(super) fn create_fresh(&mut self, count: u64, keyed: bool) -> Result<Outcome> {
        let end = self.next_number + count;
        self.create(&self.unmeasured(), end, keyed)
    }

    /// Creates users up to this number, with or without idempotency keys.
    fn create(&mut self, load: &Load, end: u64, keyed: bool) -> Result<Outcome> {
        let Self { fresh, next_number, .. } = self;
        let next = |out: &mut Vec<u8>| {
            let number = *next_number;
            if number >= end {
                return false;
            }
            *next_number += 1;
            let key = format!("Idempotency-Key: \"bench {number}\"\r\n");
            let lines = if keyed { key.as_str() } else { "" };
            write_request(out, load, "POST", "/users", lines, &Person::new(number).body(0));
            true
        };
        let answered = |response: &Response<'_>| {
            ensure!(response.status == 201, "{}", String::from_utf8_lossy(response.body));
            let record: Value = serde_json::from_slice(response.body)?;
            let text = |name| record.get(name).and_then(Value::as_str).context("no user");
            let number = text("employee_number")?.parse()?;
            fresh.push(User { number, id: text("id")?.to_owned() });
            Ok(())
        };
        load::run(load, &mut Source { next: Box::new(next), answered: Box::new(answered) })
    }

    /// Deletes the users that were created in this round.
    pub(super) fn settle(&mut self) -> Result<()> {
        if !self.fresh.is_empty() {
            self.delete(&self.unmeasured(), 0)?;
        }
        Ok(())
    }

    /// Replaces each of these users once.
    pub(super) fn replace_each(&mut self, users: &[User]) -> Result<()> {
        self.revision += 1;
        let (load, revision, mut users) = (self.unmeasured(), self.revision, users.iter());
        let next = |out: &mut Vec<u8>| {
            users.next().is_some_and(|user| write_replace(out, &load, user, revision))
        };
        load::run(&load, &mut Source { next: Box::new(next), answered: expect(200, 0) })?;
        Ok(())
    }

    /// Executes work repeatedly, in an order that the seed determines.
    pub(super) fn run(&mut self, work: Work, load: &Load, seed: u64) -> Result<Outcome> {
        match work {
            Work::Read(read) => {
                if read == Read::LastPage && self.last_page.is_empty() {
                    self.last_page = self.find_last_page()?;
                }
                load::run(load, &mut self.reads(read, *load, seed))
            }
            Work::ReadBesideScans => {
                let scans = Load { connections: SCANS, ..self.unmeasured() };
                let scan = self.reads(Read::WorstScan, scans, seed);
                let mut reads = self.reads(Read::One, *load, seed);
                load::alongside(&scans, scan, || load::run(load, &mut reads))
            }
            Work::Post => self.create(load, u64::MAX, false),
            Work::KeyedPost => self.create(load, u64::MAX, true),
            Work::Put => self.replace(load, seed),
            Work::Delete => {
                let time = load.warm_up + load.measure;
                let wanted = usize::try_from(time.as_millis())? * DELETES_PER_MS;
                let missing = wanted.saturating_sub(self.fresh.len());
                self.create_fresh(u64::try_from(missing)?, false)?;
                self.delete(load, seed)
            }
            Work::Append | Work::Export | Work::Import => bail!("{work:?} is no load"),
        }
    }

    fn replace(&mut self, load: &Load, seed: u64) -> Result<Outcome> {
        let mut random = StdRng::seed_from_u64(seed);
        let Self { users, revision, .. } = self;
        let next = |out: &mut Vec<u8>| {
            *revision += 1;
            pick(&mut random, users).is_some_and(|user| write_replace(out, load, user, *revision))
        };
        load::run(load, &mut Source { next: Box::new(next), answered: expect(200, USER_BYTES_MIN) })
    }

    /// Deletes users of this round in random order, because users that were created together are
    /// stored next to each other.
    fn delete(&mut self, load: &Load, seed: u64) -> Result<Outcome> {
        let (mut random, fresh) = (StdRng::seed_from_u64(seed), &mut self.fresh);
        let next = |out: &mut Vec<u8>| {
            if fresh.is_empty() {
                return false;
            }
            let user = fresh.swap_remove(random.random_range(0..fresh.len()));
            write_request(out, load, "DELETE", &format!("/users/{}", user.id), "", "");
            true
        };
        load::run(load, &mut Source { next: Box::new(next), answered: expect(204, 0) })
    }

    fn reads(&self, read: Read, load: Load, seed: u64) -> Source<'_> {
        let mut random = StdRng::seed_from_u64(seed);
        let all = self.users.as_slice();
        let hot = all.get(..HOT_USERS).unwrap_or(all);
        let users = if read == Read::One { hot } else { all };
        let next = move |out: &mut Vec<u8>| {
            pick(&mut random, users).is_some_and(|user| {
                let path = self.path(read, user);
                write_request(out, &load, "GET", &path, &self.authorization, "");
                true
            })
        };
        let least = if matches!(read, Read::Scan | Read::WorstScan) { 0 } else { USER_BYTES_MIN };
        Source { next: Box::new(next), answered: expect(200, least) }
    }

    fn path(&self, read: Read, user: &User) -> String {
        let person = || Person::new(user.number);
        let equals = |text: &str| format!("%20eq%20%22{text}%22");
        match read {
            Read::One | Read::Any => format!("/users/{}", user.id),
            Read::ScimAny => format!("/scim/v2/Users/{}", user.id),
            Read::List => "/users".to_owned(),
            Read::LastPage => self.last_page.clone(),
            Read::ScimList => format!("/scim/v2/Users?count={PAGE_SIZE}"),
            Read::ByUsername => format!("/users?username={}", person().username),
            Read::ByEmail => format!("/users?email={}", person().email),
            Read::FilterUsername => {
                format!("/users?filter=username{}", equals(&person().username))
            }
            Read::FilterEmail => {
                format!("/users?filter=emails.value{}", equals(person().last_email()))
            }
            Read::SearchOne => format!("/users?q={}", person().username),
            Read::SearchMany => "/users?q=smith".to_owned(),
            Read::SearchLetter => "/users?q=a".to_owned(),
            Read::Scan => "/users?filter=nickname%20co%20%22nobody%22".to_owned(),
            // The slowest known filter: the maximum number of terms, each of which computes a key
            // of each address of each user, and none matches. The title prevents the use of the
            // index.
            Read::WorstScan => {
                let term = |n| format!("%20or%20emails{}", equals(&format!("no{n}@example.net")));
                let terms: String = (1..TERMS_MAX).map(term).collect();
                format!("/users?filter=title{}{terms}", equals("none"))
            }
        }
    }

    /// The path of a page near the end: the cursor before the last page of 1,000 users.
    fn find_last_page(&self) -> Result<String> {
        let (mut last, mut next) = (None, self.next_cursor(LONG_PAGE, None)?);
        while let Some(cursor) = next {
            next = self.next_cursor(LONG_PAGE, Some(&cursor))?;
            last = Some(cursor);
        }
        Ok(format!("/users?cursor={}", last.context("there is one page only")?))
    }

    /// Returns `count` paths of the second page of `limit` users, each with a different cursor.
    pub(super) fn second_pages(&self, limit: usize, count: usize) -> Result<Vec<String>> {
        let path = || {
            let next = self.next_cursor(limit, None)?.context("there is one page only")?;
            Ok(format!("/users?limit={limit}&cursor={next}"))
        };
        (0..count).map(|_| path()).collect()
    }

    fn next_cursor(&self, limit: usize, cursor: Option<&str>) -> Result<Option<String>> {
        let cursor = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let path = format!("/users?limit={limit}{cursor}");
        let page = streams::get(self.server.address, &path, "application/json")?;
        let page: Value = serde_json::from_slice(&page)?;
        Ok(page.get("next_cursor").and_then(Value::as_str).map(str::to_owned))
    }

    fn unmeasured(&self) -> Load {
        Load {
            address: self.server.address,
            processes: [None; 2],
            connections: UNMEASURED,
            pace: Pace::Closed,
            warm_up: Duration::ZERO,
            measure: UNMEASURED_WITHIN,
        }
    }
}

/// GETs of these paths in turn. Every status counts.
pub(super) fn turns(address: SocketAddr, paths: &[String]) -> Source<'_> {
    let mut paths = paths.iter().cycle();
    let next = move |out: &mut Vec<u8>| {
        paths.next().is_some_and(|path| {
            let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
            out.extend_from_slice(head.as_bytes());
            true
        })
    };
    Source { next: Box::new(next), answered: Box::new(|_| Ok(())) }
}

fn pick<'u>(random: &mut StdRng, users: &'u [User]) -> Option<&'u User> {
    users.get(random.random_range(0..users.len().max(1)))
}

/// Fails unless a response has this status and at least this many bytes.
fn expect(status: u16, least: usize) -> Answered<'static> {
    Box::new(move |response| {
        let text = String::from_utf8_lossy(response.body);
        ensure!(response.status == status, "answered {}: {text}", response.status);
        ensure!(response.length >= least, "only {} bytes: {text}", response.length);
        Ok(())
    })
}

fn write_replace(out: &mut Vec<u8>, load: &Load, user: &User, revision: u64) -> bool {
    let body = Person::new(user.number).body(revision);
    write_request(out, load, "PUT", &format!("/users/{}", user.id), "", &body);
    true
}

fn write_request(
    out: &mut Vec<u8>,
    load: &Load,
    method: &str,
    path: &str,
    lines: &str,
    body: &str,
) {
    let (host, length) = (load.address, body.len());
    let media = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    let media = if body.is_empty() { "" } else { &media };
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{lines}{media}\r\n{body}");
    out.extend_from_slice(head.as_bytes());
}
