//! What waits for the writer.
//!
//! Bounded by the number of commands, and by time: a full queue refuses at once, and a command that
//! has waited too long is refused before it is begun. Single commands, behind which somebody
//! waits, go before batches; a batch keeps its order and gets a share of every
//! transaction, so that neither starves the other. Chores, which are no commands, come one
//! at a time behind them.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use roster_core::{Failure, Outcome, StoreError};
use tokio::sync::oneshot;

use super::{Prepared, Writer};

/// Most commands of one transaction.
pub(crate) const TRANSACTION_COMMANDS_MAX: usize = 512;

/// Commands of a transaction that are kept for a batch that waits.
const BATCH_COMMANDS_MIN: usize = 64;

/// Most chores that wait.
const CHORES_MAX: usize = 64;

/// The results of a job, in the order of its commands.
pub(crate) type Results = Vec<Result<Outcome, Failure>>;

/// What became of a job.
pub(crate) struct CarriedOut {
    /// The commands: whoever waits drops them, which is work too.
    pub(crate) commands: Vec<Prepared>,
    pub(crate) results: Results,
}

/// Commands that came together, and who waits for them.
pub(crate) struct Job {
    commands: Vec<Prepared>,
    results: Results,
    reply: oneshot::Sender<CarriedOut>,
    came: Instant,
}

impl Job {
    pub(crate) fn new(commands: Vec<Prepared>) -> (Self, oneshot::Receiver<CarriedOut>) {
        let (reply, answer) = oneshot::channel();
        let (results, came) = (Vec::with_capacity(commands.len()), Instant::now());
        (Self { commands, results, reply, came }, answer)
    }

    /// The next commands that have no result yet.
    pub(crate) fn next(&self, count: usize) -> impl Iterator<Item = &Prepared> {
        self.commands.iter().skip(self.results.len()).take(count)
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
        let results = vec![Err(Failure::Store(StoreError::TimedOut))];
        // Nobody may wait any more.
        drop(self.reply.send(CarriedOut { commands: self.commands, results }));
    }
}

/// A job and how many of its commands are to be carried out now.
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) count: usize,
}

/// What the writer does that is no command: it tells whoever waits by itself.
pub(crate) type Chore = Box<dyn FnOnce(&Writer) + Send>;

/// What the writer does next; may be nothing, when it was only woken.
pub(crate) struct Turn {
    pub(crate) work: Vec<Work>,
    pub(crate) chore: Option<Chore>,
}

/// The queue before the writer.
pub(crate) struct Queue {
    state: Mutex<State>,
    came: Condvar,
    commands_max: usize,
    wait_max: Duration,
}

#[derive(Default)]
struct State {
    single: VecDeque<Job>,
    batches: VecDeque<Job>,
    chores: VecDeque<Chore>,
    commands: usize,
    woken: bool,
    closed: bool,
}

impl Queue {
    /// A queue of so many commands at most, of which a single one waits no longer than that.
    pub(crate) fn new(commands_max: usize, wait_max: Duration) -> Self {
        Self { state: Mutex::default(), came: Condvar::new(), commands_max, wait_max }
    }

    /// Puts a job into the queue; refused when it is full or closed.
    pub(crate) fn push(&self, job: Job) -> Result<(), StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Puts a chore into the queue; refused when it is closed or many wait.
    pub(crate) fn push_chore<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Writer) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return Err(StoreError::Unavailable("the store is closing".into()));
        }
        if state.chores.len() >= CHORES_MAX {
            return Err(StoreError::Unavailable("too many chores wait".into()));
        }
        let (reply, answer) = oneshot::channel();
        // Nobody may wait any more: what is done is done all the same.
        state.chores.push_back(Box::new(|writer| drop(reply.send(work(writer)))));
        drop(state);
        self.came.notify_one();
        Ok(answer)
    }

    /// Waits for work, or to be woken without any; `None` once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<Turn> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = |state: &mut State| {
            let empty = state.commands == 0 && state.chores.is_empty();
            empty && !state.closed && !state.woken
        };
        let mut state = self.came.wait_while(state, quiet).unwrap_or_else(PoisonError::into_inner);
        state.woken = false;
        state.expire(self.wait_max);
        (state.commands > 0 || !state.closed)
            .then(|| Turn { work: state.take(), chore: state.chores.pop_front() })
    }

    /// How many commands wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).commands
    }

    /// Wakes the writer without work.
    pub(crate) fn wake(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).woken = true;
        self.came.notify_one();
    }

    /// Gives back what was worked on: a job with all results is answered, another waits on at
    /// the front.
    pub(crate) fn finish(&self, work: Vec<(Job, Results)>) {
        for (mut job, results) in work.into_iter().rev() {
            job.results.extend(results);
            if job.waiting() == 0 {
                // Nobody may wait any more: the write stands all the same.
                let (commands, results) = (job.commands, job.results);
                drop(job.reply.send(CarriedOut { commands, results }));
            } else {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.commands += job.waiting();
                state.batches.push_front(job);
            }
        }
    }

    /// Takes no further job, and drops the chores: who waits for one is told.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.chores.clear();
        drop(state);
        self.came.notify_all();
    }

    /// Closes, and drops what waits: those who asked learn that their write is unknown.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { closed: true, ..State::default() };
    }
}

impl State {
    /// Refuses those that have waited too long, before anything of them is begun.
    fn expire(&mut self, wait_max: Duration) {
        while let Some(job) = self.single.pop_front_if(|job| job.came.elapsed() > wait_max) {
            self.commands -= 1;
            job.refuse();
        }
    }

    fn take(&mut self) -> Vec<Work> {
        let reserved = if self.batches.is_empty() { 0 } else { BATCH_COMMANDS_MIN };
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
            && let Some(job) = self.batches.pop_front()
        {
            let count = job.waiting().min(room);
            room -= count;
            // What is left of it comes back by `finish`.
            self.commands -= job.waiting();
            work.push(Work { job, count });
        }
        self.commands -= single;
        work
    }
}
