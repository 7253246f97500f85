//! Sweeping the files after a purge.
//!
//! With `secure_delete`, SQLite overwrites the cells and pages that become free. But when it
//! balances a tree, it packs the cells of a page anew and leaves what was there before in the gap
//! between the pointers and the cells: copies of rows that are deleted later, which no statement
//! reaches. So after a purge the log is copied and emptied, and then every page of the file is
//! looked at and its gap overwritten. A mark in the settings, written with the purge, stands until
//! that is done, whatever happens in between.
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
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension as _, Result};

use crate::{
    checkpoint::{EMPTY, Wanted, checkpoint},
    checkpointer::Checkpointer,
    health::Health,
};
use page::{Layout, gap};

/// The last purge after which the files were not swept yet.
const NAME: &str = "purged";

pub(crate) const MARKED: &str = "SELECT value FROM settings WHERE name = ?1";
pub(crate) const MARK: &str = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = ?2";
pub(crate) const UNMARK: &str = "DELETE FROM settings WHERE name = ?1 AND value <= ?2";

/// Pages that are read at once.
const SLICE_PAGES: u32 = 512;

/// Pages that are overwritten while the writer stands still.
const CLEAN_PAGES_MAX: usize = 512;

/// The rest after each slice: there are others who need the processor and the disk.
const REST: Duration = Duration::from_millis(4);

/// How long to wait at first, and at most, for a reader of the log to end.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The position of the last purge after which the files were not swept yet.
pub(crate) fn marked(connection: &Connection) -> Result<Option<i64>> {
    connection.query_row(MARKED, [NAME], |row| row.get(0)).optional()
}

/// Remembers, in the transaction of a purge, that the files are to be swept.
pub(crate) fn mark(connection: &Connection, position: i64) -> Result<()> {
    connection.prepare_cached(MARK)?.execute((NAME, position))?;
    Ok(())
}

/// The sweep after the purges up to that position is done.
pub(crate) fn unmark(connection: &Connection, position: i64) -> Result<()> {
    connection.prepare_cached(UNMARK)?.execute((NAME, position))?;
    Ok(())
}

/// Sweeps the file, on the checkpointer's thread: nobody else copies into it meanwhile. `None`
/// where it came to no end; the mark stands.
pub(crate) fn sweep(at: &Checkpointer, database: &Arc<File>, position: i64) -> Option<()> {
    // What was purged has to be gone from the rows of the file before its gaps are looked at.
    insist(at, || at.reset(&Wanted::Empty))?;
    let mut slice = Vec::new();
    let mut unclean = Vec::new();
    let mut first = 1;
    loop {
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
        first += count;
        if unclean.len() >= CLEAN_PAGES_MAX || first > layout.pages {
            clean_all(at, database, &mut unclean)?;
        }
        at.copy();
        if !at.rest(REST) {
            return None;
        }
    }
    insist(at, || at.ask(Wanted::Unmark(position)))
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
