//! Admission control of one class of work: a number of places, and a short queue before them.
//!
//! A request that finds every place taken waits for one. It is refused at once when the queue is
//! full, and after a bounded time otherwise. The queue is for bursts. It is short: under a lasting
//! overload, a long queue would not serve more requests but only serve them later.
//!
//! No caller can take what others need. One more place than the class has is for callers without a
//! place. The next free place goes to the caller that has the fewest, then to the request that
//! came first. When the queue is full, the newest request of the caller with the most requests in
//! it is refused in favour of a caller with fewer.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use super::{QUEUE_LENGTH_MAX, QUEUE_LENGTH_PER_PLACE, QUEUE_WAIT_MAX};

/// The places of one class of work, and the queue before them.
#[derive(Debug)]
pub struct AdmissionController {
    state: Mutex<State>,
    queue_max: usize,
    wait_max: Duration,
}

/// A place of a class. Dropping it frees the place.
#[derive(Debug)]
pub struct AdmissionGuard<'a> {
    controller: &'a AdmissionController,
    caller: u64,
}

/// Who has places, and who waits. Only callers that do one of these are stored.
#[derive(Debug, Default)]
struct State {
    free: usize,
    waiting: usize,
    /// The number of the next request that waits.
    number: u64,
    callers: HashMap<u64, Share>,
    /// The callers that wait, the next one first: the number of their places, the number of their
    /// first request that waits, and the caller.
    order: BTreeSet<(usize, u64, u64)>,
}

/// The places of a caller, and its requests that wait.
#[derive(Debug, Default)]
struct Share {
    places: usize,
    queue: VecDeque<Waiting>,
}

/// A request that waits. It is refused when this is dropped.
#[derive(Debug)]
struct Waiting {
    number: u64,
    admitted: oneshot::Sender<()>,
}

/// The outcome for a request that arrives.
enum Arrival {
    Admitted,
    Refused,
    /// Its number, and what tells that it is admitted.
    Queued(u64, oneshot::Receiver<()>),
}

/// A wait for a place. Dropping it leaves the queue.
struct Wait<'a> {
    controller: &'a AdmissionController,
    caller: u64,
    number: u64,
    admitted: oneshot::Receiver<()>,
    is_over: bool,
}

impl AdmissionController {
    /// A controller of this many places.
    pub fn new(places: usize) -> Self {
        let queue_max = places.max(1).saturating_mul(QUEUE_LENGTH_PER_PLACE).min(QUEUE_LENGTH_MAX);
        Self::with_queue(places, queue_max, QUEUE_WAIT_MAX)
    }

    /// A controller with a queue of this length, in which a request waits at most for this time.
    pub fn with_queue(places: usize, queue_max: usize, wait_max: Duration) -> Self {
        let places = places.clamp(1, usize::from(u16::MAX));
        let state = State { free: places + 1, ..State::default() };
        Self { state: Mutex::new(state), queue_max, wait_max }
    }

    /// Takes a place for a caller, at once or after a wait. Returns `None` if the queue is full or
    /// the wait takes too long.
    pub async fn admit(&self, caller: u64) -> Option<AdmissionGuard<'_>> {
        let arrival = self.lock().arrive(caller, self.queue_max);
        match arrival {
            Arrival::Admitted => Some(AdmissionGuard { controller: self, caller }),
            Arrival::Refused => None,
            Arrival::Queued(number, admitted) => {
                let wait = Wait { controller: self, caller, number, admitted, is_over: false };
                // Boxed, because most requests do not wait and need no memory for it.
                Box::pin(timeout(self.wait_max, wait.end())).await.ok()?
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AdmissionGuard<'_> {
    fn drop(&mut self) {
        self.controller.lock().release(self.caller);
    }
}

impl<'a> Wait<'a> {
    async fn end(mut self) -> Option<AdmissionGuard<'a>> {
        let admitted = (&mut self.admitted).await;
        self.is_over = true;
        admitted.ok()?;
        Some(AdmissionGuard { controller: self.controller, caller: self.caller })
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.controller.lock();
        if !state.leave(self.caller, self.number) && self.admitted.try_recv().is_ok() {
            state.release(self.caller);
        }
    }
}

impl State {
    fn arrive(&mut self, caller: u64, queue_max: usize) -> Arrival {
        let share = self.callers.entry(caller).or_default();
        if is_open(self.free, share.places) {
            share.places += 1;
            self.free -= 1;
            return Arrival::Admitted;
        }
        if self.waiting >= queue_max && !self.make_room(caller, queue_max) {
            self.forget_if_unused(caller);
            return Arrival::Refused;
        }
        let (admitted, receiver) = oneshot::channel();
        let number = self.number;
        self.number += 1;
        self.waiting += 1;
        self.reorder(caller, |share| share.queue.push_back(Waiting { number, admitted }));
        Arrival::Queued(number, receiver)
    }

    /// Refuses the newest request of the caller that has the most in the queue, if `caller` then
    /// still has fewer. A caller with its part of the queue is refused without a search.
    fn make_room(&mut self, caller: u64, queue_max: usize) -> bool {
        let own = self.callers.get(&caller).map_or(0, |share| share.queue.len());
        if own.max(1) * self.order.len() >= queue_max {
            return false;
        }
        let most = self.order.iter().map(|(_, _, caller)| *caller);
        let most = most.max_by_key(|caller| self.callers.get(caller).map(|it| it.queue.len()));
        let most = most.and_then(|most| self.callers.get_mut(&most));
        let Some(share) = most.filter(|share| share.queue.len() > own + 1) else { return false };
        // It is not the first of its caller, so the order stays the same.
        drop(share.queue.pop_back());
        self.waiting -= 1;
        true
    }

    fn release(&mut self, caller: u64) {
        self.reorder(caller, |share| share.places = share.places.saturating_sub(1));
        self.forget_if_unused(caller);
        self.free += 1;
        while let Some((places, _, next)) = self.order.first().copied()
            && is_open(self.free, places)
        {
            self.free -= 1;
            self.waiting -= 1;
            self.reorder(next, |share| {
                share.places += 1;
                if let Some(first) = share.queue.pop_front() {
                    // Its receiver exists: a wait that ends leaves the queue first.
                    let _received = first.admitted.send(());
                }
            });
        }
    }

    /// Removes a request that no longer waits. Returns whether it was in the queue.
    fn leave(&mut self, caller: u64, number: u64) -> bool {
        let share = self.callers.get(&caller);
        let place = share.and_then(|it| it.queue.binary_search_by_key(&number, |w| w.number).ok());
        let Some(place) = place else { return false };
        self.waiting -= 1;
        self.reorder(caller, |share| drop(share.queue.remove(place)));
        self.forget_if_unused(caller);
        true
    }

    /// Changes the share of a caller, and its place in the order.
    fn reorder(&mut self, caller: u64, change: impl FnOnce(&mut Share)) {
        let Some(share) = self.callers.get_mut(&caller) else { return };
        if let Some(first) = share.queue.front() {
            self.order.remove(&(share.places, first.number, caller));
        }
        change(share);
        if let Some(first) = share.queue.front() {
            self.order.insert((share.places, first.number, caller));
        }
    }

    fn forget_if_unused(&mut self, caller: u64) {
        let share = self.callers.get(&caller);
        if share.is_some_and(|share| share.places == 0 && share.queue.is_empty()) {
            self.callers.remove(&caller);
        }
    }
}

/// Whether a caller with this many places may take one more. The last free place is for a caller
/// without a place.
const fn is_open(free: usize, places: usize) -> bool {
    free > 1 || (free == 1 && places == 0)
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        pin::{Pin, pin},
        task::Poll,
    };

    use super::*;

    const A: u64 = 1;
    const B: u64 = 2;
    const C: u64 = 3;

    /// A controller whose requests wait long enough for any test.
    fn patient(places: usize) -> AdmissionController {
        AdmissionController { wait_max: Duration::from_mins(5), ..AdmissionController::new(places) }
    }

    impl AdmissionController {
        fn waiting(&self) -> usize {
            self.lock().waiting
        }

        fn assert_unused(&self, places: usize) {
            let state = self.lock();
            assert_eq!((state.free, state.waiting), (places + 1, 0));
            assert!(state.callers.is_empty() && state.order.is_empty(), "{state:?}");
        }
    }

    /// Polls a future once.
    async fn polled<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }

    #[tokio::test]
    async fn a_request_beyond_the_places_waits_until_one_is_free() {
        let controller = patient(2);
        let first = controller.admit(A).await.unwrap();
        let second = controller.admit(A).await.unwrap();
        let mut third = pin!(controller.admit(A));
        assert!(polled(third.as_mut()).await.is_pending());
        drop(first);
        let third = third.await;
        assert!(third.is_some());
        drop((second, third));
        controller.assert_unused(2);
    }

    #[tokio::test]
    async fn requests_of_a_caller_are_admitted_in_the_order_in_which_they_came() {
        let controller = patient(1);
        let held = controller.admit(A).await.unwrap();
        let (mut first, mut second) = (pin!(controller.admit(A)), pin!(controller.admit(A)));
        assert!(polled(first.as_mut()).await.is_pending());
        assert!(polled(second.as_mut()).await.is_pending());
        drop(held);
        assert!(polled(second.as_mut()).await.is_pending());
        let first = first.await;
        assert!(first.is_some());
        drop(first);
        assert!(second.await.is_some());
        controller.assert_unused(1);
    }

    #[tokio::test]
    async fn a_place_is_kept_for_a_caller_that_has_none() {
        let controller = patient(2);
        let _held = (controller.admit(A).await.unwrap(), controller.admit(A).await.unwrap());
        let mut more = pin!(controller.admit(A));
        assert!(polled(more.as_mut()).await.is_pending());
        let other = controller.admit(B).await;
        assert!(other.is_some());
        assert!(polled(more.as_mut()).await.is_pending());
        // What others free is kept for the next caller without a place.
        drop(other);
        assert!(polled(more.as_mut()).await.is_pending());
        assert!(controller.admit(C).await.is_some());
    }

    #[tokio::test]
    async fn the_next_place_goes_to_the_caller_that_has_fewest() {
        let controller = patient(3);
        let mut held = Vec::new();
        for caller in [A, A, A, B] {
            held.push(controller.admit(caller).await.unwrap());
        }
        let mut of_a = pin!(controller.admit(A));
        let mut of_b = pin!(controller.admit(B));
        let mut of_c = pin!(controller.admit(C));
        assert!(polled(of_a.as_mut()).await.is_pending());
        assert!(polled(of_b.as_mut()).await.is_pending());
        assert!(polled(of_c.as_mut()).await.is_pending());
        held.remove(0);
        let of_c = of_c.await;
        assert!(of_c.is_some());
        held.remove(0);
        assert!(polled(of_a.as_mut()).await.is_pending(), "the last place is kept");
        // Each has one place, so the request of A is next, which came before that of B.
        drop(of_c);
        assert!(polled(of_b.as_mut()).await.is_pending());
        assert!(of_a.await.is_some());
    }

    #[tokio::test]
    async fn a_full_queue_takes_callers_with_few_requests_and_refuses_the_newest_of_the_largest() {
        let controller = patient(1);
        let _held = (controller.admit(A).await.unwrap(), controller.admit(B).await.unwrap());
        let mut of_a: Vec<_> =
            (0..QUEUE_LENGTH_PER_PLACE).map(|_| Box::pin(controller.admit(A))).collect();
        for queued in &mut of_a {
            assert!(polled(queued.as_mut()).await.is_pending());
        }
        let mut of_b: Vec<_> = (0..2).map(|_| Box::pin(controller.admit(B))).collect();
        for queued in &mut of_b {
            assert!(polled(queued.as_mut()).await.is_pending());
        }
        // Two of each wait. The newest of A were refused, and nobody takes more than its part.
        for (number, queued) in of_a.iter_mut().enumerate() {
            let refused = matches!(polled(queued.as_mut()).await, Poll::Ready(None));
            assert_eq!(refused, number >= 2);
        }
        assert!(matches!(polled(pin!(controller.admit(A))).await, Poll::Ready(None)));
        assert!(matches!(polled(pin!(controller.admit(B))).await, Poll::Ready(None)));
        assert!(polled(pin!(controller.admit(C))).await.is_pending());
    }

    #[tokio::test]
    async fn one_caller_that_asks_for_all_places_refuses_no_other() {
        let controller = AdmissionController::new(2);
        let (mut served, mut refused) = (0, 0);
        let flood = async {
            let one = async || loop {
                let _place = controller.admit(A).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            };
            futures_util::future::join_all((0..50).map(|_| one())).await
        };
        let other = async {
            for _ in 0..20 {
                let place = controller.admit(B).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
                if place.is_some() { served += 1 } else { refused += 1 }
            }
        };
        tokio::select! {
            _ = flood => {}
            () = other => {}
        }
        assert_eq!((served, refused), (20, 0));
    }

    #[tokio::test]
    async fn a_request_that_waited_for_too_long_is_refused() {
        let controller = AdmissionController { wait_max: Duration::from_millis(20), ..patient(1) };
        let held = controller.admit(A).await.unwrap();
        assert!(controller.admit(A).await.is_none());
        drop(held);
        controller.assert_unused(1);
    }

    #[tokio::test]
    async fn a_request_that_finds_the_queue_full_is_refused_at_once() {
        let controller = patient(1);
        let _held = controller.admit(A).await.unwrap();
        let mut queue: Vec<_> =
            (0..QUEUE_LENGTH_PER_PLACE).map(|_| Box::pin(controller.admit(A))).collect();
        for queued in &mut queue {
            assert!(polled(queued.as_mut()).await.is_pending());
        }
        let mut refused = pin!(controller.admit(A));
        assert!(matches!(polled(refused.as_mut()).await, Poll::Ready(None)));
        queue.pop();
        let mut next = pin!(controller.admit(A));
        assert!(polled(next.as_mut()).await.is_pending(), "the refused request left the queue");
    }

    #[tokio::test]
    async fn a_cancelled_request_leaves_the_queue_and_frees_a_place_that_it_got() {
        let controller = patient(1);
        let held = controller.admit(A).await.unwrap();
        {
            let mut cancelled = pin!(controller.admit(A));
            assert!(polled(cancelled.as_mut()).await.is_pending());
            assert_eq!(controller.waiting(), 1);
        }
        assert_eq!(controller.waiting(), 0);
        {
            let mut cancelled = pin!(controller.admit(A));
            assert!(polled(cancelled.as_mut()).await.is_pending());
            drop(held);
            // It has the place, and does not know it yet.
            assert_eq!(controller.waiting(), 0);
        }
        controller.assert_unused(1);
    }

    #[test]
    fn the_queue_of_many_places_is_bounded_too() {
        let length = |places| AdmissionController::new(places).queue_max;
        assert_eq!(length(4), 4 * QUEUE_LENGTH_PER_PLACE);
        assert_eq!(length(1_000_000), QUEUE_LENGTH_MAX);
    }
}
