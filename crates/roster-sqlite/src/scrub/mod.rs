//! Sweeping the files after a purge.
//!
//! With `secure_delete`, SQLite overwrites the cells and pages that become free. But when it
//! balances a tree, it packs the cells of a page anew and leaves what was there before in the gap
//! between the pointers and the cells: copies of rows that are deleted later, which no statement
//! reaches. So after a purge the log is copied and emptied, and then every page of the file is
//! looked at and its gap overwritten. A mark in the settings, written with the purge, stands until
//! that is done, whatever happens in between.
//!
//! One pass over the file serves all purges before it. It goes on in steps, notes from time to time
//! how far it came, so that a restart goes on from there, and the next pass waits in proportion to
//! how long this one took: sweeping takes a tenth of the time at most, however often people are
//! purged and however large the file is. A page that was looked at in a pass cannot get anything of
//! the people whom that pass serves: they are in no cell that could be moved.
//!
//! A gap is free for SQLite and read by nobody. It is overwritten in the file itself, while the
//! writer stands still, its log is empty and its cache holds no page: an older copy of the page
//! would bring the gap back.

pub(crate) mod page;

use std::{
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::FileExt as _,
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Result};

use crate::{
    checkpoint::{EMPTY, Wanted, checkpoint},
    checkpointer::Checkpointer,
    establish::setting,
    health::Health,
};
use page::{Layout, gap};

/// The last purge after which the files were not swept yet.
const NAME: &str = "purged";

/// The last purge that the pass under way serves.
const PASS: &str = "sweep_purged";
/// The page that it looks at next.
const PASS_PAGE: &str = "sweep_page";

const MARK: &str = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = ?2";
const UNMARK: &str = "DELETE FROM settings WHERE name = ?1 AND value <= ?2";
const END_PASS: &str = "DELETE FROM settings WHERE name IN (?1, ?2)";

/// Pages that are read at once.
const SLICE_PAGES: u32 = 512;

/// Pages that are overwritten while the writer stands still.
const CLEAN_PAGES_MAX: usize = 512;

/// The rest after each slice: there are others who need the processor and the disk.
const REST: Duration = Duration::from_millis(4);

/// After a pass, the next one waits so many times as long as this one took.
const WAIT_PER_PASS: u32 = 9;

/// How long to wait at first, and at most, for a reader of the log to end.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The position of the last purge after which the files were not swept yet.
pub(crate) fn marked(connection: &Connection) -> Result<Option<i64>> {
    setting(connection, NAME)
}

/// Remembers, in the transaction of a purge, that the files are to be swept.
pub(crate) fn mark(connection: &Connection, position: i64) -> Result<()> {
    connection.prepare_cached(MARK)?.execute((NAME, position))?;
    Ok(())
}

/// The sweep after the purges up to that position is done.
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
    /// The page that is looked at next.
    page: u32,
}

impl Pass {
    /// The pass that was under way when the store was closed, else one from the first page on.
    fn resume(connection: &Connection, purged: i64) -> Result<Self> {
        let page = setting::<i64>(connection, PASS_PAGE)?.and_then(|page| page.try_into().ok());
        Ok(match (setting(connection, PASS)?, page) {
            (Some(purged), Some(page)) => Self { purged, page },
            _ => Self { purged, page: 1 },
        })
    }

    /// Notes how far the pass came.
    fn save(self, connection: &Connection) -> Result<()> {
        let mut mark = connection.prepare_cached(MARK)?;
        mark.execute((PASS, self.purged))?;
        mark.execute((PASS_PAGE, self.page))?;
        Ok(())
    }
}

/// A pass that is over.
pub(crate) struct Swept {
    /// The purges up to this position are swept.
    pub(crate) purged: i64,
    /// How long the pages were looked at, without waits for readers.
    pub(crate) took: Duration,
}

/// When the next pass may begin.
#[derive(Debug, Default)]
pub(crate) struct Pace(Option<Instant>);

impl Pace {
    /// How long it has to wait.
    pub(crate) fn wait(&self) -> Duration {
        self.0.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }

    /// A pass took that long.
    pub(crate) fn passed(&mut self, took: Duration) {
        self.0 = Instant::now().checked_add(took.saturating_mul(WAIT_PER_PASS));
    }
}

/// Sweeps the file, on the checkpointer's thread: nobody else copies into it meanwhile. `None`
/// where it came to no end, and the mark stands.
pub(crate) fn sweep(at: &Checkpointer, database: &Arc<File>, position: i64) -> Option<Swept> {
    // What was purged has to be gone from the rows of the file before its gaps are looked at.
    insist(at, || at.reset(&Wanted::Empty))?;
    let mut pass = at.begin_pass(|connection| Pass::resume(connection, position))?;
    let mut slice = Vec::new();
    let mut unclean = Vec::new();
    let mut saved = pass.page;
    let mut took = Duration::ZERO;
    loop {
        let began = Instant::now();
        let first = pass.page;
        // Other pages than those of now hold nothing of the purged: the file may grow.
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
        let is_save_due = pass.page - saved >= at.sweep_save_pages;
        if unclean.len() >= CLEAN_PAGES_MAX || is_save_due || pass.page > layout.pages {
            clean_all(at, database, &mut unclean)?;
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
    Some(Swept { purged: pass.purged, took })
}

/// Has the writer overwrite the gaps of these pages.
fn clean_all(at: &Checkpointer, database: &Arc<File>, unclean: &mut Vec<u32>) -> Option<()> {
    while !unclean.is_empty() {
        let rest = unclean.split_off(unclean.len().min(CLEAN_PAGES_MAX));
        let pages: Arc<[u32]> = std::mem::replace(unclean, rest).into();
        let clean = Wanted::Clean { database: Arc::clone(database), pages };
        insist(at, || at.reset(&clean) && at.sync())?;
    }
    Some(())
}

/// Tries until it succeeds, ever more rarely; `None` once the store closes or writes stopped.
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

/// Overwrites the gaps of these pages, on the writer's thread and between its transactions. False
/// where a reader stands in the way.
pub(crate) fn clean(
    connection: &Connection,
    database: &File,
    pages: &[u32],
    health: &Health,
) -> bool {
    let emptied = checkpoint(connection, EMPTY, health).is_some();
    if !emptied || connection.execute_batch("PRAGMA shrink_memory").is_err() {
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
                health.stop();
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
