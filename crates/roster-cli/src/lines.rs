//! Lines of a response that arrives in pieces.

use memchr::memchr;

/// The longest line: the result of a line with many errors, or a record.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The lines of a stream, as far as it has arrived.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    start: usize,
}

impl Lines {
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(piece);
    }

    /// The next complete line, without its end. Blank lines are left out.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            let end = memchr(b'\n', rest)?;
            let line = rest.get(..end).unwrap_or_default().to_vec();
            self.start += end + 1;
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }

    pub(crate) fn is_too_long(&self) -> bool {
        self.buffer.len() - self.start > LINE_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_end_where_they_end() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in ["a", "b\n\nc", "\n", "d\ne\n", "f"] {
            lines.feed(piece.as_bytes());
            while let Some(line) = lines.next() {
                found.push(String::from_utf8(line).unwrap());
            }
        }
        assert_eq!(found, ["ab", "c", "d", "e"]);
        assert!(!lines.is_too_long());
    }
}
