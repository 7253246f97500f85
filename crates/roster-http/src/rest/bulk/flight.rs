//! Batches that the store is executing.
//!
//! There are several at a time, so that the next lines are read while earlier ones are committed.
//! They are sent in the order of lines, and their results are received in the same order.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

/// The maximum number of batches of one import in the store.
const IN_FLIGHT_MAX: usize = 3;

type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Slot<T> {
    Flying(Answer<T>),
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

    /// Sends a batch. The future is polled at once: a store enqueues a batch at the first poll, so
    /// the order of calls is the order of lines.
    pub(super) async fn launch(&mut self, answer: impl Future<Output = T> + Send + 'static) {
        let mut answer: Answer<T> = Box::pin(answer);
        let at_once = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
        self.slots.push_back(match at_once {
            Poll::Ready(landed) => Slot::Landed(landed),
            Poll::Pending => Slot::Flying(answer),
        });
    }

    /// Waits for the result of the first batch; forever if there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> T {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<T> {
        let landed = match self.slots.pop_front() {
            None => return Poll::Pending,
            Some(Slot::Landed(landed)) => landed,
            Some(Slot::Flying(mut answer)) => match answer.as_mut().poll(context) {
                Poll::Ready(landed) => landed,
                Poll::Pending => {
                    self.slots.push_front(Slot::Flying(answer));
                    return Poll::Pending;
                }
            },
        };
        Poll::Ready(landed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn answers_come_in_the_order_of_launching() {
        let mut flight = Flight::new();
        for (name, wait_ms) in [("slow", 50), ("quick", 1), ("at once", 0)] {
            flight
                .launch(async move {
                    if wait_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                    }
                    name
                })
                .await;
        }
        assert!(flight.is_full());
        let landed = [flight.next().await, flight.next().await, flight.next().await];
        assert_eq!(landed, ["slow", "quick", "at once"]);
        assert!(flight.is_empty());
    }
}
