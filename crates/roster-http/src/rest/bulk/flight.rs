//! Batches that the store is executing.
//!
//! There are several at a time, so that the next lines are read and decided while earlier ones are
//! committed. They are queued in the order of lines, and their results are received in the same
//! order.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use roster_core::Start;

/// The maximum number of batches of one import in the store.
const IN_FLIGHT_MAX: usize = 3;

type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Slot<T> {
    /// With the last of its commands, if they must be queued before those of the next batch.
    Flying(Answer<T>, Option<Start>),
    Landed(T),
}

/// The batches in the store, in order.
pub(super) struct Flight<T> {
    slots: VecDeque<Slot<T>>,
}

impl<T> Flight<T> {
    pub(super) fn new() -> Self {
        Self { slots: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.slots.len() >= IN_FLIGHT_MAX
    }

    /// Sends a batch. The store queues it before the next one once it queues its last command.
    pub(super) async fn launch(
        &mut self,
        answer: impl Future<Output = T> + Send + 'static,
        last: Option<Start>,
    ) {
        self.slots.push_back(Slot::Flying(Box::pin(answer), last));
        let once = |context: &mut Context<'_>| {
            self.advance(context);
            Poll::Ready(())
        };
        poll_fn(once).await;
    }

    /// Waits for the result of the first batch; forever if there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> T {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<T> {
        self.advance(context);
        match self.slots.pop_front() {
            Some(Slot::Landed(landed)) => Poll::Ready(landed),
            Some(flying @ Slot::Flying(..)) => {
                self.slots.push_front(flying);
                Poll::Pending
            }
            None => Poll::Pending,
        }
    }

    /// Polls the batches up to the first that is not queued yet.
    fn advance(&mut self, context: &mut Context<'_>) {
        for slot in &mut self.slots {
            let Slot::Flying(answer, last) = slot else { continue };
            match answer.as_mut().poll(context) {
                Poll::Ready(landed) => *slot = Slot::Landed(landed),
                Poll::Pending if last.as_ref().is_none_or(Start::is_queued) => {}
                Poll::Pending => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    use super::*;

    #[tokio::test]
    async fn answers_come_in_the_order_of_launching() {
        let mut flight = Flight::new();
        for (name, wait_ms) in [("slow", 50), ("quick", 1), ("at once", 0)] {
            flight
                .launch(
                    async move {
                        if wait_ms > 0 {
                            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                        }
                        name
                    },
                    None,
                )
                .await;
        }
        assert!(flight.is_full());
        let landed = [flight.next().await, flight.next().await, flight.next().await];
        assert_eq!(landed, ["slow", "quick", "at once"]);
        assert!(flight.is_empty());
    }

    #[tokio::test]
    async fn a_batch_is_decided_once_the_one_before_it_is_queued() {
        let (mut flight, steps) = (Flight::new(), Arc::new(Mutex::new(Vec::new())));
        let (committed, commit) = tokio::sync::oneshot::channel::<()>();
        let mut commits = [Some(commit), None].into_iter();
        for batch in 1..=2 {
            let (last, steps, commit) = (Start::default(), Arc::clone(&steps), commits.next());
            let answer = {
                let last = last.clone();
                async move {
                    for command in 1..=3 {
                        steps.lock().unwrap().push((batch, command));
                        tokio::task::yield_now().await;
                    }
                    last.note_queued();
                    if let Some(commit) = commit.flatten() {
                        commit.await.unwrap();
                    }
                    batch
                }
            };
            flight.launch(answer, Some(last)).await;
        }
        // The first batch is not committed, and the second is decided meanwhile.
        tokio::select! {
            landed = flight.next() => panic!("{landed} landed"),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
        let decided = vec![(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)];
        assert_eq!(*steps.lock().unwrap(), decided);
        committed.send(()).unwrap();
        assert_eq!([flight.next().await, flight.next().await], [1, 2]);
    }
}
