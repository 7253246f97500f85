//! A request that was refused for want of time and comes again, byte for byte.
//!
//! Callers who are refused and try again at once are what keeps an overload going: each costs a
//! parsing and all that follows. Here the bytes are only compared. What is equal to the bytes that
//! the parser took for exactly one request, whole and without a body, at a place where a request
//! begins, is that request: nothing is parsed a second way. It must not know HTTP beyond that.

use super::{Handle, Refused};

/// Who says whether a request is refused again.
pub(super) trait Again: Send + Sync {
    /// As [`Handle::refuse_again`].
    fn refuse_again(&self, refused: &Refused, answer: &mut Vec<u8>) -> bool;
}

impl<H: Handle> Again for H {
    fn refuse_again(&self, refused: &Refused, answer: &mut Vec<u8>) -> bool {
        Handle::refuse_again(self, refused, answer)
    }
}

/// Longer requests are not remembered.
const BYTES_MAX: usize = 2_048;
const END: &[u8] = b"\r\n\r\n";

/// The bytes of the last request of a connection, as far as they may come again.
#[derive(Debug, Default)]
pub(super) struct Heard {
    bytes: Vec<u8>,
    /// Exchanges that had begun before.
    exchanges: u32,
    /// What had been written before.
    written: u64,
    whole: Option<bool>,
}

impl Heard {
    /// Bytes came at a place where a request begins: after so many exchanges, all of which ended,
    /// and so many bytes written.
    pub(super) fn note(&mut self, bytes: &[u8], exchanges: u32, written: u64) {
        self.forget();
        if bytes.len() <= BYTES_MAX {
            self.bytes.extend_from_slice(bytes);
            (self.exchanges, self.written) = (exchanges, written);
        }
    }

    /// More of the same head came.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        if !self.bytes.is_empty() && self.bytes.len() + bytes.len() <= BYTES_MAX {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.forget();
        }
    }

    /// What is to come will not do.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
        self.whole = None;
    }

    /// Whether these are the same bytes, and those were one request and no more: one exchange
    /// has begun since, something was answered, and the only end of a head is their own.
    pub(super) fn is(&mut self, bytes: &[u8], exchanges: u32, written: u64) -> bool {
        if self.bytes.is_empty() || self.bytes != bytes {
            return false;
        }
        if exchanges != self.exchanges.wrapping_add(1) || written <= self.written {
            return false;
        }
        let bytes = &self.bytes;
        *self.whole.get_or_insert_with(|| is_one_head(bytes))
    }

    /// The same came again and was answered again.
    pub(super) fn repeated(&mut self, written: u64) {
        self.exchanges = self.exchanges.wrapping_add(1);
        self.written = written.saturating_sub(1);
    }
}

/// Whether the only end of a head is at the end. A parser that takes bare line feeds for ends of
/// lines finds none but this either.
fn is_one_head(bytes: &[u8]) -> bool {
    let bare = |pair: &[u8]| matches!(pair, [before, b'\n'] if *before != b'\r');
    bytes.windows(END.len()).position(|at| at == END) == bytes.len().checked_sub(END.len())
        && !bytes.windows(2).any(bare)
        && !bytes.starts_with(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    #[test]
    fn the_same_bytes_are_known_again() {
        let mut heard = Heard::default();
        assert!(!heard.is(GET, 1, 100));
        heard.note(GET, 0, 0);
        assert!(heard.is(GET, 1, 100));
        heard.repeated(200);
        assert!(heard.is(GET, 2, 200));
        assert!(!heard.is(b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n", 2, 200));
        heard.forget();
        assert!(!heard.is(GET, 2, 200));
    }

    #[test]
    fn bytes_that_were_not_exactly_one_request_are_not() {
        let known = |bytes: &[u8], exchanges, written| {
            let mut heard = Heard::default();
            heard.note(bytes, 3, 50);
            heard.is(bytes, exchanges, written)
        };
        assert!(known(GET, 4, 51));
        assert!(!known(GET, 3, 51), "no exchange began");
        assert!(!known(GET, 5, 51), "two began");
        assert!(!known(GET, 4, 50), "nothing was answered");
        assert!(!known(&[GET, GET].concat(), 4, 51), "two heads");
        assert!(!known(&[GET, b"GET /"].concat(), 4, 51), "the beginning of another");
        assert!(!known(b"GET / HTTP/1.1\nhost: a\n\nGET /b HTTP/1.1\r\n\r\n", 4, 51));
        assert!(!known(&vec![b'a'; BYTES_MAX + 1], 4, 51), "too long to remember");
    }
}
