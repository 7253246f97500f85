//! Sends a file, from a line of it, as the body of a request.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use futures_util::stream;
use memchr::memchr;
use roster_client::{Body, Bytes};
use tokio::sync::mpsc;

use super::bytes::{newlines_in, read_at};
use super::source::{Place, Source, Stamp};

/// Bytes that are read at a time, and how many of these are read ahead.
const CHUNK: usize = 64 * 1024;
const CHUNKS_AHEAD: usize = 2;

/// How far the sending may be before the results. What is sent cannot be stopped, so this is also
/// what the service still does after Ctrl-C.
const AHEAD: u64 = 2 * 1024 * 1024;

/// How long a result is waited for if that much is sent. What has no result, such as blank lines,
/// must not stop the sending.
const PATIENCE: Duration = Duration::from_millis(200);

type Chunk = io::Result<Bytes>;

/// A file that is being sent.
pub(super) struct Sending {
    board: Arc<Board>,
}

/// What the reading thread and the reader of results tell each other.
struct Board {
    shared: Mutex<Shared>,
    changed: Condvar,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until not too much is sent without results, or until results seem to need more.
    fn wait(&self, sent: u64) {
        let mut shared = self.lock();
        loop {
            let done = shared.done();
            if shared.must_stop || sent.saturating_sub(done) < AHEAD {
                return;
            }
            let waited = self.changed.wait_timeout(shared, PATIENCE);
            let timeout;
            (shared, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() && shared.done() == done {
                return;
            }
        }
    }
}

struct Shared {
    /// Where chunks begin that may have lines without a result, and the end of what was sent.
    places: VecDeque<Place>,
    /// Whether to stop after the current line.
    must_stop: bool,
    end: Option<End>,
    /// Keeps the body open.
    open: Option<mpsc::Sender<Chunk>>,
    /// Why the file cannot be read further.
    fault: Option<String>,
}

impl Shared {
    fn done(&self) -> u64 {
        self.places.front().map_or(0, |place| place.offset)
    }
}

/// How the sending ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The whole file was sent.
    Whole(Place),
    /// It was stopped, at this place.
    Stopped(Place),
}

/// Where the file is sent from.
pub(super) struct From {
    pub(super) offset: u64,
    /// The number of the first line.
    pub(super) line: u64,
}

impl Sending {
    /// Starts to send. Lines before the first one are sent empty, so that the others have the same
    /// numbers as before; but the header row is sent as it is.
    pub(super) fn start(source: &Source, from: &From) -> io::Result<(Self, Body)> {
        let (sender, chunks) = mpsc::channel::<Chunk>(CHUNKS_AHEAD);
        let start = Place { offset: from.offset, newlines: from.line - 1 };
        let header = source.header.as_ref().filter(|_| from.offset > 0);
        let blank = match (from.offset, header) {
            (0, _) => 0,
            (_, Some(header)) => start.newlines.saturating_sub(header.newlines()),
            (_, None) => start.newlines,
        };
        let shared = Shared {
            places: VecDeque::from([start]),
            must_stop: false,
            end: None,
            open: Some(sender.clone()),
            fault: None,
        };
        let board = Arc::new(Board { shared: Mutex::new(shared), changed: Condvar::new() });
        let reader = Reader {
            file: source.file.try_clone()?,
            stamp: source.stamp,
            // The service may still be inside a row of several lines.
            keeps_open: source.header.is_some(),
            place: start,
            sender,
            board: Arc::clone(&board),
        };
        let header = header.map(|header| header.bytes.clone()).unwrap_or_default();
        thread::Builder::new().name("read".to_owned()).spawn(move || reader.run(header, blank))?;
        let next = async |mut chunks: mpsc::Receiver<Chunk>| Some((chunks.recv().await?, chunks));
        Ok((Self { board }, Body::wrap_stream(stream::unfold(chunks, next))))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.board.lock()
    }

    /// Stops after the current line.
    pub(super) fn stop(&self) {
        self.shared().must_stop = true;
        self.board.changed.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.shared().must_stop
    }

    pub(super) fn end(&self) -> Option<End> {
        self.shared().end
    }

    /// Why the file cannot be read further.
    pub(super) fn fault(&self) -> Option<String> {
        self.shared().fault.clone()
    }

    /// Ends the body.
    pub(super) fn close(&self) {
        self.shared().open = None;
    }

    /// The last known place at or before the beginning of a line. Those before it are forgotten.
    pub(super) fn place_before(&self, line: u64) -> Place {
        let mut shared = self.shared();
        while shared.places.get(1).is_some_and(|next| next.newlines + 1 < line) {
            shared.places.pop_front();
            self.board.changed.notify_all();
        }
        shared.places.front().copied().unwrap_or(Place { offset: 0, newlines: 0 })
    }
}

/// The thread that reads the file.
struct Reader {
    file: File,
    stamp: Stamp,
    keeps_open: bool,
    place: Place,
    sender: mpsc::Sender<Chunk>,
    board: Arc<Board>,
}

impl Reader {
    fn run(mut self, header: Vec<u8>, blank: u64) {
        if self.prefix(header, blank).is_none() {
            return;
        }
        match self.read() {
            Ok(Some(End::Whole(_))) => self.board.lock().open = None,
            Ok(Some(End::Stopped(_))) if !self.keeps_open => self.board.lock().open = None,
            Ok(_) => {}
            Err(error) => {
                {
                    let mut shared = self.board.lock();
                    shared.fault = Some(error.to_string());
                    shared.open = None;
                }
                // The body breaks off, so that the service does not execute half a line.
                self.sender.blocking_send(Err(error)).unwrap_or_default();
            }
        }
    }

    /// Sends what comes before the first line. Returns nothing if the receiver is closed.
    fn prefix(&self, header: Vec<u8>, mut blank: u64) -> Option<()> {
        if !header.is_empty() {
            self.sender.blocking_send(Ok(header.into())).ok()?;
        }
        let lines = Bytes::from(vec![b'\n'; CHUNK]);
        while blank > 0 {
            let count = usize::try_from(blank).unwrap_or(usize::MAX).min(CHUNK);
            self.sender.blocking_send(Ok(lines.slice(..count))).ok()?;
            blank -= u64::try_from(count).unwrap_or(blank);
        }
        Some(())
    }

    /// Sends the file until its end. Returns nothing if the receiver is closed.
    fn read(&mut self) -> io::Result<Option<End>> {
        let mut is_at_end_of_line = true;
        loop {
            self.board.wait(self.place.offset);
            let must_stop = self.board.lock().must_stop;
            if must_stop && is_at_end_of_line {
                return Ok(Some(self.end(End::Stopped(self.place))));
            }
            let left = self.stamp.bytes.saturating_sub(self.place.offset);
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK);
            let mut chunk = vec![0; wanted];
            let count = read_at(&self.file, &mut chunk, self.place.offset)?;
            self.stamp.check(&self.file)?;
            if wanted == 0 {
                return Ok(Some(self.end(End::Whole(self.place))));
            }
            chunk.truncate(count);
            if must_stop && let Some(end) = memchr(b'\n', &chunk) {
                chunk.truncate(end + 1);
            }
            is_at_end_of_line = chunk.last() == Some(&b'\n');
            let place = Place {
                offset: self.place.offset + u64::try_from(chunk.len()).unwrap_or_default(),
                newlines: self.place.newlines + newlines_in(&chunk),
            };
            if self.sender.blocking_send(Ok(chunk.into())).is_err() {
                return Ok(None);
            }
            self.board.lock().places.push_back(place);
            self.place = place;
        }
    }

    fn end(&self, end: End) -> End {
        self.board.lock().end = Some(end);
        end
    }
}
