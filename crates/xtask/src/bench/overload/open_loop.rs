//! The open loop: requests go out when they are due, whatever became of those before.
//!
//! One thread, many connections with one request under way on each. A time runs from the moment
//! at which the request was due, not from when it could be sent: a service that stands still is
//! charged with all who came meanwhile. Bodies are thrown away where the kernel keeps them: copying
//! a page of megabytes costs as much as serving it, and the two share the processor's caches.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{ErrorKind, Read, Write},
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use mio::{Events, Interest, Poll, Token, net::TcpStream};
use rustix::net::{RecvFlags, recv};

use super::{super::answer, arrivals::Arrivals};

/// How long the last requests of a run may take.
const GRACE: Duration = Duration::from_secs(5);
/// The next moment is waited for actively when it is nearer than a poll can tell.
const NEAR: Duration = Duration::from_millis(2);
/// The head of an answer is not longer, and the first bytes of a body come with it.
const HEAD_BYTES_MAX: usize = 4096;
/// The most of a body that is thrown away at once.
const THROWN_AWAY_MAX: usize = 1 << 20;

/// What to ask for, and how often.
pub(super) struct Plan<'a> {
    pub(super) address: SocketAddr,
    /// Asked for in turn.
    pub(super) paths: &'a [String],
    /// Requests a second.
    pub(super) rate: f64,
    pub(super) lasts: Duration,
    pub(super) connections: usize,
    pub(super) seed: u64,
}

/// One answer, in the order in which they came.
#[derive(Clone, Copy)]
pub(super) struct Came {
    /// Since the start.
    pub(super) at: Duration,
    pub(super) took: Duration,
    pub(super) status: u16,
}

/// What became of a run.
pub(super) struct Outcome {
    /// Requests that were due.
    pub(super) due: u32,
    /// Answers by status.
    pub(super) answers: BTreeMap<u16, u32>,
    /// 2xx that came while requests were still due.
    pub(super) good_in_time: u32,
    /// Requests whose connection broke or that were never answered.
    pub(super) lost: u32,
    /// 503 without `Retry-After`.
    pub(super) without_wait: u32,
    /// Times of the 2xx, in microseconds from when they were due.
    pub(super) good_us: Histogram<u64>,
    /// Times of all others.
    pub(super) refused_us: Histogram<u64>,
    /// How late requests were sent, in microseconds: what the generator itself adds.
    pub(super) late_us: Histogram<u64>,
    pub(super) lasted: Duration,
    /// The answers themselves, up to a bound.
    pub(super) first: Vec<Came>,
}

/// Most answers that are kept one by one.
const KEPT_MAX: usize = 20_000;

impl Outcome {
    fn new(lasted: Duration) -> Result<Self> {
        let times = || Histogram::new_with_bounds(1, 120_000_000, 3);
        Ok(Self {
            due: 0,
            answers: BTreeMap::new(),
            good_in_time: 0,
            lost: 0,
            without_wait: 0,
            good_us: times()?,
            refused_us: times()?,
            late_us: times()?,
            lasted,
            first: Vec::new(),
        })
    }

    /// 2xx in a second.
    pub(super) fn goodput(&self) -> f64 {
        f64::from(self.good_in_time) / self.lasted.as_secs_f64().max(1e-9)
    }

    fn record(&mut self, at: Duration, due: Duration, head: Head) {
        *self.answers.entry(head.status).or_default() += 1;
        let took = at.saturating_sub(due);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if (200..300).contains(&head.status) {
            self.good_us.saturating_record(microseconds);
            self.good_in_time += u32::from(at < self.lasted);
        } else {
            self.refused_us.saturating_record(microseconds);
            self.without_wait += u32::from(head.status == 503 && !head.has_wait);
        }
        if self.first.len() < KEPT_MAX {
            self.first.push(Came { at, took, status: head.status });
        }
    }
}

struct Connection {
    stream: TcpStream,
    /// When the request under way was due.
    due: Option<Duration>,
    head: Vec<u8>,
    /// The head that was read, and how many bytes are to come.
    coming: Option<(Head, usize)>,
}

#[derive(Clone, Copy)]
struct Head {
    status: u16,
    has_wait: bool,
}

struct Loop<'a> {
    plan: &'a Plan<'a>,
    poll: Poll,
    requests: Vec<Vec<u8>>,
    all: Vec<Connection>,
    idle: VecDeque<usize>,
    waiting: VecDeque<Duration>,
    outcome: Outcome,
    began: Instant,
    scratch: Vec<u8>,
    sent: usize,
}

/// Sends requests as planned and waits for what is still under way then.
pub(super) fn run(plan: &Plan<'_>) -> Result<Outcome> {
    let poll = Poll::new()?;
    let all = (0..plan.connections)
        .map(|number| Connection::open(plan.address, &poll, number))
        .collect::<Result<Vec<_>>>()?;
    let request = |path| format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", plan.address).into();
    let requests = plan.paths.iter().map(request).collect();
    let idle = (0..all.len()).collect();
    let outcome = Outcome::new(plan.lasts)?;
    let (waiting, scratch) = (VecDeque::new(), vec![0; THROWN_AWAY_MAX]);
    let began = Instant::now();
    let mut running =
        Loop { plan, poll, requests, all, idle, waiting, outcome, began, scratch, sent: 0 };
    running.run()?;
    let open = running.all.iter().filter(|connection| connection.due.is_some()).count();
    let mut outcome = running.outcome;
    outcome.lost += u32::try_from(open + running.waiting.len())?;
    Ok(outcome)
}

impl Loop<'_> {
    fn run(&mut self) -> Result<()> {
        let mut arrivals = Arrivals::new(self.plan.rate, self.plan.seed);
        let mut next = arrivals.next();
        let mut events = Events::with_capacity(1024);
        loop {
            let now = self.began.elapsed();
            while next <= now && next < self.plan.lasts {
                self.waiting.push_back(next);
                self.outcome.due += 1;
                next = arrivals.next();
            }
            self.send()?;
            let over = now >= self.plan.lasts;
            let nothing_left = self.waiting.is_empty() && self.idle.len() == self.all.len();
            if over && (nothing_left || now >= self.plan.lasts + GRACE) {
                return Ok(());
            }
            let pause = next.saturating_sub(now);
            let pause = if !over && pause < NEAR { Duration::ZERO } else { NEAR };
            self.poll.poll(&mut events, Some(pause))?;
            for event in &events {
                self.receive(event.token().0)?;
            }
        }
    }

    /// Sends what is due, as long as there are connections.
    fn send(&mut self) -> Result<()> {
        while let Some(due) = self.waiting.front().copied() {
            let Some(number) = self.idle.pop_front() else { return Ok(()) };
            let turn = self.sent % self.requests.len();
            let request = self.requests.get(turn).context("nothing to ask for")?;
            self.sent += 1;
            self.waiting.pop_front();
            let connection = self.all.get_mut(number).context("no such connection")?;
            let late = self.began.elapsed().saturating_sub(due);
            let late = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
            self.outcome.late_us.saturating_record(late);
            connection.due = Some(due);
            if connection.stream.write(request).ok() != Some(request.len()) {
                self.replace(number)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, number: usize) -> Result<()> {
        let connection = self.all.get_mut(number).context("an event of no connection")?;
        loop {
            match connection.read(&mut self.scratch) {
                Ok(count) if count > 0 => {
                    let read = self.scratch.get(..count).unwrap_or_default();
                    let Some(head) = connection.take_in(read)? else { continue };
                    let Some(due) = connection.due.take() else { return self.replace(number) };
                    self.outcome.record(self.began.elapsed(), due, head);
                    self.idle.push_back(number);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Ok(_) | Err(_) => return self.replace(number),
            }
        }
    }

    /// The connection is gone, with what was under way on it; another one takes its place.
    fn replace(&mut self, number: usize) -> Result<()> {
        let connection = self.all.get_mut(number).context("no such connection")?;
        let was_busy = connection.due.is_some();
        *connection = Connection::open(self.plan.address, &self.poll, number)?;
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
        Ok(Self { stream, due: None, head: Vec::with_capacity(2048), coming: None })
    }

    /// Reads what there is of a head; of a body no more than how much came.
    fn read(&mut self, scratch: &mut [u8]) -> std::io::Result<usize> {
        if let Some((_, left)) = self.coming {
            let most = left.min(scratch.len());
            let room = scratch.get_mut(..most).unwrap_or_default();
            let (_, count) = recv(&self.stream, room, RecvFlags::TRUNC)?;
            return Ok(count);
        }
        let room = scratch.get_mut(..HEAD_BYTES_MAX).unwrap_or_default();
        self.stream.read(room)
    }

    /// Takes in bytes of an answer; gives its head once it is whole.
    fn take_in(&mut self, read: &[u8]) -> Result<Option<Head>> {
        let (head, left) = if let Some((head, left)) = self.coming {
            (head, left.saturating_sub(read.len()))
        } else {
            self.head.extend_from_slice(read);
            let Some(answer) = answer::parse_head(&self.head)? else { return Ok(None) };
            let lines = self.head.get(..answer.body).unwrap_or_default();
            let has_wait = lines.windows(13).any(|at| at.eq_ignore_ascii_case(b"\nretry-after:"));
            let head = Head { status: answer.status, has_wait };
            (head, answer.end.saturating_sub(self.head.len()))
        };
        if left > 0 {
            self.coming = Some((head, left));
            return Ok(None);
        }
        self.coming = None;
        self.head.clear();
        Ok(Some(head))
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    /// A server that answers 200 and 503 in turn.
    fn server(connections: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let serve = |mut stream: std::net::TcpStream| {
                let (mut read, mut turn) = ([0; 1024], 0);
                while stream.read(&mut read).is_ok_and(|count| count > 0) {
                    let answer: &[u8] = match turn % 3 {
                        0 => b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
                        1 => b"HTTP/1.1 503 -\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n",
                        _ => b"HTTP/1.1 503 -\r\nContent-Length: 0\r\n\r\n",
                    };
                    turn += 1;
                    stream.write_all(answer).unwrap();
                }
            };
            for stream in listener.incoming().take(connections) {
                let stream = stream.unwrap();
                thread::spawn(move || serve(stream));
            }
        });
        address
    }

    #[test]
    fn every_request_that_was_due_is_accounted_for() {
        let address = server(4);
        let lasts = Duration::from_millis(300);
        let plan = Plan {
            address,
            paths: &["/".to_owned()],
            rate: 1_000.0,
            lasts,
            connections: 4,
            seed: 1,
        };
        let outcome = run(&plan).unwrap();
        let answered: u32 = outcome.answers.values().sum();
        assert!(outcome.due > 200, "{}", outcome.due);
        assert_eq!(answered + outcome.lost, outcome.due);
        assert_eq!(outcome.lost, 0);
        assert_eq!(outcome.good_us.len(), u64::from(outcome.answers[&200]));
        assert!(outcome.without_wait > 0 && outcome.without_wait < outcome.answers[&503]);
    }

    #[test]
    fn a_server_that_says_nothing_is_charged_with_all_who_came() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let closing = thread::spawn(move || {
            let held: Vec<_> = listener.incoming().take(2).collect();
            thread::sleep(Duration::from_millis(100));
            drop(held);
            let rest: Vec<_> = listener.incoming().take(2).collect();
            thread::sleep(Duration::from_millis(100));
            drop((rest, listener));
        });
        let lasts = Duration::from_millis(50);
        let plan = Plan {
            address,
            paths: &["/".to_owned()],
            rate: 1_000.0,
            lasts,
            connections: 2,
            seed: 1,
        };
        // It may break off when the listener is gone: then there is nobody to connect to.
        if let Ok(outcome) = run(&plan) {
            assert!(outcome.answers.is_empty());
            assert_eq!(outcome.lost, outcome.due);
        }
        closing.join().unwrap();
    }
}
