//! Finds damage in a write-ahead log, which SQLite takes for its end.
//!
//! SQLite reads the log up to the first frame whose checksum is wrong, because a power cut may
//! leave the last transaction half written. But a commit is synced before the next transaction
//! begins. So if a frame is wrong and another transaction follows it, the frame was damaged later,
//! and acknowledged commits would be dropped without a word.
//!
//! A checksum covers its frame and the checksum of the frame before. A frame that continues a
//! commit therefore shows that this commit was complete. What an aborted transaction leaves in the
//! log does not continue a commit, and frames from before the last restart of the log have another
//! salt.
//!
//! The format is that of <https://www.sqlite.org/fileformat2.html#walformat>.

use std::{
    fs::File,
    io::{self, BufReader, ErrorKind, Read, Seek},
    path::{Path, PathBuf},
};

use crate::{
    open_error::OpenError,
    settings::{DATABASE, PAGE_BYTES},
};

/// The bytes of the log's header: 24 that its checksum covers, and the checksum.
const HEADER_BYTES: usize = 32;

/// The bytes of a frame's header, which its page follows.
const FRAME_HEADER_BYTES: usize = 24;

/// The number at the start of a log whose checksums read integers as little-endian, or one less
/// than for big-endian.
const MAGIC: u32 = 0x377f_0682;

/// Where a log is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The first damaged frame, or 0 for the header of the log.
    pub(crate) at: u64,
    /// The length of the log up to the last commit before the damage.
    keep: u64,
}

/// Fails if the write-ahead log of a directory is damaged.
pub(crate) fn refuse_damage(directory: &Path) -> Result<(), OpenError> {
    match damage_of(directory)? {
        None => Ok(()),
        Some(Damage { at, keep }) => {
            Err(OpenError::DamagedLog { path: log_of(directory), at, keep })
        }
    }
}

/// The damage of the write-ahead log of a directory.
pub(crate) fn damage_of(directory: &Path) -> Result<Option<Damage>, OpenError> {
    let path = log_of(directory);
    find_damage(&path).map_err(|source| OpenError::Io { path, source })
}

fn log_of(directory: &Path) -> PathBuf {
    directory.join(format!("{DATABASE}-wal"))
}

/// The damage of a log, which a service may be writing meanwhile. `None` without a log.
fn find_damage(path: &Path) -> io::Result<Option<Damage>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let found = scan(&mut file)?;
    if found.is_none() {
        return Ok(None);
    }
    // A frame that a running service was just replacing is whole the second time.
    Ok(scan(&mut file)?.filter(|again| found == Some(*again)))
}

fn scan(file: &mut File) -> io::Result<Option<Damage>> {
    file.rewind()?;
    let mut header = [0; HEADER_BYTES];
    let mut log = BufReader::with_capacity(1 << 18, &mut *file);
    if !read_whole(&mut log, &mut header)? {
        return Ok(None);
    }
    let found = match Order::of(&header) {
        Some(order) => scan_frames(&mut log, &header, order)?,
        None => scan_first(&mut log, &header)?,
    };
    drop(log);
    // If the log begins again during the scan, new frames stand before old ones.
    let mut after = [0; HEADER_BYTES];
    file.rewind()?;
    let is_same = read_whole(file, &mut after)? && after == header;
    Ok(found.filter(|_| is_same))
}

/// Looks for a frame that is wrong, and after it for one that continues a commit.
fn scan_frames(
    log: &mut impl Read,
    header: &[u8; HEADER_BYTES],
    order: Order,
) -> io::Result<Option<Damage>> {
    let (mut frame, mut before) = (Frame::new(), Sum::stored(header, 24));
    let (mut at, mut keep) = (as_u64(HEADER_BYTES), as_u64(HEADER_BYTES));
    let (mut first_wrong, mut follows_commit) = (None, false);
    while frame.read(log)? {
        let is_of_this_log = frame.salts() == header.get(16..24);
        let is_commit = is_of_this_log && number(&frame.0, 4) != 0;
        let holds = is_of_this_log && frame.sum(order, before) == frame.stored();
        let end = at + as_u64(frame.0.len());
        match first_wrong {
            None if holds && is_commit => keep = end,
            None if holds => {}
            None => first_wrong = Some(at),
            Some(at) if holds && follows_commit => return Ok(Some(Damage { at, keep })),
            Some(_) => {}
        }
        follows_commit = is_commit;
        (before, at) = (frame.stored(), end);
    }
    Ok(None)
}

/// Whether the first frame continues a header that is wrong: SQLite syncs the header before it
/// writes a frame.
fn scan_first(log: &mut impl Read, header: &[u8; HEADER_BYTES]) -> io::Result<Option<Damage>> {
    let mut frame = Frame::new();
    if !frame.read(log)? {
        return Ok(None);
    }
    let continues = |order: Order| {
        let sums = [Sum::stored(header, 24), order.header_sum(header)];
        sums.into_iter().any(|sum| frame.sum(order, sum) == frame.stored())
    };
    let is_damaged = [Order::Little, Order::Big].into_iter().any(continues);
    Ok(is_damaged.then_some(Damage { at: 0, keep: 0 }))
}

/// How checksums read integers.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// The order of a log. `None` if its header is wrong.
    fn of(header: &[u8; HEADER_BYTES]) -> Option<Self> {
        let order = match number(header, 0).wrapping_sub(MAGIC) {
            0 => Self::Little,
            1 => Self::Big,
            2.. => return None,
        };
        let is_whole = order.header_sum(header) == Sum::stored(header, 24);
        (is_whole && number(header, 8) == PAGE_BYTES).then_some(order)
    }

    fn header_sum(self, header: &[u8; HEADER_BYTES]) -> Sum {
        Sum::default().over(self, header.get(..24).unwrap_or_default())
    }

    fn read(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// A checksum.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl Sum {
    /// The checksum that is stored there.
    fn stored(bytes: &[u8], at: usize) -> Self {
        Self(number(bytes, at), number(bytes, at + 4))
    }

    /// Continues the checksum over bytes, whose number is a multiple of 8.
    fn over(self, order: Order, bytes: &[u8]) -> Self {
        let mut numbers = bytes.as_chunks::<4>().0.iter().map(|four| order.read(*four));
        let Self(mut one, mut two) = self;
        while let (Some(first), Some(second)) = (numbers.next(), numbers.next()) {
            one = one.wrapping_add(first).wrapping_add(two);
            two = two.wrapping_add(second).wrapping_add(one);
        }
        Self(one, two)
    }
}

/// A frame: its header and its page.
struct Frame(Vec<u8>);

impl Frame {
    fn new() -> Self {
        let page = usize::try_from(PAGE_BYTES).unwrap_or_default();
        Self(vec![0; FRAME_HEADER_BYTES + page])
    }

    /// Reads the next frame. Returns false at the end of the log.
    fn read(&mut self, log: &mut impl Read) -> io::Result<bool> {
        read_whole(log, &mut self.0)
    }

    fn salts(&self) -> Option<&[u8]> {
        self.0.get(8..16)
    }

    fn stored(&self) -> Sum {
        Sum::stored(&self.0, 16)
    }

    /// The checksum that continues the one before.
    fn sum(&self, order: Order, before: Sum) -> Sum {
        let part = |range| self.0.get(range).unwrap_or_default();
        before.over(order, part(0..8)).over(order, part(FRAME_HEADER_BYTES..self.0.len()))
    }
}

/// Fills the buffer. Returns false if there are not so many bytes.
fn read_whole(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// The number there. All numbers of the log are stored as big-endian.
fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    four.copied().map(u32::from_be_bytes).unwrap_or_default()
}

fn as_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rusqlite::Connection;

    use super::*;

    const FRAME: usize = 24 + 4096;

    /// A log with this many commits of one row each, as a killed process leaves it.
    fn log(commits: u32) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let place = tempfile::tempdir().unwrap();
        let connection = Connection::open(place.path().join(DATABASE)).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.execute_batch("CREATE TABLE t (a)").unwrap();
        for number in 0..commits {
            connection.execute("INSERT INTO t VALUES (?1)", [number]).unwrap();
        }
        let path = place.path().join(format!("{DATABASE}-wal"));
        let bytes = fs::read(&path).unwrap();
        drop(connection);
        (place, path, bytes)
    }

    fn damage(path: &Path, bytes: &[u8]) -> Option<Damage> {
        fs::write(path, bytes).unwrap();
        find_damage(path).unwrap()
    }

    #[test]
    fn a_whole_log_and_one_that_ends_anywhere_are_not_damaged() {
        let (_place, path, bytes) = log(4);
        for length in (0..=bytes.len()).rev().step_by(509).chain([0, 1, 31, 32, 33]) {
            assert_eq!(damage(&path, &bytes[..length]), None, "{length}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(find_damage(&path).unwrap(), None);
    }

    #[test]
    fn any_bit_that_is_wrong_before_the_last_commit_is_found() {
        let (_place, path, bytes) = log(4);
        let frames = (bytes.len() - 32) / FRAME;
        // Each insert is a commit of one frame. The frame after the damage must be whole, and so
        // must that before it if the checksum is what was damaged.
        for frame in 0..frames - 2 {
            let start = 32 + frame * FRAME;
            for offset in [0, 3, 8, 13, 16, 23, 24, 25, 2000, FRAME - 1] {
                let mut wrong = bytes.clone();
                wrong[start + offset] ^= 0x10;
                let found = damage(&path, &wrong).unwrap_or_else(|| panic!("{frame}, {offset}"));
                let at = u64::try_from(start).unwrap();
                assert_eq!(found.at, at, "{frame}, {offset}");
                assert!(found.keep <= at, "{found:?}");
            }
        }
        for offset in 0..32 {
            let mut wrong = bytes.clone();
            wrong[offset] ^= 1;
            let found = damage(&path, &wrong);
            assert_eq!(found, Some(Damage { at: 0, keep: 0 }), "header, byte {offset}");
        }
    }

    #[test]
    fn a_torn_last_transaction_is_not_damage() {
        let (place, path, _) = log(1);
        let connection = Connection::open(place.path().join(DATABASE)).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE u (a)").unwrap();
        let before = fs::read(&path).unwrap().len();
        let many = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) \
                    INSERT INTO u SELECT randomblob(3000) FROM n";
        connection.execute_batch(many).unwrap();
        let bytes = fs::read(&path).unwrap();
        let frames = (bytes.len() - before) / FRAME;
        assert!(frames > 20);
        for frame in 0..frames {
            // A power cut may lose any of the pages of a transaction that was not synced.
            let mut torn = bytes.clone();
            torn[before + frame * FRAME + 24..][..4096].fill(0);
            assert_eq!(damage(&path, &torn), None, "{frame}");
            let mut torn = bytes.clone();
            torn[before + frame * FRAME..][..FRAME].fill(0);
            assert_eq!(damage(&path, &torn), None, "{frame}");
        }
    }

    #[test]
    fn what_was_rolled_back_and_what_an_earlier_log_left_is_not_damage() {
        let place = tempfile::tempdir().unwrap();
        let connection = Connection::open(place.path().join(DATABASE)).unwrap();
        let path = place.path().join(format!("{DATABASE}-wal"));
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE u (a)").unwrap();
        connection.execute_batch("PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0").unwrap();
        let many = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) \
                    INSERT INTO u SELECT randomblob(3000) FROM n;";
        // The cache has no room for the transaction, so its pages are in the log.
        let small = fs::metadata(&path).unwrap().len();
        connection.execute_batch(&format!("BEGIN; {many} ROLLBACK")).unwrap();
        assert!(fs::metadata(&path).unwrap().len() > small + 100 * 4096);
        connection.execute_batch("INSERT INTO u VALUES (1)").unwrap();
        assert_eq!(find_damage(&path).unwrap(), None, "rolled back");
        connection.execute_batch(many).unwrap();
        for _ in 0..5 {
            connection.execute_batch("INSERT INTO u VALUES (1)").unwrap();
        }
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        connection.execute_batch("INSERT INTO u VALUES (1)").unwrap();
        assert_eq!(find_damage(&path).unwrap(), None, "of an earlier log");
    }
}
