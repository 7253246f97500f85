//! The load generator: one thread and keep-alive connections with one request in progress on each.
//!
//! In a closed loop, a connection sends its next request after a response. In an open loop,
//! requests are due at random times with a fixed mean rate, independent of earlier requests. Times
//! are measured from the due time, so the times of a service that stalls include the requests that
//! were due meanwhile. The generator shares the machine with the server, so it has no thread per
//! connection and does not allocate per request. Long bodies are discarded in the kernel.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{ErrorKind, Read, Write},
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use fake::{
    RngExt,
    rand::{SeedableRng, rngs::StdRng},
};
use hdrhistogram::Histogram;
use mio::{Events, Interest, Poll, Token, net::TcpStream};
use rustix::net::{RecvFlags, recv};

use super::process::CpuTimes;

/// The maximum size of a body that a source gets, in bytes. Of a longer body it gets only the
/// length.
const BODY_BYTES_MAX: usize = 1 << 16;
/// The maximum number of bytes that are discarded at once.
const DISCARDED_BYTES_MAX: usize = 1 << 20;
/// The maximum number of header lines in a response.
const HEADERS_MAX: usize = 48;
/// An open loop polls without waiting if the next request is due within this time.
const SPIN: Duration = Duration::from_millis(2);
/// The maximum number of responses that are recorded individually.
const TIMELINE_MAX: usize = 20_000;

/// The time at which requests are sent.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    /// Each connection sends after its response.
    Closed,
    /// The mean number of requests per second.
    Open(f64),
}

/// How requests are sent, and for how long.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// The server.
    pub(super) address: SocketAddr,
    /// The processes whose CPU time is read, with their children: the server and the database.
    pub(super) processes: [Option<u32>; 2],
    /// Connections.
    pub(super) connections: usize,
    /// When requests are sent.
    pub(super) pace: Pace,
    /// The time before responses are counted.
    pub(super) warm_up: Duration,
    /// The time in which responses are counted.
    pub(super) measure: Duration,
}

/// Appends the next request, or returns false if there is none.
pub(super) type Next<'a> = Box<dyn FnMut(&mut Vec<u8>) -> bool + Send + 'a>;
/// Receives each response. An error ends the run.
pub(super) type Answered<'a> = Box<dyn FnMut(&Response<'_>) -> Result<()> + Send + 'a>;

/// The requests of a run, and the handling of the responses.
pub(super) struct Source<'a> {
    pub(super) next: Next<'a>,
    pub(super) answered: Answered<'a>,
}

/// A response.
pub(super) struct Response<'a> {
    /// The status.
    pub(super) status: u16,
    /// The size of the body in bytes.
    pub(super) length: usize,
    /// The body, unless it is too long to be stored.
    pub(super) body: &'a [u8],
}

/// One response of a timeline.
#[derive(Clone, Copy)]
pub(super) struct Timed {
    /// The time since the start of the run.
    pub(super) at: Duration,
    /// The time since the request was due.
    pub(super) took: Duration,
    /// The status.
    pub(super) status: u16,
}

/// The result of a run.
pub(super) struct Outcome {
    /// The number of requests that were due in an open loop.
    pub(super) due: u32,
    /// Responses by status.
    pub(super) statuses: BTreeMap<u16, u32>,
    /// 2xx responses before the end of the measured time.
    pub(super) good: u32,
    /// Requests without a response, or whose connection broke.
    pub(super) lost: u32,
    /// 503 responses without `Retry-After`.
    pub(super) without_retry_after: u32,
    /// The times of the 2xx responses, in nanoseconds.
    pub(super) good_ns: Histogram<u64>,
    /// The times of all other responses.
    pub(super) refused_ns: Histogram<u64>,
    /// The times from the due time to the sending of a request.
    pub(super) late_ns: Histogram<u64>,
    /// The measured time.
    pub(super) elapsed: Duration,
    /// The CPU time of the processes in the measured time.
    pub(super) cpu: [Duration; 2],
    /// The size of the last body in bytes.
    pub(super) body_bytes: usize,
    /// The first responses.
    pub(super) timeline: Vec<Timed>,
}

impl Outcome {
    fn new() -> Result<Self> {
        // One nanosecond to two minutes, three significant digits.
        let times = || Histogram::new_with_bounds(1, 120_000_000_000, 3);
        Ok(Self {
            due: 0,
            statuses: BTreeMap::new(),
            good: 0,
            lost: 0,
            without_retry_after: 0,
            good_ns: times()?,
            refused_ns: times()?,
            late_ns: times()?,
            elapsed: Duration::ZERO,
            cpu: [Duration::ZERO; 2],
            body_bytes: 0,
            timeline: Vec::new(),
        })
    }

    /// 2xx responses per second.
    pub(super) fn rate(&self) -> f64 {
        f64::from(self.good) / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Runs requests until the time is over or the source has none. Waits for requests that are in
/// progress then.
pub(super) fn run(load: &Load, source: &mut Source<'_>) -> Result<Outcome> {
    Generator::new(load)?.run(source)
}

/// Runs `action` while a separate thread sends requests.
pub(super) fn alongside<T>(
    load: &Load,
    mut source: Source<'_>,
    action: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let over = AtomicBool::new(false);
    let load = Load { warm_up: Duration::ZERO, measure: Duration::from_mins(2), ..*load };
    thread::scope(|scope| {
        let (next, over) = (&mut source.next, &over);
        let next = Box::new(|out: &mut Vec<u8>| !over.load(Ordering::Relaxed) && next(out));
        let mut source = Source { next, answered: Box::new(&mut source.answered) };
        let running = scope.spawn(move || run(&load, &mut source));
        let done = action();
        over.store(true, Ordering::Relaxed);
        let outcome = running.join().map_err(|_| anyhow!("the concurrent load panicked"))??;
        ensure!(outcome.good > 0, "the concurrent load got no response");
        done
    })
}

/// Random times: the intervals between them have an exponential distribution.
struct Arrivals {
    mean: Duration,
    next: Duration,
    random: StdRng,
}

impl Arrivals {
    fn new(rate: f64) -> Self {
        let mean = Duration::from_secs_f64(1.0 / rate.max(0.001));
        let mut arrivals = Self { mean, next: Duration::ZERO, random: StdRng::seed_from_u64(7) };
        arrivals.advance();
        arrivals
    }

    fn advance(&mut self) {
        // Above 0 and at most 1.
        let chance = 1.0 - self.random.random::<f64>();
        self.next += self.mean.mul_f64(-chance.ln());
    }
}

/// The head of a response.
#[derive(Clone, Copy)]
struct Head {
    status: u16,
    has_retry_after: bool,
    /// The offset of the body.
    body: usize,
    /// The size of the body in bytes.
    length: usize,
}

struct Connection {
    stream: TcpStream,
    /// The due time of the request in progress.
    due: Option<Duration>,
    request: Vec<u8>,
    received: Vec<u8>,
    head: Option<Head>,
    discarded: usize,
}

struct Generator {
    load: Load,
    poll: Poll,
    connections: Vec<Connection>,
    idle: VecDeque<usize>,
    arrivals: Option<Arrivals>,
    /// The due times of requests that have no connection yet.
    waiting: VecDeque<Duration>,
    is_exhausted: bool,
    is_counting: bool,
    is_over: bool,
    began: Instant,
    scratch: Vec<u8>,
    outcome: Outcome,
}

impl Generator {
    fn new(load: &Load) -> Result<Self> {
        let poll = Poll::new()?;
        let connections = (0..load.connections)
            .map(|number| Connection::open(load.address, &poll, number))
            .collect::<Result<Vec<_>>>()?;
        let arrivals = match load.pace {
            Pace::Closed => None,
            Pace::Open(rate) => Some(Arrivals::new(rate)),
        };
        Ok(Self {
            load: *load,
            poll,
            idle: (0..connections.len()).collect(),
            connections,
            arrivals,
            waiting: VecDeque::new(),
            is_exhausted: false,
            is_counting: false,
            is_over: false,
            began: Instant::now(),
            scratch: vec![0; DISCARDED_BYTES_MAX],
            outcome: Outcome::new()?,
        })
    }

    fn run(mut self, source: &mut Source<'_>) -> Result<Outcome> {
        let end = self.load.warm_up + self.load.measure;
        self.go(source, self.load.warm_up)?;
        self.is_counting = true;
        let (since, before) = (self.began.elapsed(), self.cpu_times()?);
        self.go(source, end)?;
        self.is_over = true;
        self.outcome.elapsed = self.began.elapsed().saturating_sub(since);
        let after = self.cpu_times()?;
        self.outcome.cpu = [0, 1].map(|at| {
            let times = before.get(at).zip(after.get(at));
            times.map_or(Duration::ZERO, |(before, after)| after.since(before))
        });
        let grace = Duration::from_secs(if self.arrivals.is_some() { 5 } else { 60 });
        let deadline = self.began.elapsed() + grace;
        while !(self.is_idle() && self.waiting.is_empty()) && self.began.elapsed() < deadline {
            self.send(source)?;
            self.receive(source, SPIN)?;
        }
        let open = self.connections.len() - self.idle.len() + self.waiting.len();
        self.outcome.lost += u32::try_from(open)?;
        ensure!(self.arrivals.is_some() || self.outcome.lost == 0, "requests got no response");
        Ok(self.outcome)
    }

    fn cpu_times(&self) -> Result<Vec<CpuTimes>> {
        let times = |process: &Option<u32>| process.map_or(Ok(CpuTimes::default()), CpuTimes::of);
        self.load.processes.iter().map(times).collect()
    }

    fn is_idle(&self) -> bool {
        self.idle.len() == self.connections.len()
    }

    /// Sends and receives until this time, or until the source is exhausted.
    fn go(&mut self, source: &mut Source<'_>, until: Duration) -> Result<()> {
        loop {
            let now = self.began.elapsed();
            if now >= until || (self.is_exhausted && self.is_idle()) {
                return Ok(());
            }
            let mut pause = SPIN;
            if let Some(arrivals) = &mut self.arrivals {
                while arrivals.next <= now {
                    self.waiting.push_back(arrivals.next);
                    self.outcome.due += 1;
                    arrivals.advance();
                }
                if arrivals.next.saturating_sub(now) < SPIN {
                    pause = Duration::ZERO;
                }
            }
            self.send(source)?;
            self.receive(source, pause)?;
        }
    }

    /// Sends requests on idle connections.
    fn send(&mut self, source: &mut Source<'_>) -> Result<()> {
        while let Some(number) = self.idle.front().copied() {
            let now = self.began.elapsed();
            let due = match self.arrivals {
                Some(_) => self.waiting.pop_front(),
                None => (!self.is_over && !self.is_exhausted).then_some(now),
            };
            let Some(due) = due else { return Ok(()) };
            let connection = self.connections.get_mut(number).context("no such connection")?;
            connection.request.clear();
            if !(source.next)(&mut connection.request) {
                self.is_exhausted = true;
                return Ok(());
            }
            self.idle.pop_front();
            connection.due = Some(if self.arrivals.is_some() { due } else { self.began.elapsed() });
            self.outcome.late_ns.saturating_record(nanoseconds(now.saturating_sub(due)));
            // A request is smaller than the socket's buffer, and the buffer is empty.
            if connection.stream.write(&connection.request).ok() != Some(connection.request.len()) {
                self.replace(number)?;
            }
        }
        Ok(())
    }

    /// Waits for responses, at most for this time.
    fn receive(&mut self, source: &mut Source<'_>, pause: Duration) -> Result<()> {
        let mut events = Events::with_capacity(1024);
        self.poll.poll(&mut events, Some(pause))?;
        for event in &events {
            let number = event.token().0;
            let connection = self.connections.get_mut(number).context("no such connection")?;
            match connection.read(&mut self.scratch) {
                Ok(Some(head)) => {
                    let due = connection.due.take().context("a response without a request")?;
                    let body = connection.received.get(head.body..).unwrap_or_default();
                    let Head { status, length, .. } = head;
                    self.outcome.body_bytes = length;
                    (source.answered)(&Response { status, length, body })?;
                    connection.clear();
                    self.idle.push_back(number);
                    if self.is_counting {
                        self.count(due, head);
                    }
                    self.send(source)?;
                }
                Ok(None) => {}
                Err(_) => self.replace(number)?,
            }
        }
        Ok(())
    }

    fn count(&mut self, due: Duration, head: Head) {
        let outcome = &mut self.outcome;
        let at = self.began.elapsed();
        let took = at.saturating_sub(due);
        *outcome.statuses.entry(head.status).or_default() += 1;
        if (200..300).contains(&head.status) {
            outcome.good_ns.saturating_record(nanoseconds(took));
            outcome.good += u32::from(!self.is_over);
        } else {
            outcome.refused_ns.saturating_record(nanoseconds(took));
            let is_bare = head.status == 503 && !head.has_retry_after;
            outcome.without_retry_after += u32::from(is_bare);
        }
        if outcome.timeline.len() < TIMELINE_MAX {
            outcome.timeline.push(Timed { at, took, status: head.status });
        }
    }

    /// Replaces a broken connection.
    fn replace(&mut self, number: usize) -> Result<()> {
        let connection = self.connections.get_mut(number).context("no such connection")?;
        let was_busy = connection.due.is_some();
        *connection = Connection::open(self.load.address, &self.poll, number)?;
        if was_busy {
            self.outcome.lost += 1;
            self.idle.push_back(number);
        }
        Ok(())
    }
}

impl Connection {
    fn open(address: SocketAddr, poll: &Poll, number: usize) -> Result<Self> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
        let (request, received) = (Vec::with_capacity(4096), Vec::with_capacity(1 << 17));
        Ok(Self { stream, due: None, request, received, head: None, discarded: 0 })
    }

    fn clear(&mut self) {
        self.received.clear();
        self.head = None;
        self.discarded = 0;
    }

    /// Reads the received bytes. Returns the head once the response is complete. The poll reports
    /// new bytes only once, so this reads until there are none or the response is complete; nothing
    /// follows a response.
    fn read(&mut self, scratch: &mut [u8]) -> Result<Option<Head>> {
        loop {
            let result = match self.head {
                Some(head) if head.length > BODY_BYTES_MAX => {
                    let missing = head.body + head.length - self.received.len() - self.discarded;
                    let room = missing.min(scratch.len());
                    let room = scratch.get_mut(..room).unwrap_or_default();
                    // The kernel counts the bytes and copies none.
                    let read = recv(&self.stream, room, RecvFlags::TRUNC);
                    read.map(|(_, count)| count).map_err(Into::into)
                }
                _ => {
                    let room = scratch.get_mut(..BODY_BYTES_MAX).unwrap_or_default();
                    self.stream.read(room)
                }
            };
            let count = match result {
                Ok(0) => bail!("the server closed a connection"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if self.head.is_some_and(|head| head.length > BODY_BYTES_MAX) {
                self.discarded += count;
            } else {
                self.received.extend_from_slice(scratch.get(..count).unwrap_or_default());
            }
            if self.head.is_none() {
                self.head = parse_head(&self.received)?;
            }
            if let Some(head) = self.head {
                let (end, have) = (head.body + head.length, self.received.len() + self.discarded);
                ensure!(have <= end, "{} bytes follow a response", have - end);
                if have == end {
                    return Ok(Some(head));
                }
            }
        }
    }
}

/// The head at the start of `bytes`, or `None` while it is incomplete.
fn parse_head(bytes: &[u8]) -> Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(body) = head.parse(bytes).context("not HTTP")? else {
        return Ok(None);
    };
    let status = head.code.context("a response without a status")?;
    let field = |name| head.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
    let length = match field("content-length") {
        Some(field) => std::str::from_utf8(field.value)?.trim().parse()?,
        None if status == 204 || status == 304 => 0,
        None => bail!("a response {status} without Content-Length"),
    };
    let has_retry_after = field("retry-after").is_some();
    Ok(Some(Head { status, has_retry_after, body, length }))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
