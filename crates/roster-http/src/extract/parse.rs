//! Parsing JSON texts without holding up other requests.
//!
//! A short text is parsed where it is; a long one on a thread that serves no requests, and few of
//! them at a time, so that neither the request threads nor the processors are taken up by them.

use std::{sync::Arc, thread};

use bytes::Bytes;
use roster_core::{Json, StoreError, json};
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::problem::{Problem, ProblemCode};

/// Most bytes of a text that is parsed on the request's own thread: less than half a millisecond.
const INLINE_BYTES_MAX: usize = 16 * 1024;

/// Parses JSON texts of all requests.
#[derive(Clone, Debug)]
pub(crate) struct JsonParser {
    long_texts: Arc<Semaphore>,
}

impl JsonParser {
    pub(crate) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self { long_texts: Arc::new(Semaphore::new(processors)) }
    }

    /// Reads a body as one JSON text, and converts it where it was read.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        text: &Bytes,
        convert: impl FnOnce(Json) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        if text.is_empty() {
            let detail = "send a JSON object as the body";
            return Err(Problem::saying(ProblemCode::MalformedJson, detail));
        }
        self.read(text, |text| json::read(text).map(convert))
            .await?
            .map_err(|fault| Problem::saying(ProblemCode::MalformedJson, fault.detail))
    }

    /// Reads a text in a way of the caller's own.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        text: &Bytes,
        read: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        if text.len() <= INLINE_BYTES_MAX {
            return Ok(read(text));
        }
        let failed = |cause| Problem::from(StoreError::Internal(cause));
        let slots = Arc::clone(&self.long_texts);
        let slot = slots.acquire_owned().await.map_err(|closed| failed(closed.into()))?;
        let text = text.clone();
        let reading = spawn_blocking(move || {
            let _slot = slot;
            read(&text)
        });
        reading.await.map_err(|panicked| failed(panicked.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use super::*;

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
    async fn long_texts_wait_for_a_slot() {
        let parser = JsonParser { long_texts: Arc::new(Semaphore::new(1)) };
        let slot = parser.long_texts.clone().acquire_owned().await.expect("open");
        let text = Bytes::from(format!("[{}1]", "1,".repeat(20_000)));
        let mut parsing = Box::pin(parser.parse(&text, |tree| tree));
        tokio::select! {
            biased;
            _ = &mut parsing => panic!("there was no slot"),
            () = tokio::task::yield_now() => {}
        }
        drop(slot);
        assert!(matches!(parsing.await, Ok(Json::Array(items)) if items.len() == 20_001));
    }
}
