//! Parses JSON texts, and does other long work of a request, without delaying other requests.
//!
//! A short text is parsed on the request's thread. A long one is parsed on a thread that runs only
//! when no other thread of the process needs the processor. There is one such thread per processor.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError, Weak},
    thread,
};

use bytes::Bytes;
use roster_core::{StoreError, json::JsonFault};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};
use tokio::{
    runtime::{self, Runtime},
    sync::Semaphore,
};

use crate::{
    limits::admission::caller,
    problem::{Problem, ProblemCode},
};

/// The maximum size of a text that is parsed on the request's own thread, which takes less than
/// half a millisecond.
const INLINE_BYTES_MAX: usize = 16 * 1024;

/// Parses the JSON texts of all requests, and does their other long work.
#[derive(Clone, Debug)]
pub(crate) struct JsonParser {
    /// One permit for each piece of work. The work of a request that was dropped in the queue is
    /// not done.
    slots: Arc<Semaphore>,
    callers: Arc<Callers>,
    threads: Arc<Threads>,
}

/// The callers whose work waits or runs. Each has all slots but one, and at least one, so that it
/// does not take the whole queue: the work of others waits for at most one piece of each caller.
#[derive(Debug)]
struct Callers {
    slots: usize,
    known: Mutex<HashMap<u64, Weak<Semaphore>>>,
}

/// At this number, callers without work are forgotten.
const CALLERS_KEPT: usize = 1_000;

impl Callers {
    /// The slots of the current caller.
    fn slots(&self) -> Arc<Semaphore> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = known.get(&caller()).and_then(Weak::upgrade) {
            return own;
        }
        if known.len() >= CALLERS_KEPT {
            known.retain(|_, slots| slots.strong_count() > 0);
        }
        let own = Arc::new(Semaphore::new(self.slots));
        known.insert(caller(), Arc::downgrade(&own));
        own
    }
}

/// The threads that do long work.
#[derive(Debug)]
struct Threads(io::Result<Option<Runtime>>);

impl Threads {
    fn start(count: usize) -> Self {
        let mut threads = runtime::Builder::new_multi_thread();
        threads.worker_threads(count).thread_name("roster-json").on_thread_start(|| {
            // A higher nice value is not enough: such a thread would still use the processor for up
            // to 4 ms at a time.
            let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
            let lowered =
                set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
            if let Err(error) = lowered {
                tracing::debug!(%error, "the priority of a thread cannot be lowered");
            }
        });
        Self(threads.build().map(Some))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Without this the runtime would block, which is not allowed where requests are handled.
        if let Some(runtime) = self.0.as_mut().ok().and_then(Option::take) {
            runtime.shutdown_background();
        }
    }
}

impl JsonParser {
    pub(crate) fn new() -> Self {
        Self::with_threads(thread::available_parallelism().map_or(1, usize::from))
    }

    fn with_threads(count: usize) -> Self {
        let threads = Arc::new(Threads::start(count));
        let slots = Arc::new(Semaphore::new(count));
        let of_each = count.saturating_sub(1).max(1);
        let callers = Arc::new(Callers { slots: of_each, known: Mutex::default() });
        Self { slots, callers, threads }
    }

    /// Parses a body as one JSON text with the given function.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        text: &Bytes,
        parse: impl FnOnce(&[u8]) -> Result<T, JsonFault> + Send + 'static,
    ) -> Result<T, Problem> {
        if text.is_empty() {
            let detail = "send a JSON object as the body";
            return Err(Problem::saying(ProblemCode::MalformedJson, detail));
        }
        self.read(text, parse)
            .await?
            .map_err(|fault| Problem::saying(ProblemCode::MalformedJson, fault.detail))
    }

    /// Parses a text with the given function.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        text: &Bytes,
        read: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let text = text.clone();
        self.work(text.len(), move || read(&text)).await
    }

    /// Does work that takes as long as parsing a text of this many bytes.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        if bytes <= INLINE_BYTES_MAX {
            return Ok(work());
        }
        let failed = |cause| Problem::from(StoreError::Internal(cause));
        let own = self.callers.slots().acquire_owned().await;
        let own = own.map_err(|closed| failed(closed.into()))?;
        let slots = Arc::clone(&self.slots);
        let slot = slots.acquire_owned().await.map_err(|closed| failed(closed.into()))?;
        let Ok(Some(threads)) = &self.threads.0 else {
            return Err(failed("no thread for long work could be started".into()));
        };
        let working = threads.spawn(async move {
            let _slots = (own, slot);
            work()
        });
        working.await.map_err(|panicked| failed(panicked.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use roster_core::{Json, json};

    use super::*;
    use crate::limits::admission::as_caller;

    #[tokio::test]
    async fn long_texts_are_parsed_on_another_thread_and_short_ones_on_this() {
        let parser = JsonParser::new();
        let thread_of = |length: usize| {
            let (parser, text) = (parser.clone(), Bytes::from(vec![b'1'; length]));
            async move { parser.read(&text, |_| thread::current().id()).await.expect("a thread") }
        };
        let here: ThreadId = thread::current().id();
        assert_eq!(thread_of(INLINE_BYTES_MAX).await, here);
        assert_ne!(thread_of(INLINE_BYTES_MAX + 1).await, here);
    }

    #[tokio::test]
    async fn the_long_texts_of_one_caller_leave_a_slot_to_others() {
        let parser = JsonParser::with_threads(2);
        let text = Bytes::from(vec![b'1'; INLINE_BYTES_MAX + 1]);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let held = Mutex::new(Some(released));
        let blocking = as_caller(
            1,
            parser.read(&text, move |_| {
                let released = held.lock().map(|mut held| held.take());
                released.ok().flatten().map(|released| released.recv())
            }),
        );
        let waiting = as_caller(1, parser.read(&text, |_| ()));
        let (mut blocking, mut waiting) = (Box::pin(blocking), Box::pin(waiting));
        tokio::select! {
            biased;
            _ = &mut blocking => panic!("it is not released"),
            _ = &mut waiting => panic!("its caller has one slot"),
            other = as_caller(2, parser.read(&text, |_| ())) => other.expect("a slot is left"),
        }
        drop(release);
        blocking.await.expect("a thread");
        waiting.await.expect("a thread");
    }

    #[tokio::test]
    async fn long_texts_wait_for_a_slot() {
        let parser = JsonParser::with_threads(1);
        let slot = parser.slots.clone().acquire_owned().await.expect("open");
        let text = Bytes::from(format!("[{}1]", "1,".repeat(20_000)));
        let mut parsing = Box::pin(parser.parse(&text, json::read));
        tokio::select! {
            biased;
            _ = &mut parsing => panic!("there was no slot"),
            () = tokio::task::yield_now() => {}
        }
        drop(slot);
        assert!(matches!(parsing.await, Ok(Json::Array(items)) if items.len() == 20_001));
    }
}
