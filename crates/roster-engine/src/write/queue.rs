//! The queue before the writers.
//!
//! It holds a limited number of commands for a limited time: a full queue refuses a command at
//! once, and a command that has waited too long is refused before it begins. Single commands have
//! priority over batches of an import. An import keeps its order and gets a share of every
//! transaction, so that neither starves the other.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use roster_core::{Command, Failure, Outcome, StoreError};
use tokio::{
    sync::{Notify, oneshot},
    task::yield_now,
};

use crate::write::request::Request;

/// The maximum number of commands in one transaction.
pub const TRANSACTION_COMMANDS_MAX: usize = 512;

/// The number of commands in a transaction that are reserved for a waiting import.
const IMPORT_COMMANDS_MIN: usize = 64;

/// The results of a job, in the order of its requests.
pub type Results = Vec<Result<Outcome, Failure>>;

/// A job with its results.
pub struct Answered {
    /// The requests. The caller drops them, because that takes time too.
    pub requests: Vec<Request>,
    /// Their results.
    pub results: Results,
}

/// Requests that were sent together, with a channel to the waiting caller.
pub struct Job {
    requests: Vec<Request>,
    results: Results,
    reply: oneshot::Sender<Answered>,
    queued_at: Instant,
    /// The maximum number of its requests in the next transaction: twice as many as the last one
    /// executed before it was full. So an engine does not read the rest again each time.
    window: usize,
}

/// A job, and the number of its requests that must be executed now.
pub struct Work {
    job: Job,
    count: usize,
}

/// The queue before the writers.
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
    requests_max: usize,
    wait_max: Duration,
}

#[derive(Default)]
struct State {
    single: VecDeque<Job>,
    imports: VecDeque<Job>,
    requests: usize,
    /// Whether a writer executes imports. Imports run in the order of arrival, so meanwhile no
    /// other writer takes one.
    imports_taken: bool,
    woken: bool,
    closed: bool,
}

impl Job {
    /// A job, and the receiver of its results.
    pub fn new(mut requests: Vec<Request>) -> (Self, oneshot::Receiver<Answered>) {
        let (reply, answer) = oneshot::channel();
        let is_import = requests.len() > 1;
        for request in &mut requests {
            request.is_import = is_import;
        }
        let (results, queued_at) = (Vec::with_capacity(requests.len()), Instant::now());
        let window = TRANSACTION_COMMANDS_MAX;
        (Self { requests, results, reply, queued_at, window }, answer)
    }

    fn waiting(&self) -> usize {
        self.requests.len() - self.results.len()
    }

    fn is_import(&self) -> bool {
        self.requests.len() > 1
    }

    /// Refuses a single request that did not begin.
    fn refuse(self) {
        let results = vec![Err(Failure::Store(StoreError::TimedOut))];
        // The caller may be gone.
        drop(self.reply.send(Answered { requests: self.requests, results }));
    }
}

impl Work {
    /// The requests that must be executed now.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.job.requests.iter().skip(self.job.results.len()).take(self.count)
    }
}

impl Queue {
    /// A queue of at most `requests_max` requests, in which a single one waits for at most
    /// `wait_max`.
    pub fn new(requests_max: usize, wait_max: Duration) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), requests_max, wait_max }
    }

    /// Queues a job. Fails if the queue is full or closed.
    pub fn push(&self, job: Job) -> Result<(), StoreError> {
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::Unavailable("the store is closing".into()));
        }
        let requests = job.requests.len();
        // An import that is larger than the queue is accepted if nothing else waits.
        if state.requests > 0 && state.requests + requests > self.requests_max {
            return Err(StoreError::Unavailable("too many writes wait".into()));
        }
        state.requests += requests;
        if job.is_import() {
            state.imports.push_back(job);
        } else {
            state.single.push_back(job);
        }
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Makes requests of commands, queues them and waits for their results. Other tasks of the
    /// thread run between two requests: a decision on a large record takes milliseconds.
    pub async fn execute(
        &self,
        commands: Vec<Command>,
        request: impl Fn(Command) -> Request,
    ) -> Results {
        let count = commands.len();
        if count == 0 {
            return Vec::new();
        }
        let mut requests = Vec::with_capacity(count);
        for command in commands {
            if !requests.is_empty() {
                yield_now().await;
            }
            requests.push(request(command));
        }
        // No other task of the caller runs until they are queued.
        if let Some(start) = requests.last().and_then(|last| last.command.start.as_ref()) {
            start.note_queued();
        }
        let (job, answer) = Job::new(requests);
        let error = match self.push(job) {
            Ok(()) => match answer.await {
                Ok(Answered { results, .. }) => return results,
                // It is unknown whether the write happened.
                Err(_) => "the writer has stopped".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let refused = |_| Err(Failure::Store(StoreError::Unavailable(error.clone().into())));
        (0..count).map(refused).collect()
    }

    /// Waits for work. Returns no work if the writer was only woken, and `None` once the queue is
    /// closed and empty.
    pub async fn next(&self) -> Option<Vec<Work>> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                state.expire(self.wait_max);
                if state.has_work() || state.woken {
                    state.woken = false;
                    let work = state.take();
                    // Other writers may have work too.
                    if state.has_work() || state.closed {
                        self.changed.notify_one();
                    }
                    return Some(work);
                }
                if state.closed && state.requests == 0 && !state.imports_taken {
                    self.changed.notify_one();
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Takes back work with the results of its first requests. A job with all results is sent to
    /// its caller. Any other job waits again, at the front of the queue.
    pub fn finish(&self, work: Vec<Work>, results: Results) {
        let mut results = results.into_iter();
        let had_imports = work.iter().any(|work| work.job.is_import());
        let mut unfinished = Vec::new();
        for Work { mut job, count } in work {
            let before = job.results.len();
            job.results.extend(results.by_ref().take(count));
            let executed = job.results.len() - before;
            let window = if (1..count).contains(&executed) { executed } else { job.window };
            job.window = (2 * window).min(TRANSACTION_COMMANDS_MAX);
            if job.waiting() == 0 {
                let Job { requests, results, reply, .. } = job;
                // A write that failed added nothing to the log.
                let all = requests.iter().zip(&results);
                all.filter(|(_, result)| result.is_err())
                    .for_each(|(one, _)| one.command.note_logged(0));
                // The caller may be gone. The write is committed anyway.
                drop(reply.send(Answered { requests, results }));
            } else {
                unfinished.push(job);
            }
        }
        if unfinished.is_empty() && !had_imports {
            return;
        }
        let mut state = self.lock();
        state.imports_taken &= !had_imports;
        for job in unfinished.into_iter().rev() {
            state.requests += job.waiting();
            let jobs = if job.is_import() { &mut state.imports } else { &mut state.single };
            jobs.push_front(job);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Wakes a writer without work.
    pub fn wake(&self) {
        self.lock().woken = true;
        self.changed.notify_one();
    }

    /// Refuses further jobs.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Closes the queue and drops all waiting jobs. The writer has died, so the callers get the
    /// error of a write that may have happened.
    pub fn abandon(&self) {
        *self.lock() = State { closed: true, ..State::default() };
        self.changed.notify_one();
    }

    /// The number of waiting requests.
    pub fn waiting(&self) -> usize {
        self.lock().requests
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_work(&self) -> bool {
        !self.single.is_empty() || (!self.imports_taken && !self.imports.is_empty())
    }

    /// Refuses the requests that have waited too long.
    fn expire(&mut self, wait_max: Duration) {
        while let Some(job) = self.single.pop_front_if(|job| job.queued_at.elapsed() > wait_max) {
            self.requests -= 1;
            job.refuse();
        }
    }

    fn take(&mut self) -> Vec<Work> {
        let has_imports = !self.imports_taken && !self.imports.is_empty();
        let reserved = if has_imports { IMPORT_COMMANDS_MIN } else { 0 };
        let single = self.single.len().min(TRANSACTION_COMMANDS_MAX - reserved);
        let mut work = Vec::with_capacity(single);
        for job in self.single.drain(..single) {
            // A single command that has begun before may begin again.
            if job.requests.first().is_none_or(|request| request.command.begin()) {
                work.push(Work { job, count: 1 });
            } else {
                job.refuse();
            }
        }
        self.requests -= single;
        let mut room = TRANSACTION_COMMANDS_MAX - single;
        while room > 0
            && has_imports
            && let Some(job) = self.imports.pop_front()
        {
            let count = job.waiting().min(room).min(job.window);
            // After a costly import there is no room for the next one.
            room = if job.window < TRANSACTION_COMMANDS_MAX { 0 } else { room - count };
            // `finish` adds the remaining requests again.
            self.requests -= job.waiting();
            self.imports_taken = true;
            work.push(Work { job, count });
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use roster_core::{
        Actor, Caller, Command, Effect, Rules, Stored, TenantId, Timestamp, UserAct, UserId,
        UserSchema,
    };

    use super::*;

    fn delete(n: u8) -> Request {
        let act = UserAct::Delete { id: UserId::from_bytes([n; 16]) };
        let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
        let at = Timestamp::from_millis(0);
        let command = Command::of(act, at, caller);
        Request::new(TenantId::DEFAULT, Rules::default(), &UserSchema::default(), command)
    }

    fn push(queue: &Queue, numbers: std::ops::Range<u8>) -> oneshot::Receiver<Answered> {
        let (job, answer) = Job::new(numbers.map(delete).collect());
        queue.push(job).unwrap();
        answer
    }

    fn counts(work: &[Work]) -> Vec<usize> {
        work.iter().map(|work| work.requests().count()).collect()
    }

    fn done(count: u8) -> Results {
        let outcome = |n| {
            let stored =
                Stored { id: UserId::from_bytes([n; 16]), version: 1, record: bytes::Bytes::new() };
            Ok(Outcome { effect: Effect::Unchanged, stored, position: n.into(), replayed: false })
        };
        (0..count).map(outcome).collect()
    }

    #[tokio::test]
    async fn a_write_that_has_waited_too_long_is_refused_and_never_begun() {
        let queue = Queue::new(100, Duration::from_millis(200));
        let (late, mut import) = (push(&queue, 1..2), push(&queue, 2..5));
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut prompt = push(&queue, 5..6);
        let work = queue.next().await.unwrap();
        assert_eq!(counts(&work), [1, 3], "the prompt request, and the import, which may wait");
        let refused = late.await.unwrap().results;
        assert!(matches!(refused[..], [Err(Failure::Store(StoreError::TimedOut))]), "{refused:?}");
        assert!(prompt.try_recv().is_err() && import.try_recv().is_err(), "not executed yet");
    }

    #[tokio::test]
    async fn requests_without_a_result_are_executed_next_and_in_order() {
        let queue = Queue::new(100, Duration::from_secs(9));
        let (first, second) = (push(&queue, 1..2), push(&queue, 2..3));
        let import = push(&queue, 10..14);
        let work = queue.next().await.unwrap();
        assert_eq!(counts(&work), [1, 1, 4]);
        queue.finish(work, done(1));
        assert!(matches!(first.await.unwrap().results[..], [Ok(_)]));
        let work = queue.next().await.unwrap();
        assert_eq!(counts(&work), [1, 4]);
        queue.finish(work, done(3));
        assert!(matches!(second.await.unwrap().results[..], [Ok(_)]));
        let work = queue.next().await.unwrap();
        assert_eq!(counts(&work), [2], "the rest of the import");
        queue.finish(work, done(2));
        assert_eq!(import.await.unwrap().results.len(), 4);
        assert_eq!(queue.waiting(), 0);
    }

    #[tokio::test]
    async fn a_costly_import_gets_smaller_transactions_until_they_are_not_full() {
        let queue = Queue::new(100, Duration::from_secs(9));
        let _imports = (push(&queue, 1..41), push(&queue, 50..53));
        // How many requests are taken, and how many are executed before the transaction is full.
        for (taken, executed) in [(&[40, 3][..], 2), (&[4], 3), (&[6], 6), (&[12], 12)] {
            let work = queue.next().await.unwrap();
            assert_eq!(counts(&work), taken);
            queue.finish(work, done(executed));
        }
        assert_eq!(counts(&queue.next().await.unwrap()), [17]);
    }

    #[tokio::test]
    async fn one_writer_at_a_time_executes_imports() {
        let queue = Queue::new(100, Duration::from_secs(9));
        let _imports = (push(&queue, 1..4), push(&queue, 4..7));
        let first = queue.next().await.unwrap();
        assert_eq!(counts(&first), [3, 3]);
        let _late = (push(&queue, 7..9), push(&queue, 9..10));
        let second = queue.next().await.unwrap();
        assert_eq!(counts(&second), [1], "a single request, and none of the import");
        queue.finish(first, done(6));
        assert_eq!(counts(&queue.next().await.unwrap()), [2]);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_a_closed_one_ends() {
        let queue = Queue::new(2, Duration::from_secs(9));
        let _waiting = push(&queue, 1..3);
        assert!(queue.push(Job::new(vec![delete(9)]).0).is_err());
        queue.close();
        let work = queue.next().await.unwrap();
        queue.finish(work, done(2));
        assert!(queue.next().await.is_none());
        assert!(queue.push(Job::new(vec![delete(9)]).0).is_err());
    }
}
