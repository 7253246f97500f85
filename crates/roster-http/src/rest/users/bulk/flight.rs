//! Batches that the store has been given and not yet answered.
//!
//! Several at a time, so that the next is read while the former are committed. They are given in
//! the order of lines, each before the next, and their answers are taken in the same order.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

/// Most batches of one import that the store is given at a time.
const IN_FLIGHT_MAX: usize = 3;

type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Slot<T> {
    Flying(Answer<T>),
    Landed(T),
}

/// What the store has been given, the first first.
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

    /// Sends one off. It is polled here and now: a store queues what it is given when it is first
    /// polled, so the order of calls is the order of lines.
    pub(super) async fn launch(&mut self, answer: impl Future<Output = T> + Send + 'static) {
        let mut answer: Answer<T> = Box::pin(answer);
        let at_once = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
        self.slots.push_back(match at_once {
            Poll::Ready(landed) => Slot::Landed(landed),
            Poll::Pending => Slot::Flying(answer),
        });
    }

    /// Waits for the first to land; for ever if there is none. Dropped before it is done, nothing
    /// is lost.
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
