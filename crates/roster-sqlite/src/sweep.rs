//! Sweeping the files after a purge.
//!
//! With `secure_delete`, SQLite overwrites the cells and pages that become free. But when it
//! balances a tree, it moves the cells of a page and does not overwrite their old bytes in the gap
//! between the pointers and the cells. No statement reaches these copies. So after a purge the log
//! is copied and emptied, and then the gap of every page of the file is overwritten. The
//! transaction of the purge writes a mark in the settings. It stays there until the sweep is done.
//!
//! One pass over the file serves all purges before it. It saves its progress from time to time, so
//! that a restart continues it. The next pass waits in proportion to the time that this one took:
//! sweeping takes a tenth of the time at most. A page that a pass has examined cannot receive data
//! of the purged users that the pass covers: no cell contains their data any more.
//!
//! SQLite does not read a gap. It is overwritten in the file itself while the writer waits, its log
//! is empty and its cache has no page: an older copy of the page would restore the old gap.

use std::{
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::FileExt as _,
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Result};

use crate::{
    checkpoint::EMPTY,
    checkpointer::{Checkpointer, empty_log},
    failure::ReadResult,
    scrub::{
        self, MARK, NAME,
        page::{Layout, gap},
    },
    writer::{Maintenance, Writer},
};

/// The last purge that the current pass covers.
const PASS: &str = "sweep_purged";
/// The next page.
const PASS_PAGE: &str = "sweep_page";

const UNMARK: &str = "DELETE FROM settings WHERE name = ?1 AND value <= ?2";
const END_PASS: &str = "DELETE FROM settings WHERE name IN (?1, ?2)";

/// Pages that are read at once.
const SLICE_PAGES: u32 = 512;

/// The number of pages that are overwritten while the writer waits.
const CLEAN_PAGES_MAX: usize = 512;

/// The pause after each slice, so that others can use the processor and the disk.
const REST: Duration = Duration::from_millis(4);

/// After a pass, the next one waits this many times as long as the pass took.
const WAIT_PER_PASS: u32 = 9;

/// How long to wait at first, and at most, for a reader of the log to end.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Removes the mark, after the sweep for the purges up to that position is done.
fn unmark(connection: &Connection, position: i64) -> Result<()> {
    connection.prepare_cached(UNMARK)?.execute((NAME, position))?;
    connection.prepare_cached(END_PASS)?.execute((PASS, PASS_PAGE))?;
    Ok(())
}

/// A pass over the pages of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    /// The purges up to this position are swept once the pass is over.
    purged: i64,
    page: u32,
}

impl Pass {
    /// Continues the pass that was running when the store was closed, or starts one at the first
    /// page.
    fn resume(connection: &Connection, purged: i64) -> ReadResult<Self> {
        let page = scrub::number(connection, PASS_PAGE)?.and_then(|page| page.try_into().ok());
        Ok(match (scrub::number(connection, PASS)?, page) {
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

/// Sweeps the file, on the checkpointer's thread, so that no other thread copies into the file.
/// Returns how long the pass took, without waits for readers. Returns `None` if the sweep did not
/// finish; the mark then stays.
pub(crate) fn sweep(at: &Checkpointer, position: i64) -> Option<Duration> {
    let database = &at.database;
    // The purged rows must be gone from the file before the gaps are examined.
    insist(at, || at.reset(&empty_log()))?;
    let mut pass = Pass::resume(&at.connection, position).ok()?;
    let mut slice = Vec::new();
    let mut unclean = Vec::new();
    let mut saved = pass.page;
    let mut took = Duration::ZERO;
    loop {
        let began = Instant::now();
        let first = pass.page;
        // Pages added later contain nothing of the purged users, so the file may grow.
        let layout = Layout::read(database).ok().flatten()?;
        if first > layout.pages {
            break;
        }
        slice.resize(layout.page_size * usize::try_from(SLICE_PAGES).ok()?, 0);
        let count = SLICE_PAGES.min(layout.pages - first + 1);
        for (number, bytes) in (first..).zip(layout.read_pages(database, first, count, &mut slice)?)
        {
            if gap(number, bytes).is_some() {
                unclean.push(number);
            }
        }
        took += began.elapsed() + REST;
        pass.page += count;
        let is_save_due = pass.page - saved >= at.readers.settings().sweep_save_pages;
        if unclean.len() >= CLEAN_PAGES_MAX || is_save_due || pass.page > layout.pages {
            clean_all(at, &mut unclean)?;
        }
        if is_save_due {
            insist(at, || at.write(move |connection| pass.save(connection)))?;
            saved = pass.page;
        }
        at.copy();
        if !at.rest(REST) {
            return None;
        }
    }
    insist(at, || at.write(move |connection| unmark(connection, pass.purged)))?;
    at.shared.checkpoints.swept(pass.purged);
    Some(took)
}

/// Has the writer overwrite the gaps of these pages.
fn clean_all(at: &Checkpointer, unclean: &mut Vec<u32>) -> Option<()> {
    while !unclean.is_empty() {
        let rest = unclean.split_off(unclean.len().min(CLEAN_PAGES_MAX));
        let (database, pages) = (Arc::clone(&at.database), std::mem::replace(unclean, rest));
        let clean: Maintenance = Arc::new(move |writer| clean(writer, &database, &pages));
        insist(at, || at.reset(&clean) && at.sync())?;
    }
    Some(())
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

/// Overwrites the gaps of these pages, on the writer's thread and between its transactions. Returns
/// false if a reader blocks it.
fn clean(writer: &Writer, database: &File, pages: &[u32]) -> bool {
    let is_emptied = writer.checkpoint(EMPTY).is_some();
    if !is_emptied || writer.connection.execute_batch("PRAGMA shrink_memory").is_err() {
        return false;
    }
    let cleaned = Layout::read(database).and_then(|layout| {
        let Some(layout) = layout else { return Ok(()) };
        let mut bytes = vec![0; layout.page_size];
        pages.iter().try_for_each(|page| overwrite_gap(database, *page, &mut bytes))
    });
    match cleaned {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != ErrorKind::StorageFull {
                writer.shared.health.stop();
            }
            false
        }
    }
}

fn overwrite_gap(database: &File, number: u32, bytes: &mut [u8]) -> io::Result<()> {
    let start = Layout::offset(number, bytes.len());
    database.read_exact_at(bytes, start)?;
    let Some(gap) = gap(number, bytes) else { return Ok(()) };
    let start = start + u64::try_from(gap.start).unwrap_or(u64::MAX);
    database.write_all_at(&vec![0; gap.len()], start)
}
