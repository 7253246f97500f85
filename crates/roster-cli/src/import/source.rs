//! The file to import.

use std::fs::{File, Metadata};
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use memchr::{memchr, memchr_iter};

use super::bytes::{newlines_in, read_at};
use super::flags::ImportFlags;
use super::table::{Header, header};
use crate::failure::Failure;
use crate::text::say;

/// How much of a file is looked at, to tell what it is.
const HEAD: usize = 16 * 1024;

/// Ends what to do if a program makes the file fit to import.
const PIPE: &str = " FILE |";

/// Beginnings of files that are no text, with what to do.
const OTHERS: [(&[u8], &str, &str); 6] = [
    (b"\xFF\xFE", "it is UTF-16", "save it as CSV UTF-8"),
    (b"\xFE\xFF", "it is UTF-16", "save it as CSV UTF-8"),
    (b"PK\x03\x04", "it is a spreadsheet or a zip archive", "save it as CSV UTF-8"),
    (b"\xD0\xCF\x11\xE0", "it is a spreadsheet of an old program", "save it as CSV UTF-8"),
    (b"\x1F\x8B", "it is compressed", "zcat FILE |"),
    (b"\x28\xB5\x2F\xFD", "it is compressed", "zstdcat FILE |"),
];

/// The file to import.
pub(super) struct Source {
    pub(super) file: File,
    /// Its absolute path. None if the file is a copy of stdin or of a pipe.
    pub(super) path: Option<PathBuf>,
    /// What people call it.
    pub(super) name: String,
    pub(super) stamp: Stamp,
    /// The header row, if it is CSV.
    pub(super) header: Option<Header>,
}

/// Size and modification time of a file: whether it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self { bytes: found.len(), modified_s: found.mtime(), modified_ns: found.mtime_nsec() }
    }

    /// Checks that the file is as it was.
    pub(super) fn check(self, file: &File) -> io::Result<()> {
        let now = Self::of(&file.metadata()?);
        if now == self {
            return Ok(());
        }
        let what = match now.bytes.cmp(&self.bytes) {
            std::cmp::Ordering::Less => "became shorter",
            std::cmp::Ordering::Equal => "was changed",
            std::cmp::Ordering::Greater => "became longer",
        };
        Err(io::Error::other(format!("it {what} while it was read")))
    }
}

impl Source {
    /// Opens a file. What is no file, such as stdin, is copied into one first: only so can it be
    /// sent again after a break.
    pub(super) fn open(flags: &ImportFlags) -> Result<Self, Failure> {
        let (path, is_csv) = (flags.file.as_path(), flags.is_csv());
        let name = if path.as_os_str() == "-" { "stdin".into() } else { path.to_string_lossy() };
        let name = name.into_owned();
        let wrong = |why: &str| Failure::usage(format!("{name} cannot be imported: {why}"));
        let unreadable = |error: io::Error| wrong(&error.to_string());
        let mut absolute = None;
        let file = if path.as_os_str() == "-" {
            if io::stdin().is_terminal() {
                say("reading from the terminal; Ctrl-D ends it");
            }
            copy(io::stdin().lock()).map_err(unreadable)?
        } else {
            let file = File::open(path).map_err(unreadable)?;
            let found = file.metadata().map_err(unreadable)?;
            if found.is_dir() {
                return Err(wrong("it is a directory"));
            }
            if found.is_file() {
                absolute = Some(path.canonicalize().map_err(unreadable)?);
                file
            } else {
                copy(file).map_err(unreadable)?
            }
        };
        let stamp = Stamp::of(&file.metadata().map_err(unreadable)?);
        let mut head = vec![0; HEAD];
        let count = read_at(&file, &mut head, 0).map_err(unreadable)?;
        head.truncate(count);
        if let Some((why, next)) = refusal(&head, is_csv) {
            return Err(wrong(why).next(match next.strip_suffix(PIPE) {
                Some(program) => flags.command_after(program),
                None => next.to_owned(),
            }));
        }
        let header = if is_csv {
            Some(header(&file).map_err(unreadable)?.map_err(|why| wrong(&why))?)
        } else {
            None
        };
        Ok(Self { file, path: absolute, name, stamp, header })
    }

    /// Where a line begins, found from a place at or before it. `newlines` are before that place.
    pub(super) fn locate(&self, place: Place, line: u64) -> io::Result<u64> {
        let (mut offset, mut newlines) = (place.offset, place.newlines);
        let mut chunk = vec![0; 64 * 1024];
        while newlines + 1 < line {
            let count = read_at(&self.file, &mut chunk, offset)?;
            let read = chunk.get(..count).unwrap_or_default();
            if read.is_empty() {
                break;
            }
            let wanted = usize::try_from(line - 1 - newlines).unwrap_or(usize::MAX);
            if let Some(index) = memchr_iter(b'\n', read).nth(wanted - 1) {
                return Ok(offset + u64::try_from(index + 1).unwrap_or_default());
            }
            newlines += newlines_in(read);
            offset += u64::try_from(count).unwrap_or_default();
        }
        Ok(offset)
    }
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// How many line ends are before it.
    pub(super) newlines: u64,
}

fn copy(mut from: impl io::Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut from, &mut file)?;
    Ok(file)
}

/// Why a file with this beginning is not imported, with what to do.
fn refusal(head: &[u8], is_csv: bool) -> Option<(&'static str, &'static str)> {
    let first = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start().first();
    let Some(first) = first else {
        return (head.len() < HEAD).then_some(("it is empty", "choose a file with users"));
    };
    if let Some((_, why, next)) = OTHERS.iter().find(|(begin, ..)| head.starts_with(begin)) {
        return Some((why, next));
    }
    if head.iter().take(4).filter(|byte| **byte == 0).count() == 2 {
        return Some(("it is UTF-16", "save it as CSV UTF-8"));
    }
    // A NUL far behind is a fault of its line alone.
    if memchr_iter(0, head).count() > head.len() / 100 {
        return Some(("it is no text", "choose a file of CSV or NDJSON"));
    }
    match (is_csv, first) {
        (true, _) | (false, b'{') => None,
        (false, b'[') => {
            Some(("it is one JSON array; each user must be on a line", "jq -c '.[]' FILE |"))
        }
        (false, _) => Some(("its first line is no JSON object", "if it is CSV, use --csv")),
    }
}

/// Reads lines by their numbers, which must rise.
pub(super) struct LineReader {
    reader: BufReader<File>,
    /// The number of the next line.
    next: u64,
}

impl LineReader {
    pub(super) fn new(source: &Source) -> io::Result<Self> {
        let mut file = source.file.try_clone()?;
        io::Seek::rewind(&mut file)?;
        Ok(Self { reader: BufReader::with_capacity(256 * 1024, file), next: 1 })
    }

    /// The text from the beginning of one line to that of another, without line ends at its end.
    /// Of a text of more than `bytes_max` it is the beginning, with a mark.
    pub(super) fn text(&mut self, from: u64, to: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
        while self.next < from && self.skip_line()? {
            self.next += 1;
        }
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let (mut text, mut is_cut) = (Vec::new(), false);
        while self.next < to {
            let begin = text.len();
            let room = bytes_max.saturating_sub(u64::try_from(begin).unwrap_or(u64::MAX));
            self.reader.by_ref().take(room).read_until(b'\n', &mut text)?;
            if text.len() == begin || text.last() != Some(&b'\n') {
                is_cut |= self.reader.fill_buf()?.first().is_some_and(|byte| !is_end(byte));
                if text.len() == begin || !self.skip_line()? {
                    break;
                }
            }
            self.next += 1;
        }
        while text.last().is_some_and(is_end) {
            text.pop();
        }
        if is_cut {
            text.extend_from_slice("…".as_bytes());
        }
        Ok(text)
    }

    /// Skips the rest of a line. Returns false at the end of the file.
    fn skip_line(&mut self) -> io::Result<bool> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let (count, is_end) = match memchr(b'\n', buffer) {
                Some(index) => (index + 1, true),
                None => (buffer.len(), false),
            };
            self.reader.consume(count);
            if is_end {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_text_that_is_cut_ends_with_a_mark() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\r\ntwo\nthree\n\nfour").unwrap();
        let stamp = Stamp::of(&file.metadata().unwrap());
        let source = Source { file, path: None, name: String::new(), stamp, header: None };
        for (from, to, bytes_max, expected) in [
            (1, 2, 3, "one"),
            (1, 2, 2, "on…"),
            (1, 3, 100, "one\r\ntwo"),
            (1, 3, 8, "one\r\ntwo"),
            (1, 3, 7, "one\r\ntw…"),
            (1, 3, 5, "one…"),
            (2, 5, 9, "two\nthree"),
            (4, 7, 100, "\nfour"),
            (4, 7, 5, "\nfour"),
            (4, 7, 1, "…"),
        ] {
            let mut lines = LineReader::new(&source).unwrap();
            let text = lines.text(from, to, bytes_max).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected, "{from} {to} {bytes_max}");
        }
        // The next text begins where it is.
        let mut lines = LineReader::new(&source).unwrap();
        assert_eq!(lines.text(1, 4, 2).unwrap(), "on…".as_bytes());
        assert_eq!(lines.text(3, 4, 100).unwrap(), b"three");
    }
}
