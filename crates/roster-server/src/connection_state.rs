//! The state of a connection, and the orders to it.
//!
//! The connection's tasks only store numbers here: no clock is read and no timer is set per
//! request. The reaper reads the numbers periodically and decides. This module does not know any
//! limit.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    task::Waker,
};

use slab::Slab;
use tokio::time::Instant;

use crate::{memory::ConnectionMemory, settings::Floor};

/// The state of one connection, shared between its tasks and the reaper.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    /// Exchanges whose head has been read.
    started: AtomicU32,
    /// Exchanges whose handler has returned.
    answered: AtomicU32,
    /// Exchanges whose response was passed to hyper completely.
    ended: AtomicU32,
    /// `ended` plus one at the time when bytes arrived while no exchange was open.
    head_begun: AtomicU32,
    /// Responses of handlers.
    pub(crate) responses: AtomicU32,
    /// Request bodies that are read while their responses are being sent.
    receiving: AtomicU32,
    /// Chunks of streamed responses that hyper has not released.
    in_hand: AtomicU32,
    /// All bytes that were read from the socket.
    pub(crate) received: AtomicU64,
    /// All bytes that the kernel accepted.
    pub(crate) written: AtomicU64,
    /// The kernel accepts no more bytes now.
    pub(crate) blocked: Flag,
    /// The sending side was closed.
    pub(crate) closing: Flag,
    /// A response of HTTP/1.0 without a length is not sent completely. Its end is the end of the
    /// connection.
    pub(crate) ends_with_connection: Flag,
    /// `started` plus one at the time when the connection began to shut down with no open exchange.
    quiet: AtomicU32,
    http2: Flag,
    /// The kernel has timed out the peer.
    pub(crate) stalled: Flag,
    /// The peer has sent too much that belongs to no request.
    pub(crate) flooded: Flag,
    /// Request bodies that were too slow after their responses had begun.
    pub(crate) slow_bodies: AtomicU32,
    patient: AtomicBool,
    /// The connection has ended.
    pub(crate) gone: Flag,
    order: AtomicU8,
    waker: Mutex<Option<Waker>>,
    /// The memory that the connection uses.
    memory: Arc<ConnectionMemory>,
    /// The HTTP/2 responses that are being sent.
    observed: Mutex<Slab<Observed>>,
}

/// A flag of a connection that is set or not.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, Ordering::Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How many bytes of a response were produced, and how many were written.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    made: AtomicU64,
    written: AtomicU64,
}

impl Progress {
    /// Adds produced bytes.
    pub(crate) fn add_made(&self, bytes: usize) {
        self.made.fetch_add(u64::try_from(bytes).unwrap_or_default(), Ordering::Relaxed);
    }

    /// The produced bytes that are not written.
    pub(crate) fn unwritten(&self) -> u64 {
        let written = self.written.load(Ordering::Relaxed);
        self.made.load(Ordering::Relaxed).saturating_sub(written)
    }

    /// Adds written bytes.
    pub(crate) fn add_written(&self, bytes: usize) {
        self.written.fetch_add(u64::try_from(bytes).unwrap_or_default(), Ordering::Relaxed);
    }
}

/// A response, and its progress when a window of the minimum speed began.
#[derive(Debug)]
struct Observed {
    progress: Arc<Progress>,
    /// Whether it is streamed.
    streamed: bool,
    window: Option<Window>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    written: u64,
    /// The minimum that must be written within the window.
    due: u64,
}

impl Observed {
    /// Whether a window has ended in which too little was written.
    fn is_slow(&mut self, now: Instant, floor: Floor, receiving: bool) -> bool {
        let written = self.progress.written.load(Ordering::Relaxed);
        let unwritten = self.progress.unwritten();
        // The client of an import need not read while it sends.
        if unwritten == 0 || (self.streamed && receiving) {
            self.window = None;
            return false;
        }
        let over = self.window.as_ref().filter(|window| now >= window.began + floor.window());
        let slow = over.is_some_and(|window| written - window.written < window.due);
        if self.window.is_none() || over.is_some() {
            let due = unwritten.min(floor.bytes_per_window());
            self.window = Some(Window { began: now, written, due });
        }
        slow
    }
}

/// What a connection is doing now. If two consecutive checks find equal phases, the phase has not
/// changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The task of the connection has ended.
    Gone,
    /// The sending side is closed, and the peer has not closed its side yet.
    Closing,
    /// There is data to send, and the peer does not read.
    Stalled,
    /// A request is being handled or its response sent, and the peer is not the slow side.
    Busy,
    /// The head of the exchange of this number is awaited or arriving.
    Head(u32),
    /// Nothing has arrived since this many exchanges ended.
    Idle(u32),
}

/// An order to a connection. The variants are sorted by strength. A later order never weakens an
/// earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// Continue.
    None,
    /// The next response is the last one.
    Last,
    /// Finish open and arriving requests, accept nothing new.
    Finish,
    /// End now.
    Cut,
    /// End now and discard the bytes that the kernel has not sent.
    Reset,
}

impl Order {
    const ALL: [Self; 5] = [Self::None, Self::Last, Self::Finish, Self::Cut, Self::Reset];

    fn from_u8(value: u8) -> Self {
        Self::ALL.get(usize::from(value)).copied().unwrap_or(Self::Reset)
    }

    fn to_u8(self) -> u8 {
        let place = Self::ALL.iter().position(|order| *order == self);
        place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
    }
}

impl ConnectionState {
    pub(crate) fn new(memory: Arc<ConnectionMemory>) -> Self {
        Self { memory, ..Self::default() }
    }

    /// The memory that the connection uses.
    pub(crate) fn memory(&self) -> &Arc<ConnectionMemory> {
        &self.memory
    }

    /// Whether the connection speaks HTTP/2, as far as is known.
    pub(crate) fn is_http2(&self) -> bool {
        self.http2.is_set()
    }

    /// Records that the connection speaks HTTP/2.
    pub(crate) fn set_http2(&self) {
        if !self.is_http2() {
            self.http2.set(true);
        }
    }

    /// Whether an HTTP/2 response was written more slowly than the minimum speed.
    pub(crate) fn has_slow_response(&self, now: Instant, floor: Floor) -> bool {
        if !self.is_http2() {
            return false;
        }
        let receiving = self.is_receiving();
        let mut observed = self.observed();
        // All responses are checked even after a slow one, so that the windows of all begin.
        observed.iter_mut().fold(false, |slow, (_, one)| one.is_slow(now, floor, receiving) || slow)
    }

    fn observed(&self) -> MutexGuard<'_, Slab<Observed>> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the connection is doing now.
    pub(crate) fn phase(&self) -> Phase {
        if self.gone.is_set() {
            return Phase::Gone;
        }
        if self.closing.is_set() {
            return Phase::Closing;
        }
        let ended = self.ended.load(Ordering::Acquire);
        let answered = self.answered.load(Ordering::Acquire);
        let started = self.started.load(Ordering::Acquire);
        // A client that is still sending need not read yet. The limits of its body apply.
        if self.is_receiving() {
            return Phase::Busy;
        }
        // With HTTP/2, flow control limits what is written to the socket, so a peer with a closed
        // window never blocks a write. Unsent responses show it instead.
        let withheld =
            self.is_http2() && (answered != ended || self.in_hand.load(Ordering::Acquire) > 0);
        if self.blocked.is_set() || withheld {
            return Phase::Stalled;
        }
        if started != ended {
            return Phase::Busy;
        }
        let begun = self.has_begun(ended);
        if ended == 0 || begun { Phase::Head(ended) } else { Phase::Idle(ended) }
    }

    /// Whether bytes have arrived since this many exchanges ended. On an idle HTTP/2 connection,
    /// frames that are not requests keep arriving; they do not count.
    fn has_begun(&self, ended: u32) -> bool {
        !self.is_http2() && self.head_begun.load(Ordering::Relaxed) == ended.wrapping_add(1)
    }

    /// Gives the connection an order and wakes it.
    pub(crate) fn tell(&self, order: Order) {
        self.order.fetch_max(order.to_u8(), Ordering::AcqRel);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = waker.as_ref() {
            waker.wake_by_ref();
        }
    }

    /// The current order.
    pub(crate) fn order(&self) -> Order {
        Order::from_u8(self.order.load(Ordering::Acquire))
    }

    /// Whether the connection was ordered to finish, and no part of a request head has arrived.
    pub(crate) fn may_leave(&self) -> bool {
        let ended = self.ended.load(Ordering::Acquire);
        let resting = self.started.load(Ordering::Acquire) == ended;
        self.order() == Order::Finish && !(resting && self.has_begun(ended))
    }

    /// Records that the connection begins to shut down.
    pub(crate) fn leave(&self) {
        if matches!(self.phase(), Phase::Head(_) | Phase::Idle(_)) {
            let started = self.started.load(Ordering::Acquire);
            self.quiet.store(started.wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Whether no exchange was open since the connection began to shut down.
    pub(crate) fn is_quiet(&self) -> bool {
        let started = self.started.load(Ordering::Acquire);
        self.quiet.load(Ordering::Relaxed) == started.wrapping_add(1)
    }

    /// Sets the waker for orders.
    pub(crate) fn wake_me(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    /// Whether a part of a head has arrived, and its exchange has not begun.
    pub(crate) fn is_within_head(&self) -> bool {
        let ended = self.ended.load(Ordering::Acquire);
        let began = self.head_begun.load(Ordering::Relaxed) == ended.wrapping_add(1);
        began && self.started.load(Ordering::Acquire) == ended
    }

    /// Records that bytes have arrived, whether or not they were read yet.
    pub(crate) fn note_read(&self) {
        let ended = self.ended.load(Ordering::Relaxed);
        if self.started.load(Ordering::Relaxed) == ended {
            self.head_begun.store(ended.wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Records the end of the TLS handshake. The bytes so far belong to no request head.
    pub(crate) fn greeted(&self) {
        self.head_begun.store(0, Ordering::Relaxed);
    }

    /// Whether a request body is being read while its response is being sent.
    pub(crate) fn is_receiving(&self) -> bool {
        self.receiving.load(Ordering::Acquire) > 0
    }

    /// Whether such a body has begun. Returns true only once.
    pub(crate) fn grows_patient(&self) -> bool {
        self.is_receiving() && !self.patient.swap(true, Ordering::Relaxed)
    }
}

/// One request and its response, from the parsed head to the last byte passed to hyper. Dropping it
/// earlier ends it too.
#[derive(Debug)]
pub(crate) struct Exchange {
    state: Arc<ConnectionState>,
    answered: bool,
    version: http::Version,
    /// The key of its response among those of the connection.
    response: Option<usize>,
}

impl Exchange {
    /// Records that a head has been read.
    pub(crate) fn start(state: Arc<ConnectionState>, version: http::Version) -> Self {
        state.started.fetch_add(1, Ordering::AcqRel);
        Self { state, answered: false, version, response: None }
    }

    /// Records that the handler has returned.
    pub(crate) fn answer(&mut self) {
        if !self.answered {
            self.answered = true;
            self.state.answered.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The connection of the exchange.
    pub(crate) fn state(&self) -> &Arc<ConnectionState> {
        &self.state
    }

    /// Whether the exchange is one of HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.version == http::Version::HTTP_2
    }

    /// Records that the response has no length. Only HTTP/1.0 has no coding that ends it.
    pub(crate) fn note_stream(&self) {
        if self.version < http::Version::HTTP_11 {
            self.state.ends_with_connection.set(true);
        }
    }

    /// Registers the progress of the response for the reaper.
    pub(crate) fn observe(&mut self, progress: Arc<Progress>, streamed: bool) {
        let observed = Observed { progress, streamed, window: None };
        self.response = Some(self.state.observed().insert(observed));
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.answer();
        if let Some(response) = self.response {
            self.state.observed().try_remove(response);
        }
        self.state.ended.fetch_add(1, Ordering::AcqRel);
    }
}

/// Counts something of a connection until this is dropped.
#[derive(Debug)]
pub(crate) struct CountGuard {
    state: Arc<ConnectionState>,
    count: fn(&ConnectionState) -> &AtomicU32,
}

impl CountGuard {
    /// Counts a request body that is still read while its response is sent.
    pub(crate) fn receiving(state: &Arc<ConnectionState>) -> Self {
        Self::new(state, |state| &state.receiving)
    }

    /// Counts a chunk of a streamed response that hyper has not released.
    pub(crate) fn in_hand(state: &Arc<ConnectionState>) -> Self {
        Self::new(state, |state| &state.in_hand)
    }

    fn new(state: &Arc<ConnectionState>, count: fn(&ConnectionState) -> &AtomicU32) -> Self {
        count(state).fetch_add(1, Ordering::AcqRel);
        Self { state: Arc::clone(state), count }
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        (self.count)(&self.state).fetch_sub(1, Ordering::AcqRel);
    }
}
