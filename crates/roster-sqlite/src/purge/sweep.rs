//! Sweeping the file after a purge.
//!
//! With `secure_delete`, SQLite overwrites the cells and pages that become free. But when it
//! balances a tree, it moves the cells of a page and does not overwrite their old bytes in the gap
//! between the pointers and the cells. No statement reaches these copies. So after a purge every
//! page of the file is read, and each gap with other bytes than zero is overwritten. The
//! transaction of the purge writes a mark in the settings. It stays there until the sweep is done.
//!
//! SQLite reads and writes these pages: they are the rows of its table `sqlite_dbpage`, and the
//! writer updates them in a transaction. At the end the write-ahead log, which has older copies of
//! pages, is copied and emptied.
//!
//! One pass over the file serves all purges before it. It saves its progress from time to time, so
//! that a restart continues it. The next pass waits in proportion to the time that this one took:
//! sweeping takes a tenth of the time at most. A page that a pass has examined cannot receive data
//! of the purged users that the pass covers: no cell contains their data any more.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension as _, Result, config::DbConfig};

use crate::{
    failure::ReadResult,
    purge::mark::{MARK, NAME, number},
    wal::checkpointer::{Checkpointer, empty_log},
};

/// The last purge that the current pass covers.
const PASS: &str = "sweep_purged";
/// The next page.
const PASS_PAGE: &str = "sweep_page";

const UNMARK: &str = "DELETE FROM settings WHERE name = ?1 AND value <= ?2";
const END_PASS: &str = "DELETE FROM settings WHERE name IN (?1, ?2)";

const READ_PAGE: &str = "SELECT data FROM sqlite_dbpage WHERE pgno = ?1";
const WRITE_PAGE: &str = "UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1";

/// Pages that are read in one snapshot, and whose gaps are overwritten in one transaction.
const SLICE_PAGES: u32 = 256;

/// The minimum pause after each slice, so that others can use the processor and the disk. It is as
/// long as the slice took.
const REST_MIN: Duration = Duration::from_millis(4);

/// After a pass, the next one waits this many times as long as the pass took.
const WAIT_PER_PASS: u32 = 9;

/// How long to wait at first, and at most, for a reader of the log to end.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The size of the file's own header, at the start of its first page.
const FILE_HEADER: usize = 100;

/// Removes the mark, after the sweep for the purges up to that position is done.
fn unmark(connection: &Connection, position: i64) -> Result<()> {
    connection.prepare_cached(UNMARK)?.execute((NAME, position))?;
    connection.prepare_cached(END_PASS)?.execute((PASS, PASS_PAGE))?;
    Ok(())
}

/// A pass over the pages of the file.
#[derive(Clone, Copy, Debug)]
struct Pass {
    /// The purges up to this position are swept once the pass is over.
    purged: i64,
    page: u32,
}

impl Pass {
    /// Continues the pass that was running when the store was closed, or starts one at the first
    /// page.
    fn resume(connection: &Connection, purged: i64) -> ReadResult<Self> {
        let page = number(connection, PASS_PAGE)?.and_then(|page| page.try_into().ok());
        Ok(match (number(connection, PASS)?, page) {
            (Some(purged), Some(page)) => Self { purged, page },
            _ => Self { purged, page: 1 },
        })
    }

    /// Stores the progress of the pass.
    fn save(self, connection: &Connection) -> Result<()> {
        let mut mark = connection.prepare_cached(MARK)?;
        mark.execute((PASS, self.purged))?;
        mark.execute((PASS_PAGE, self.page))?;
        Ok(())
    }
}

/// When the next pass may begin.
#[derive(Debug, Default)]
pub(crate) struct Pace(Option<Instant>);

impl Pace {
    /// How long it has to wait.
    pub(crate) fn wait(&self) -> Duration {
        self.0.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }

    /// Records how long a pass took.
    pub(crate) fn passed(&mut self, took: Duration) {
        self.0 = Instant::now().checked_add(took.saturating_mul(WAIT_PER_PASS));
    }
}

/// Sweeps the file, on the checkpointer's thread. Returns how long the pass took, without the wait
/// for readers at its end. Returns `None` if the sweep did not finish; the mark then stays.
pub(crate) fn sweep(at: &Checkpointer, position: i64) -> Option<Duration> {
    let began = Instant::now();
    let mut pass = at.note_read(Pass::resume(&at.connection, position))?;
    let mut saved = pass.page;
    loop {
        let slice_began = Instant::now();
        let slice = at.note_read(Slice::read(&at.connection, pass.page))?;
        pass.page += SLICE_PAGES;
        let is_save_due = pass.page - saved >= at.readers.settings().sweep_save_pages;
        if !slice.unclean.is_empty() || is_save_due {
            insist(at, || {
                let unclean = slice.unclean.clone();
                at.write(move |connection| {
                    clean(connection, &unclean)?;
                    pass.save(connection)
                })
            })?;
            saved = pass.page;
        }
        at.copy();
        if !at.rest(REST_MIN.max(slice_began.elapsed())) {
            return None;
        }
        // Pages added later contain nothing of the purged users, so the file may grow.
        if pass.page > slice.last_page {
            break;
        }
    }
    let took = began.elapsed();
    insist(at, || at.reset(&empty_log()))?;
    insist(at, || at.write(move |connection| unmark(connection, pass.purged)))?;
    at.shared.checkpoints.swept(pass.purged);
    Some(took)
}

/// Consecutive pages that were read.
struct Slice {
    /// The pages whose gap has other bytes than zero.
    unclean: Vec<u32>,
    /// The last page of the file.
    last_page: u32,
}

impl Slice {
    /// Reads pages in one snapshot.
    fn read(connection: &Connection, first: u32) -> ReadResult<Self> {
        let snapshot = connection.unchecked_transaction()?;
        let last_page: u32 = snapshot.pragma_query_value(None, "page_count", |row| row.get(0))?;
        let mut unclean = Vec::new();
        for page in (first..=last_page).take_while(|page| page - first < SLICE_PAGES) {
            if read_gap(&snapshot, page, |_, _| ())?.is_some() {
                unclean.push(page);
            }
        }
        Ok(Self { unclean, last_page })
    }
}

/// Overwrites the gaps of these pages, in a transaction of the writer.
fn clean(connection: &Connection, pages: &[u32]) -> Result<()> {
    // SQLite lets no one write its pages while this protection is on.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    let cleaned = pages.iter().try_for_each(|page| {
        let clean = read_gap(connection, *page, |bytes, gap| {
            let mut clean = bytes.to_vec();
            if let Some(gap) = clean.get_mut(gap) {
                gap.fill(0);
            }
            clean
        })?;
        if let Some(bytes) = clean {
            connection.prepare_cached(WRITE_PAGE)?.execute((page, bytes))?;
        }
        Ok(())
    });
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    cleaned
}

/// Calls `on` with the bytes of a page and its gap, if that has other bytes than zero.
fn read_gap<T>(
    connection: &Connection,
    page: u32,
    on: impl FnOnce(&[u8], Range<usize>) -> T,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(READ_PAGE)?;
    let found = statement.query_row([page], |row| {
        let bytes = row.get_ref(0)?.as_blob()?;
        Ok(gap(page, bytes).map(|gap| on(bytes, gap)))
    });
    Ok(found.optional()?.flatten())
}

/// The gap of a page between the pointers to its cells and the cells, if the page is one of a tree
/// and the gap has other bytes than zero (<https://www.sqlite.org/fileformat2.html>, section 1.6).
///
/// Any other page begins with the number of another page, whose first byte is 0 or 1 in a file of
/// at most [`roster_core::limits::DATABASE_BYTES_MAX`].
fn gap(page: u32, bytes: &[u8]) -> Option<Range<usize>> {
    let header = if page == 1 { FILE_HEADER } else { 0 };
    let number =
        |at: usize| Some(usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)));
    let pointers = match bytes.get(header)? {
        2 | 5 => header + 12,
        10 | 13 => header + 8,
        _ => return None,
    };
    let gap = pointers + 2 * number(header + 3)?..number(header + 5)?;
    bytes.get(gap.clone())?.iter().any(|byte| *byte != 0).then_some(gap)
}

/// Tries until it succeeds, with growing pauses. Returns `None` once the store closes or writes
/// have stopped.
fn insist(at: &Checkpointer, attempt: impl Fn() -> bool) -> Option<()> {
    let (mut patience, most) = PATIENCE;
    while !attempt() {
        if !at.rest(patience) {
            return None;
        }
        patience = most.min(patience * 2);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use roster_core::Rules;

    use super::*;
    use crate::Settings;

    /// A leaf page of a table, of 512 bytes, whose cells begin at the offset `content`.
    fn leaf(cells: u16, content: u16) -> Vec<u8> {
        let mut page = vec![0; 512];
        page[0] = 13;
        page[3..5].copy_from_slice(&cells.to_be_bytes());
        page[5..7].copy_from_slice(&content.to_be_bytes());
        page[usize::from(content).min(512)..].fill(1);
        page
    }

    #[test]
    fn a_gap_lies_between_pointers_and_cells() {
        let mut page = leaf(3, 400);
        assert_eq!(gap(2, &page), None, "it is clean");
        page[14] = 1;
        assert_eq!(gap(2, &page), Some(14..400));
        page[14] = 0;
        page[399] = 1;
        assert_eq!(gap(2, &page), Some(14..400));
        page[0] = 5;
        assert_eq!(gap(2, &page), Some(18..400), "an inner page has a longer header");
    }

    #[test]
    fn the_first_page_begins_with_the_header_of_the_file() {
        let mut page = leaf(1, 450);
        page.copy_within(0..20, 100);
        page[..100].fill(1);
        page[200] = 1;
        assert_eq!(gap(1, &page), Some(110..450));
    }

    #[test]
    fn what_is_no_page_of_a_tree_or_makes_no_sense_has_no_gap() {
        let mut page = leaf(3, 400);
        page[20] = 1;
        for kind in [0, 1, 3, 7, 255] {
            page[0] = kind;
            assert_eq!(gap(2, &page), None, "{kind}");
        }
        for (cells, content) in [(0u16, 0u16), (300, 400), (0, 600), (u16::MAX, u16::MAX)] {
            let mut page = leaf(0, 512);
            page[20] = 1;
            page[3..5].copy_from_slice(&cells.to_be_bytes());
            page[5..7].copy_from_slice(&content.to_be_bytes());
            assert_eq!(gap(2, &page), None, "{cells} {content}");
        }
        assert_eq!(gap(2, &[]), None);
    }

    #[test]
    fn no_page_number_begins_like_a_page_of_a_tree() {
        let settings = Settings::new(".".into(), Rules::default());
        assert!(settings.pages_max.to_be_bytes()[0] < 2);
    }
}
