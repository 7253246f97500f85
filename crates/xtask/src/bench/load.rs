//! The load generator: one thread, one request under way on each connection, keep-alive.
//!
//! It shares the machine with the server that is measured, so it does as little as it can: no
//! thread of its own per connection, no allocation per request. A closed loop: what it tells is
//! how fast callers who wait for their answers are served, not how an overload is borne.

use std::{
    io::{ErrorKind, Read, Write},
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use hdrhistogram::Histogram;
use mio::{Events, Interest, Poll, Token, net::TcpStream};

use super::{
    answer::{self, Answer},
    process::{self, CpuTimes},
};

/// The longest that work may go on beside other work, whatever happens to that.
const BESIDE_WITHIN: Duration = Duration::from_mins(2);

/// The longest that the last requests of a run may take.
const DRAINED_WITHIN: Duration = Duration::from_mins(1);

/// What the connections ask for, one request after the other.
pub(super) trait Work {
    /// Appends the next request, or returns false when there is no more.
    fn next(&mut self, request: &mut Vec<u8>) -> bool;
    /// The one status that counts; any other ends the run.
    fn expected(&self) -> u16;
    /// Sees the body of an answer with the expected status.
    fn answered(&mut self, _body: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// How to run some work.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// The server.
    pub(super) address: SocketAddr,
    /// Its process, whose CPU time is read; `None` to leave that out.
    pub(super) process: Option<u32>,
    /// Connections, each with one request under way.
    pub(super) connections: usize,
    /// What goes by before counting starts.
    pub(super) warm_up: Duration,
    /// How long to count.
    pub(super) measure: Duration,
}

/// What came out.
pub(super) struct Outcome {
    /// Answers that were counted.
    pub(super) answers: u32,
    /// For how long they were counted.
    pub(super) elapsed: Duration,
    /// From the first byte sent to the last byte read, in nanoseconds.
    pub(super) latency_ns: Histogram<u64>,
    /// CPU time of the server's process meanwhile.
    pub(super) server_cpu: Duration,
    /// Bytes of the last body seen.
    pub(super) body_bytes: usize,
}

impl Outcome {
    /// Answers in a second.
    pub(super) fn rate(&self) -> f64 {
        f64::from(self.answers) / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// A quantile of the latency.
    pub(super) fn latency(&self, quantile: f64) -> Duration {
        Duration::from_nanos(self.latency_ns.value_at_quantile(quantile))
    }

    /// CPU time of the server for one answer.
    pub(super) fn cpu_per_answer(&self) -> Duration {
        self.server_cpu / self.answers.max(1)
    }
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    received: Vec<u8>,
    sent_at: Instant,
    busy: bool,
}

/// Runs the work until the time is over or there is no more. What is under way then is waited for
/// and seen by the work, but not counted.
pub(super) fn run(load: Load, work: &mut dyn Work) -> Result<Outcome> {
    let mut connections = Connections::open(load)?;
    let mut counter = Counter::new(load)?;
    for connection in &mut connections.all {
        connection.fire(work)?;
    }
    while connections.are_busy() && !counter.is_over()? {
        connections.receive(|connection, answer| {
            counter.count(connection.sent_at.elapsed(), answer);
            connection.accept(answer, work)?;
            connection.fire(work)
        })?;
    }
    let outcome = counter.finish()?;
    let over = Instant::now();
    while connections.are_busy() {
        ensure!(over.elapsed() < DRAINED_WITHIN, "the last requests were not answered");
        connections.receive(|connection, answer| connection.accept(answer, work))?;
    }
    Ok(outcome)
}

/// Does something while this work goes on beside it, on a thread of its own. The last requests of
/// that work are waited for.
pub(super) fn beside<T>(
    load: Load,
    work: &mut (dyn Work + Send),
    action: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let over = AtomicBool::new(false);
    let load = Load { warm_up: Duration::ZERO, measure: BESIDE_WITHIN, ..load };
    thread::scope(|scope| {
        let beside = scope.spawn(|| run(load, &mut Until { work, over: &over }));
        let done = action();
        over.store(true, Ordering::Relaxed);
        let beside = beside.join().map_err(|_| anyhow!("the work beside panicked"))??;
        ensure!(beside.answers > 0, "the work beside was never answered");
        done
    })
}

/// Some work that ends when it is told to.
struct Until<'w> {
    work: &'w mut (dyn Work + Send),
    over: &'w AtomicBool,
}

impl Work for Until<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> bool {
        !self.over.load(Ordering::Relaxed) && self.work.next(request)
    }

    fn expected(&self) -> u16 {
        self.work.expected()
    }

    fn answered(&mut self, body: &[u8]) -> Result<()> {
        self.work.answered(body)
    }
}

/// All connections of a run.
struct Connections {
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    all: Vec<Connection>,
}

impl Connections {
    fn open(load: Load) -> Result<Self> {
        let poll = Poll::new()?;
        let connect_one = |number| {
            let stream = std::net::TcpStream::connect(load.address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
            let (request, received) = (Vec::with_capacity(4096), Vec::with_capacity(1 << 16));
            Ok(Connection { stream, request, received, sent_at: Instant::now(), busy: false })
        };
        let all = (0..load.connections).map(connect_one).collect::<Result<_>>()?;
        Ok(Self { poll, events: Events::with_capacity(1024), scratch: vec![0; 1 << 18], all })
    }

    fn are_busy(&self) -> bool {
        self.all.iter().any(|connection| connection.busy)
    }

    /// Waits for answers, not for long, and hands over those that are whole.
    fn receive(
        &mut self,
        mut each: impl FnMut(&mut Connection, Answer) -> Result<()>,
    ) -> Result<()> {
        self.poll.poll(&mut self.events, Some(Duration::from_millis(100)))?;
        for event in &self.events {
            let connection =
                self.all.get_mut(event.token().0).context("an event of no connection")?;
            if let Some(answer) = connection.receive(&mut self.scratch)? {
                each(connection, answer)?;
            }
        }
        Ok(())
    }
}

impl Connection {
    fn fire(&mut self, work: &mut dyn Work) -> Result<()> {
        self.request.clear();
        self.received.clear();
        self.busy = work.next(&mut self.request);
        if self.busy {
            self.sent_at = Instant::now();
            // A request is small beside the socket's buffer, and the buffer is empty.
            let written = self.stream.write(&self.request)?;
            if written != self.request.len() {
                bail!("only {written} bytes of a request fit into the socket");
            }
        }
        Ok(())
    }

    /// Shows an answer to the work.
    fn accept(&mut self, answer: Answer, work: &mut dyn Work) -> Result<()> {
        self.busy = false;
        let body = self.received.get(answer.body..).unwrap_or_default();
        if answer.status != work.expected() {
            bail!("answered {}: {}", answer.status, String::from_utf8_lossy(body));
        }
        work.answered(body)
    }

    /// The answer once it is whole. The poll tells of new bytes once, so it reads all there are;
    /// after a whole answer there can be none.
    fn receive(&mut self, scratch: &mut [u8]) -> Result<Option<Answer>> {
        loop {
            match self.stream.read(scratch) {
                Ok(0) => bail!("the server closed a connection"),
                Ok(count) => {
                    self.received.extend_from_slice(scratch.get(..count).unwrap_or_default());
                    if let Some(answer) = answer::parse(&self.received)? {
                        return Ok(Some(answer));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Counts from the end of the warm-up to the end of the measuring time.
struct Counter {
    load: Load,
    started: Instant,
    counting_since: Option<(Instant, CpuTimes)>,
    outcome: Outcome,
}

impl Counter {
    fn new(load: Load) -> Result<Self> {
        // One nanosecond to one minute, three significant digits.
        let latency_ns = Histogram::new_with_bounds(1, 60_000_000_000, 3)?;
        let (elapsed, server_cpu) = (Duration::ZERO, Duration::ZERO);
        let outcome = Outcome { answers: 0, elapsed, latency_ns, server_cpu, body_bytes: 0 };
        Ok(Self { load, started: Instant::now(), counting_since: None, outcome })
    }

    fn server_cpu(&self) -> Result<CpuTimes> {
        self.load.process.map_or_else(|| Ok(CpuTimes::default()), process::cpu_times)
    }

    fn is_over(&mut self) -> Result<bool> {
        if let Some((since, _)) = &self.counting_since {
            return Ok(since.elapsed() >= self.load.measure);
        }
        if self.started.elapsed() >= self.load.warm_up {
            self.counting_since = Some((Instant::now(), self.server_cpu()?));
        }
        Ok(false)
    }

    fn count(&mut self, latency: Duration, answer: Answer) {
        if self.counting_since.is_some() {
            self.outcome.answers += 1;
            let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
            self.outcome.latency_ns.saturating_record(nanoseconds);
            self.outcome.body_bytes = answer.end - answer.body;
        }
    }

    fn finish(mut self) -> Result<Outcome> {
        let server_cpu = self.server_cpu()?;
        let (since, before) =
            self.counting_since.context("the work ended before the warm-up did")?;
        self.outcome.elapsed = since.elapsed();
        self.outcome.server_cpu = server_cpu.since(&before);
        Ok(self.outcome)
    }
}
