//! Asks after the service's health all the while, and looks at its memory.
//!
//! Every 100 ms both questions are asked, on a connection that is kept and on a new one.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};

const EVERY: Duration = Duration::from_millis(100);

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Questions.
    pub(super) asked: u32,
    /// Those that were answered 200 in time.
    pub(super) well: u32,
    /// The longest that an answer took.
    pub(super) longest: Duration,
    /// Memory of the process's own, in KiB: at first, and the most.
    pub(super) memory_kib: (u64, u64),
}

/// The one who asks.
#[derive(Clone, Copy)]
pub(super) struct Visitor {
    pub(super) address: SocketAddr,
    /// Whose memory is looked at.
    pub(super) process: u32,
    /// How long an answer may take.
    pub(super) patience: Duration,
}

/// Does something while health is asked after.
pub(super) fn beside<T>(
    visitor: Visitor,
    action: impl FnOnce() -> Result<T>,
) -> Result<(T, Found)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking = scope.spawn(|| ask(visitor, &over));
        let done = action();
        over.store(true, Ordering::Relaxed);
        let found = asking.join().map_err(|_| anyhow!("the one who asks panicked"))??;
        Ok((done?, found))
    })
}

fn ask(visitor: Visitor, over: &AtomicBool) -> Result<Found> {
    let first = own_memory(visitor.process)?;
    let mut found = Found { memory_kib: (first, first), ..Found::default() };
    let mut kept = None;
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        for path in ["/livez", "/readyz"] {
            let asked = Instant::now();
            let well = question(&mut kept, visitor, path).is_some();
            found.note(well, asked.elapsed());
            let asked = Instant::now();
            let well = question(&mut None, visitor, path).is_some();
            found.note(well, asked.elapsed());
        }
        let (first, most) = found.memory_kib;
        found.memory_kib = (first, most.max(own_memory(visitor.process)?));
        thread::sleep(EVERY.saturating_sub(began.elapsed()));
    }
    Ok(found)
}

impl Found {
    fn note(&mut self, well: bool, took: Duration) {
        self.asked += 1;
        self.well += u32::from(well);
        self.longest = self.longest.max(took);
    }
}

/// Asks on the connection, or on a new one, which is kept if all was well.
fn question(kept: &mut Option<TcpStream>, visitor: Visitor, path: &str) -> Option<()> {
    let Visitor { address, patience, .. } = visitor;
    let mut stream = match kept.take() {
        Some(stream) => stream,
        None => TcpStream::connect_timeout(&address, patience).ok()?,
    };
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    // The last byte of the small document.
    while !answer.ends_with(b"}") {
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        answer.extend_from_slice(piece.get(..count)?);
    }
    let well = answer.starts_with(b"HTTP/1.1 200 ");
    *kept = Some(stream);
    well.then_some(())
}

/// Resident memory that is no file's, in KiB.
pub(super) fn own_memory(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no RssAnon")?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_there_is_not_well() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let wait = || {
            thread::sleep(Duration::from_millis(50));
            Ok(())
        };
        let patience = Duration::from_secs(1);
        let visitor = Visitor { address, process: std::process::id(), patience };
        let ((), found) = beside(visitor, wait).unwrap();
        assert!(found.asked >= 4);
        assert_eq!(found.well, 0);
        assert!(found.memory_kib.0 > 100);
    }
}
