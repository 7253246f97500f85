//! Admission control of one class of work: a number of places, and a short queue before them.
//!
//! A request that finds every place taken waits for one, first come, first served. It is refused at
//! once when the queue is full, and after a bounded time otherwise. The queue is for bursts. It is
//! short: under a lasting overload, a long queue would not serve more requests but only serve them
//! later.

use std::time::Duration;

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::{QUEUE_LENGTH_MAX, QUEUE_LENGTH_PER_PLACE, QUEUE_WAIT_MAX};

/// The places of one class of work, and the queue before them.
#[derive(Debug)]
pub struct AdmissionController {
    places: Semaphore,
    queue: Semaphore,
    wait_max: Duration,
}

/// A place of a class. Dropping it frees the place.
pub type AdmissionGuard<'a> = SemaphorePermit<'a>;

impl AdmissionController {
    /// A controller of this many places.
    pub fn new(places: usize) -> Self {
        let places = places.clamp(1, Semaphore::MAX_PERMITS);
        let queue = places.saturating_mul(QUEUE_LENGTH_PER_PLACE).min(QUEUE_LENGTH_MAX);
        let (places, queue) = (Semaphore::new(places), Semaphore::new(queue));
        Self { places, queue, wait_max: QUEUE_WAIT_MAX }
    }

    /// Takes a place, at once or after a wait. Returns `None` if the queue is full or the wait
    /// takes too long.
    pub async fn admit(&self) -> Option<AdmissionGuard<'_>> {
        if let Ok(permit) = self.places.try_acquire() {
            return Some(permit);
        }
        let _queued = self.queue.try_acquire().ok()?;
        // Boxed, because most requests do not wait and need no memory for it.
        Box::pin(timeout(self.wait_max, self.places.acquire())).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        pin::{Pin, pin},
        task::Poll,
    };

    use super::*;

    /// A controller whose requests wait long enough for any test.
    fn patient(places: usize) -> AdmissionController {
        AdmissionController { wait_max: Duration::from_mins(5), ..AdmissionController::new(places) }
    }

    /// Polls a future once.
    async fn polled<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }

    #[tokio::test]
    async fn a_request_beyond_the_places_waits_until_one_is_free() {
        let controller = patient(2);
        let first = controller.admit().await.unwrap();
        let _second = controller.admit().await.unwrap();
        let mut third = pin!(controller.admit());
        assert!(polled(third.as_mut()).await.is_pending());
        drop(first);
        assert!(third.await.is_some());
    }

    #[tokio::test]
    async fn requests_are_admitted_in_the_order_in_which_they_came() {
        let controller = patient(1);
        let held = controller.admit().await.unwrap();
        let (mut first, mut second) = (pin!(controller.admit()), pin!(controller.admit()));
        assert!(polled(first.as_mut()).await.is_pending());
        assert!(polled(second.as_mut()).await.is_pending());
        drop(held);
        assert!(polled(second.as_mut()).await.is_pending());
        let first = first.await;
        assert!(first.is_some());
        drop(first);
        assert!(second.await.is_some());
    }

    #[tokio::test]
    async fn a_request_that_waited_for_too_long_is_refused() {
        let controller = AdmissionController { wait_max: Duration::from_millis(20), ..patient(1) };
        let _held = controller.admit().await.unwrap();
        assert!(controller.admit().await.is_none());
        assert_eq!(controller.queue.available_permits(), QUEUE_LENGTH_PER_PLACE);
    }

    #[tokio::test]
    async fn a_request_that_finds_the_queue_full_is_refused_at_once() {
        let controller = patient(1);
        let _held = controller.admit().await.unwrap();
        let mut queue: Vec<_> =
            (0..QUEUE_LENGTH_PER_PLACE).map(|_| Box::pin(controller.admit())).collect();
        for queued in &mut queue {
            assert!(polled(queued.as_mut()).await.is_pending());
        }
        let mut refused = pin!(controller.admit());
        assert!(matches!(polled(refused.as_mut()).await, Poll::Ready(None)));
        queue.pop();
        let mut next = pin!(controller.admit());
        assert!(polled(next.as_mut()).await.is_pending(), "the refused request left the queue");
    }

    #[tokio::test]
    async fn a_cancelled_request_leaves_the_queue() {
        let controller = patient(1);
        let held = controller.admit().await.unwrap();
        {
            let mut cancelled = pin!(controller.admit());
            assert!(polled(cancelled.as_mut()).await.is_pending());
            assert_eq!(controller.queue.available_permits(), QUEUE_LENGTH_PER_PLACE - 1);
        }
        assert_eq!(controller.queue.available_permits(), QUEUE_LENGTH_PER_PLACE);
        drop(held);
        assert!(controller.admit().await.is_some());
    }

    #[test]
    fn the_queue_of_many_places_is_bounded_too() {
        let length = |places| AdmissionController::new(places).queue.available_permits();
        assert_eq!(length(4), 4 * QUEUE_LENGTH_PER_PLACE);
        assert_eq!(length(1_000_000), QUEUE_LENGTH_MAX);
    }
}
