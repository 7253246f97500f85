//! What arrives on an HTTP/2 connection, by the headers of its frames (RFC 9113 section 4.1).
//!
//! Only the type and the length of each frame are read here. `h2` reads the same bytes afterwards
//! and checks them. This module does not know any limit.

/// The bytes with which a client begins HTTP/2 (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The length of a frame's header.
const HEADER_LENGTH: usize = 9;

/// The types of frames and the flag that matter here (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// The protocol of a connection, as far as its first bytes tell.
#[derive(Debug)]
pub(crate) enum Protocol {
    /// This many bytes equal those of the preface of HTTP/2.
    Unknown(usize),
    Http1,
    Http2(Frames),
}

/// A reader of frame headers.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The first bytes of a header that has not arrived completely.
    header: Vec<u8>,
    /// The type of the current frame, and its bytes that arrived and that are missing.
    kind: u8,
    arrived: usize,
    missing: usize,
    ends_headers: bool,
    /// The bytes of a header block that is not complete.
    block: usize,
}

/// A frame whose header has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A part of a body, of this length.
    Data(usize),
    /// A request or a part of its header fields. `h2` bounds their length.
    Headers,
    /// A frame that the service answers or that cancels a request.
    Demand(usize),
    /// A frame that only changes priorities or windows, or whose type is unknown.
    Other(usize),
}

impl Protocol {
    /// Takes note of bytes that arrived. Calls `on_frame` for each frame whose header arrived.
    pub(crate) fn take(&mut self, bytes: &[u8], on_frame: impl FnMut(Frame)) {
        match self {
            Self::Http1 => {}
            Self::Http2(frames) => frames.take(bytes, on_frame),
            Self::Unknown(matched) => {
                let rest = PREFACE.get(*matched..).unwrap_or_default();
                if let Some(frames) = bytes.strip_prefix(rest) {
                    let mut reader = Frames::default();
                    reader.take(frames, on_frame);
                    *self = Self::Http2(reader);
                } else if rest.starts_with(bytes) {
                    *matched += bytes.len();
                } else {
                    *self = Self::Http1;
                }
            }
        }
    }

    /// How many bytes wait until the rest of their frame or of their header block arrives.
    pub(crate) fn unfinished(&self) -> usize {
        match self {
            Self::Unknown(_) | Self::Http1 => 0,
            Self::Http2(frames) => frames.unfinished(),
        }
    }
}

impl Frames {
    fn take(&mut self, mut bytes: &[u8], mut on_frame: impl FnMut(Frame)) {
        loop {
            let payload = bytes.len().min(self.missing);
            self.missing -= payload;
            self.arrived += payload;
            bytes = bytes.get(payload..).unwrap_or_default();
            if self.missing > 0 {
                return;
            }
            self.end_frame();
            let Some((header, rest)) = self.header(bytes) else { return };
            bytes = rest;
            on_frame(self.begin_frame(header));
        }
    }

    /// The next header with the bytes after it, or `None` if it is not complete.
    fn header<'b>(&mut self, bytes: &'b [u8]) -> Option<([u8; HEADER_LENGTH], &'b [u8])> {
        if self.header.is_empty()
            && let Some((header, rest)) = bytes.split_first_chunk()
        {
            return Some((*header, rest));
        }
        let lacks = HEADER_LENGTH.saturating_sub(self.header.len());
        let (part, rest) = bytes.split_at_checked(lacks).unwrap_or((bytes, &[]));
        self.header.extend_from_slice(part);
        let header = *self.header.first_chunk()?;
        self.header.clear();
        Some((header, rest))
    }

    fn begin_frame(&mut self, header: [u8; HEADER_LENGTH]) -> Frame {
        let [high, middle, low, kind, flags, ..] = header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        (self.kind, self.arrived, self.missing) = (kind, 0, length);
        self.ends_headers = flags & END_HEADERS != 0;
        match kind {
            DATA => Frame::Data(length),
            HEADERS | CONTINUATION => Frame::Headers,
            RST_STREAM | SETTINGS | PING => Frame::Demand(length),
            _ => Frame::Other(length),
        }
    }

    fn end_frame(&mut self) {
        let arrived = std::mem::take(&mut self.arrived);
        if matches!(self.kind, HEADERS | CONTINUATION) {
            self.block = if self.ends_headers { 0 } else { self.block + arrived };
        }
    }

    fn unfinished(&self) -> usize {
        self.block + self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
        frame.extend(vec![b'x'; length.into()]);
        frame
    }

    #[test]
    fn frames_are_found_however_the_bytes_are_cut() {
        let mut bytes = PREFACE.to_vec();
        bytes.extend(frame(SETTINGS, 0, 6));
        bytes.extend(frame(HEADERS, END_HEADERS, 30));
        bytes.extend(frame(DATA, 0, 200));
        bytes.extend(frame(PING, 0, 8));
        bytes.extend(frame(0xf0, 0, 0));
        let expected =
            [Frame::Demand(6), Frame::Headers, Frame::Data(200), Frame::Demand(8), Frame::Other(0)];
        for size in 1..=bytes.len() {
            let (mut protocol, mut found) = (Protocol::Unknown(0), Vec::new());
            for part in bytes.chunks(size) {
                protocol.take(part, |frame| found.push(frame));
            }
            assert_eq!(found, expected, "in parts of {size} bytes");
            assert_eq!(protocol.unfinished(), 0);
        }
    }

    #[test]
    fn what_is_not_the_preface_is_http1() {
        for start in ["GET / HTTP/1.1", "PRI * HTTP/1.1\r\n", "P"] {
            let mut protocol = Protocol::Unknown(0);
            protocol.take(start.as_bytes(), |_| panic!("no frame is there"));
            protocol.take(b"OST", |_| panic!("no frame is there"));
            assert!(matches!(protocol, Protocol::Http1), "{start}");
        }
    }

    #[test]
    fn bytes_wait_until_their_frame_and_their_header_block_end() {
        let mut protocol = Protocol::Http2(Frames::default());
        let mut waiting = |bytes: &[u8]| {
            protocol.take(bytes, |_| {});
            protocol.unfinished()
        };
        let data = frame(DATA, 0, 100);
        assert_eq!(waiting(&data[..50]), 41);
        assert_eq!(waiting(&data[50..]), 0);
        assert_eq!(waiting(&frame(HEADERS, 0, 100)), 100);
        assert_eq!(waiting(&frame(CONTINUATION, 0, 50)), 150);
        assert_eq!(waiting(&frame(CONTINUATION, END_HEADERS, 50)), 0);
    }
}
