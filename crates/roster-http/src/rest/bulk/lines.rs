//! Splits a stream of pieces into lines.
//!
//! A line within one piece is not copied. A line that is too long is reported and skipped without
//! storing it, whatever its length. Lines end with LF or CRLF; the last line may have no end.

use bytes::{Buf as _, Bytes};

/// One line, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Bytes),
    TooLong,
    /// The first line of a row of CSV that is not CSV in this cell, counted from 0.
    Malformed(RowFault, usize),
}

/// Why a row is not CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFault {
    /// A quotation mark is wrong.
    Misquoted,
    /// A line break is CR without LF.
    BareCr,
}

impl Line {
    /// The number of its stored bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::TooLong | Self::Malformed(..) => 0,
        }
    }
}

/// The lines of a stream, as far as it has arrived.
#[derive(Debug)]
pub(super) struct Lines {
    bytes_max: usize,
    piece: Bytes,
    /// The beginning of a line that continues in the next piece.
    begun: Vec<u8>,
    /// Whether the current line is already too long.
    too_long: bool,
    /// The number of bytes of lines since the last call.
    progress: u64,
}

impl Lines {
    /// Creates a splitter with this maximum length of a line.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, piece: Bytes::new(), begun: Vec::new(), too_long: false, progress: 0 }
    }

    /// Adds the next piece. The lines of the previous one must have been taken.
    pub(super) fn feed(&mut self, piece: Bytes) {
        debug_assert!(self.piece.is_empty(), "a piece is taken whole before the next");
        self.piece = piece;
    }

    /// The next complete line.
    pub(super) fn next(&mut self) -> Option<Line> {
        let Some(end) = self.piece.iter().position(|byte| *byte == b'\n') else {
            self.keep_rest();
            return None;
        };
        let part = self.piece.split_to(end);
        self.piece.advance(1);
        if !self.too_long && self.begun.is_empty() {
            self.count(&part);
            return Some(self.check(part));
        }
        self.keep(&part);
        Some(self.end())
    }

    /// The last line, if the stream ended without a line end.
    pub(super) fn last(&mut self) -> Option<Line> {
        (self.too_long || !self.begun.is_empty()).then(|| self.end())
    }

    fn keep_rest(&mut self) {
        let rest = std::mem::take(&mut self.piece);
        self.keep(&rest);
    }

    fn keep(&mut self, part: &[u8]) {
        // One more than the limit, because the byte may be the CR of the line end.
        if self.begun.len() + part.len() > self.bytes_max + 1 {
            self.too_long = true;
            self.begun = Vec::new();
        }
        if !self.too_long {
            self.count(part);
            self.begun.extend_from_slice(part);
        }
    }

    /// Counts bytes of a line, except blank lines and lines that are too long.
    fn count(&mut self, part: &[u8]) {
        if !part.trim_ascii().is_empty() {
            self.progress += u64::try_from(part.len()).unwrap_or_default();
        }
    }

    /// The number of bytes of useful lines since the last call.
    pub(super) fn take_progress(&mut self) -> u64 {
        std::mem::take(&mut self.progress)
    }

    fn end(&mut self) -> Line {
        let line = Bytes::from(std::mem::take(&mut self.begun));
        if std::mem::take(&mut self.too_long) { Line::TooLong } else { self.check(line) }
    }

    fn check(&self, mut line: Bytes) -> Line {
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.bytes_max { Line::TooLong } else { Line::Whole(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::new(4);
        let mut found = Vec::new();
        for piece in pieces {
            lines.feed(Bytes::copy_from_slice(piece));
            found.extend(std::iter::from_fn(|| lines.next()));
        }
        found.extend(lines.last());
        found
    }

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn wherever_the_pieces_are_cut_the_lines_are_the_same() {
        let text = "ab\n\né\r\n1234\n1234\r\n12345\n\r\n123456789\nx".as_bytes();
        let expected = [
            whole("ab"),
            whole(""),
            whole("é"),
            whole("1234"),
            whole("1234"),
            Line::TooLong,
            whole(""),
            Line::TooLong,
            whole("x"),
        ];
        assert_eq!(cut(&[text]), expected);
        for size in 1..text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(cut(&pieces), expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_line_end_at_the_end_begins_no_further_line() {
        assert_eq!(cut(&[b"a\n"]), [whole("a")]);
        assert_eq!(cut(&[b"a", b"\n"]), [whole("a")]);
        assert_eq!(cut(&[]), []);
        assert_eq!(cut(&[b"123456"]), [Line::TooLong]);
    }

    #[test]
    fn blank_lines_and_lines_that_are_too_long_are_no_progress() {
        let progress = |pieces: &[&[u8]]| {
            let mut lines = Lines::new(4);
            for piece in pieces {
                lines.feed(Bytes::copy_from_slice(piece));
                while lines.next().is_some() {}
            }
            lines.take_progress()
        };
        assert_eq!(progress(&[b"\n\r\n \t\n", b"  ", b" \n"]), 0);
        assert_eq!(progress(&[b"ab\n\n", b"cd", b"e\n"]), 5);
        assert_eq!(progress(&[b"abcd", b"efgh", b"ijkl", b"mnop"]), 4);
    }

    #[test]
    fn a_line_that_is_too_long_is_not_kept() {
        let mut lines = Lines::new(4);
        for _ in 0..1_000 {
            lines.feed(Bytes::from_static(b"123456"));
            assert_eq!(lines.next(), None);
            assert!(lines.begun.capacity() <= 16);
        }
        lines.feed(Bytes::from_static(b"\n1\n"));
        assert_eq!(lines.next(), Some(Line::TooLong));
        assert_eq!(lines.next(), Some(whole("1")));
    }
}
