//! What waits to be written.
//!
//! Bounded by the number of commands, and by time: a full queue refuses at once, and a command that
//! has waited too long is refused before it is begun. Single commands, behind which somebody
//! waits, go before batches; a batch keeps its order and gets a share of every
//! transaction, so that neither starves the other.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use roster_core::{Failure, Outcome, StoreError};
use tokio::sync::{Notify, oneshot};

use super::prepared::Prepared;

/// Most commands of one transaction.
pub(super) const TRANSACTION_COMMANDS_MAX: usize = 512;

/// Commands of a transaction that are kept for a batch that waits.
const BATCH_COMMANDS_MIN: usize = 64;

/// The results of a job, in the order of its commands.
pub(crate) type Results = Vec<Result<Outcome, Failure>>;

/// Commands that came together, and who waits for them.
pub(crate) struct Job {
    commands: Vec<Prepared>,
    results: Results,
    reply: oneshot::Sender<Results>,
    came: Instant,
}

impl Job {
    pub(crate) fn new(commands: Vec<Prepared>) -> (Self, oneshot::Receiver<Results>) {
        let (reply, answer) = oneshot::channel();
        let (results, came) = (Vec::with_capacity(commands.len()), Instant::now());
        (Self { commands, results, reply, came }, answer)
    }

    fn waiting(&self) -> usize {
        self.commands.len() - self.results.len()
    }

    /// Whether a single command may be carried out: whoever asked has not given it up.
    fn begin(&self) -> bool {
        self.commands.first().is_none_or(Prepared::begin)
    }

    /// Refuses a single command, of which nothing was begun.
    fn refuse(self) {
        // Nobody may wait any more.
        drop(self.reply.send(vec![Err(Failure::Store(StoreError::TimedOut))]));
    }
}

/// A job and how many of its commands are to be carried out now.
pub(crate) struct Work {
    job: Job,
    count: usize,
}

impl Work {
    /// The commands that are to be carried out now.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &Prepared> {
        self.job.commands.iter().skip(self.job.results.len()).take(self.count)
    }
}

/// The queue before the writers.
pub(crate) struct Queue {
    state: Mutex<State>,
    came: Notify,
    commands_max: usize,
    wait_max: Duration,
}

#[derive(Default)]
struct State {
    single: VecDeque<Job>,
    batches: VecDeque<Job>,
    commands: usize,
    /// A writer has batches at hand. Batches are carried out in the order in which they came, so
    /// that no other one takes what is behind them.
    batches_at_hand: bool,
    closed: bool,
}

impl Queue {
    /// A queue of so many commands at most, of which a single one waits no longer than that.
    pub(crate) fn new(commands_max: usize, wait_max: Duration) -> Self {
        Self { state: Mutex::default(), came: Notify::new(), commands_max, wait_max }
    }

    /// Puts a job into the queue; refused when it is full or closed.
    pub(crate) fn push(&self, job: Job) -> Result<(), StoreError> {
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::Unavailable("the store is closing".into()));
        }
        let commands = job.commands.len();
        // A batch larger than the queue is let in when nothing else waits.
        if state.commands > 0 && state.commands + commands > self.commands_max {
            return Err(StoreError::Unavailable("too many writes wait".into()));
        }
        state.commands += commands;
        if commands == 1 {
            state.single.push_back(job);
        } else {
            state.batches.push_back(job);
        }
        drop(state);
        self.came.notify_one();
        Ok(())
    }

    /// Waits for work; `None` once the queue is closed and empty.
    pub(super) async fn next(&self) -> Option<Vec<Work>> {
        loop {
            let came = self.came.notified();
            {
                let mut state = self.lock();
                state.expire(self.wait_max);
                if state.has_work() {
                    let work = state.take();
                    // Others may have work too.
                    if state.has_work() || state.closed {
                        self.came.notify_one();
                    }
                    if work.is_empty() {
                        // All of them were given up.
                        continue;
                    }
                    return Some(work);
                }
                if state.closed && state.commands == 0 && !state.batches_at_hand {
                    self.came.notify_one();
                    return None;
                }
            }
            came.await;
        }
    }

    /// Gives back what was worked on: a job with all results is answered, another waits on at
    /// the front.
    pub(super) fn finish(&self, work: Vec<Work>, results: Results) {
        let mut results = results.into_iter();
        let had_batches = work.iter().any(|work| work.job.commands.len() > 1);
        let mut back = Vec::new();
        for Work { mut job, count } in work {
            job.results.extend(results.by_ref().take(count));
            if job.waiting() == 0 {
                // Nobody may wait any more: the write stands all the same.
                drop(job.reply.send(job.results));
            } else {
                back.push(job);
            }
        }
        if !had_batches {
            return;
        }
        let mut state = self.lock();
        state.batches_at_hand = false;
        for job in back.into_iter().rev() {
            state.commands += job.waiting();
            state.batches.push_front(job);
        }
        drop(state);
        self.came.notify_one();
    }

    /// Takes no further job.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.came.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_work(&self) -> bool {
        !self.single.is_empty() || (!self.batches_at_hand && !self.batches.is_empty())
    }

    /// Refuses those that have waited too long, before anything of them is begun.
    fn expire(&mut self, wait_max: Duration) {
        while let Some(job) = self.single.pop_front_if(|job| job.came.elapsed() > wait_max) {
            self.commands -= 1;
            job.refuse();
        }
    }

    fn take(&mut self) -> Vec<Work> {
        let has_batches = !self.batches_at_hand && !self.batches.is_empty();
        let reserved = if has_batches { BATCH_COMMANDS_MIN } else { 0 };
        let single = self.single.len().min(TRANSACTION_COMMANDS_MAX - reserved);
        let mut work = Vec::with_capacity(single);
        for job in self.single.drain(..single) {
            if job.begin() {
                work.push(Work { job, count: 1 });
            } else {
                job.refuse();
            }
        }
        let mut room = TRANSACTION_COMMANDS_MAX - single;
        while room > 0
            && has_batches
            && let Some(job) = self.batches.pop_front()
        {
            let count = job.waiting().min(room);
            room -= count;
            // What is left of it comes back by `finish`.
            self.commands -= job.waiting();
            work.push(Work { job, count });
            self.batches_at_hand = true;
        }
        self.commands -= single;
        work
    }
}
