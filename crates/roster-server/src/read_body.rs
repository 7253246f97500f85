//! Reads a whole request body, with a maximum size and a minimum speed.
//!
//! An announced length above the maximum is rejected before a byte is read, so that a client that
//! sent `Expect: 100-continue` gets the final response (RFC 9110 section 10.1.1). A body that
//! arrives with its head needs no timer. This module does not know media types.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use crate::{
    Peer,
    memory::{ConnectionMemory, HeldBytes, with_guard},
};

/// The initial capacity for a body of several parts, whatever length it announces.
const FIRST_CAPACITY_BYTES: usize = 16 * 1024;

/// Once this much has arrived, the capacity is that of the whole body, so that nothing larger is
/// copied. Capacity that no byte has filled uses no memory of the machine.
const COPIED_BYTES_MAX: usize = 256 * 1024;

/// A smaller body counts against the memory budget only while it is read.
const HELD_FROM_BYTES: usize = 16 * 1024;

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// It is longer than allowed, or announces to be: 413, and the connection closes.
    TooLarge,
    /// It was too slow: 408, and the connection closes.
    TooSlow,
    /// It was incomplete or framed incorrectly: 400, if the client still reads.
    Aborted,
    /// The connection or its caller uses its whole share of memory: 503, and the connection closes.
    NoMemory,
}

/// Reads a body of at most `max` bytes, at the minimum speed or faster. A large body counts against
/// the peer's memory until the last reference to it is dropped.
pub async fn read_body<B>(mut incoming: B, max: usize, peer: &Peer) -> Result<Bytes, BodyFault>
where
    B: Body<Data = Bytes> + Unpin,
{
    let floor = &peer.body_floor;
    if usize::try_from(incoming.size_hint().lower()).is_ok_and(|announced| announced <= max) {
        let whole = incoming.size_hint().exact().and_then(|length| usize::try_from(length).ok());
        let mut gathered = Gathered::new(peer.memory(), whole.unwrap_or(max));
        let mut window_end = Instant::now() + floor.window();
        let mut in_window: u64 = 0;
        loop {
            match timeout_at(window_end, incoming.frame()).await {
                Ok(None) => return Ok(gathered.finish()),
                Ok(Some(Err(_))) => return Err(BodyFault::Aborted),
                Ok(Some(Ok(frame))) => {
                    // Trailers are ignored (RFC 9110 section 6.5.1).
                    let Ok(data) = frame.into_data() else { continue };
                    if data.len() > max.saturating_sub(gathered.len()) {
                        return Err(BodyFault::TooLarge);
                    }
                    in_window += u64::try_from(data.len()).unwrap_or_default();
                    if !gathered.push(data) {
                        return Err(BodyFault::NoMemory);
                    }
                }
                Err(_) if in_window < floor.bytes_per_window() => return Err(BodyFault::TooSlow),
                Err(_) => {
                    window_end += floor.window();
                    in_window = 0;
                }
            }
        }
    }
    Err(BodyFault::TooLarge)
}

/// The parts of a body. A single part is not copied.
struct Gathered {
    first: Bytes,
    all: BytesMut,
    /// The announced length, or the maximum.
    bytes_max: usize,
    held: HeldBytes,
}

impl Gathered {
    fn new(memory: &Arc<ConnectionMemory>, bytes_max: usize) -> Self {
        Self { first: Bytes::new(), all: BytesMut::new(), bytes_max, held: memory.hold(0) }
    }

    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    /// Adds a part, if there is memory for it.
    fn push(&mut self, part: Bytes) -> bool {
        if !self.held.try_grow(part.len()) {
            return false;
        }
        if self.len() == 0 {
            self.first = part;
            return true;
        }
        if self.all.is_empty() {
            self.all.reserve(FIRST_CAPACITY_BYTES.max(self.first.len() + part.len()));
            self.all.extend_from_slice(&self.first);
            self.first.clear();
        }
        if self.all.len() >= COPIED_BYTES_MAX {
            self.all.reserve(self.bytes_max.saturating_sub(self.all.len()));
        }
        self.all.extend_from_slice(&part);
        true
    }

    fn finish(self) -> Bytes {
        let bytes = if self.all.is_empty() { self.first } else { self.all.freeze() };
        if bytes.len() < HELD_FROM_BYTES {
            return bytes;
        }
        with_guard(bytes, self.held)
    }
}
