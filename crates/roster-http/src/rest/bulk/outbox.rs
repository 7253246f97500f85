//! The queue of results that the client has not read yet.
//!
//! Results are kept in memory up to a limit, then in a file without a name, so that an import need
//! not wait until its client reads. It waits only when that file has reached its maximum size or
//! the disk has no room; then the minimum speed of reading applies to the client. The order is
//! kept.

use std::{collections::VecDeque, io, path::PathBuf, sync::Arc};

use bytes::Bytes;
use roster_server::{BodySender, ConnectionMemory, HeldBytes};
use tokio::{sync::mpsc, task::spawn_blocking};

use super::spill::{Spill, no_room};

/// The maximum size of results in memory.
const MEMORY_BYTES_MAX: usize = 256 * 1024;

/// An item for the outbox.
#[derive(Debug)]
pub(super) enum Parcel {
    /// Results.
    Results(Vec<u8>),
    /// The last line, which completes the response.
    Done(String),
}

/// Where and whether the file can be created.
#[derive(Clone)]
pub(super) struct Aside {
    pub(super) directory: PathBuf,
    pub(super) has_room: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The memory account of the connection, to which the results are added.
    pub(super) memory: Arc<ConnectionMemory>,
}

/// The unread results, in order: those in memory, those in the file, and those without room.
struct Outbox {
    aside: Aside,
    memory: VecDeque<(Bytes, HeldBytes)>,
    memory_bytes: usize,
    spill: Option<Spill>,
    late: Option<Bytes>,
}

/// Sends all items to the client, until there are no more or the client is gone. Without the last
/// line, the body is aborted.
pub(super) async fn deliver(
    mut parcels: mpsc::Receiver<Parcel>,
    sender: BodySender,
    aside: Aside,
) -> io::Result<()> {
    let (memory, memory_bytes) = (VecDeque::new(), 0);
    let mut outbox = Outbox { aside, memory, memory_bytes, spill: None, late: None };
    let (mut open, mut done) = (true, None);
    while open || !outbox.is_empty() {
        tokio::select! {
            biased;
            room = sender.room(), if !outbox.is_empty() => {
                let Ok(room) = room else { return Ok(()) };
                room.send(outbox.take().await?);
            }
            parcel = parcels.recv(), if open && !outbox.is_full() => match parcel {
                Some(Parcel::Results(lines)) => outbox.put(Bytes::from(lines)).await?,
                Some(Parcel::Done(line)) => done = Some(line),
                None => open = false,
            },
        }
    }
    if let Some(line) = done {
        let Ok(room) = sender.room().await else { return Ok(()) };
        room.send(line);
        sender.finish();
    }
    Ok(())
}

impl Outbox {
    fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.late.is_none() && self.spill_is_empty()
    }

    fn spill_is_empty(&self) -> bool {
        self.spill.as_ref().is_none_or(Spill::is_empty)
    }

    /// Whether nothing can be added before something is sent.
    fn is_full(&self) -> bool {
        self.late.is_some()
    }

    async fn put(&mut self, lines: Bytes) -> io::Result<()> {
        if self.spill_is_empty() && self.memory_bytes + lines.len() <= MEMORY_BYTES_MAX {
            self.memory_bytes += lines.len();
            let held = self.aside.memory.hold(lines.len());
            self.memory.push_back((lines, held));
            return Ok(());
        }
        let (spill, aside, copy) = (self.spill.take(), self.aside.clone(), lines.clone());
        let put = spawn_blocking(move || put_aside(spill, &aside, &copy));
        let (spill, put) = put.await.map_err(io::Error::other)?;
        self.spill = spill;
        if let Err(cause) = put {
            let cause: &dyn std::error::Error = &cause;
            tracing::warn!(
                cause,
                "unread results cannot be stored: the import waits for its client"
            );
            self.late = Some(lines);
        }
        Ok(())
    }

    /// The next item. Called only if there is one.
    async fn take(&mut self) -> io::Result<Bytes> {
        if let Some((lines, _held)) = self.memory.pop_front() {
            self.memory_bytes -= lines.len();
            return Ok(lines);
        }
        if let Some(mut spill) = self.spill.take_if(|spill| !spill.is_empty()) {
            let take = spawn_blocking(move || spill.take().map(|lines| (spill, lines)));
            let (spill, lines) = take.await.map_err(io::Error::other)??;
            self.spill = Some(spill);
            return Ok(lines);
        }
        Ok(self.late.take().unwrap_or_default())
    }
}

/// Appends lines to the file, which is created when it is first needed.
fn put_aside(spill: Option<Spill>, aside: &Aside, lines: &[u8]) -> (Option<Spill>, io::Result<()>) {
    let spill = spill.map_or_else(|| Spill::create(&aside.directory, &aside.memory), Ok);
    let mut spill = match spill {
        Ok(spill) => spill,
        Err(error) => return (None, Err(error)),
    };
    let put = if (aside.has_room)() { spill.put(lines) } else { Err(no_room()) };
    (Some(spill), put)
}
