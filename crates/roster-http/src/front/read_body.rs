//! Reading a whole request body within a size and above a speed.
//!
//! A length that is announced too large is refused before a byte is read, so that a caller who
//! sent `Expect: 100-continue` gets the final answer (RFC 9110 10.1.1). A body that arrives with
//! its head costs no timer. This module must not know media types.

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use super::settings::Floor;

/// What is set aside for a body of several parts before it has proven its length.
const FIRST_CAPACITY_BYTES: usize = 16 * 1024;

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// It is, or says it is, longer than allowed: 413, and the connection closes.
    TooLarge,
    /// It came below the floor: 408, and the connection closes.
    TooSlow,
    /// It broke off or was not framed rightly: 400, if anybody is left to read it.
    Aborted,
}

/// Reads a body of at most `max` bytes that keeps above `floor` until it is complete.
pub async fn read_body<B>(mut incoming: B, max: usize, floor: &Floor) -> Result<Bytes, BodyFault>
where
    B: Body<Data = Bytes> + Unpin,
{
    if usize::try_from(incoming.size_hint().lower()).is_ok_and(|announced| announced <= max) {
        let mut gathered = Gathered::default();
        let mut window_end = Instant::now() + floor.window();
        let mut in_window: u64 = 0;
        loop {
            match timeout_at(window_end, incoming.frame()).await {
                Ok(None) => return Ok(gathered.finish()),
                Ok(Some(Err(_))) => return Err(BodyFault::Aborted),
                Ok(Some(Ok(frame))) => {
                    // Trailers mean nothing to us and are passed over (RFC 9110 6.5.1).
                    let Ok(data) = frame.into_data() else { continue };
                    if data.len() > max.saturating_sub(gathered.len()) {
                        return Err(BodyFault::TooLarge);
                    }
                    in_window += u64::try_from(data.len()).unwrap_or_default();
                    gathered.push(data);
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

/// The parts of a body; one that came whole is not copied.
#[derive(Default)]
struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn push(&mut self, part: Bytes) {
        if self.len() == 0 {
            self.first = part;
            return;
        }
        if self.all.is_empty() {
            self.all.reserve(FIRST_CAPACITY_BYTES.max(self.first.len() + part.len()));
            self.all.extend_from_slice(&self.first);
            self.first.clear();
        }
        self.all.extend_from_slice(&part);
    }

    fn finish(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}
