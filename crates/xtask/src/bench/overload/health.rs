//! Probes the health of the service during a load, and measures its memory.
//!
//! Every 100 ms `/livez` and `/readyz` are requested, on a kept connection and on a new one.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};

use crate::bench::process::memory_mib;

const EVERY: Duration = Duration::from_millis(100);

/// The results of the probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Health {
    /// The number of probes.
    pub(super) probes: u32,
    /// The number of probes that got 200 in time.
    pub(super) healthy: u32,
    /// The longest time of a probe.
    pub(super) longest: Duration,
    /// The memory of the process in MiB: at the start, and the maximum.
    pub(super) memory_mib: (f64, f64),
}

/// The target and the options of the probes.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    pub(super) address: SocketAddr,
    /// The process whose memory is read.
    pub(super) process: u32,
    /// The maximum time of a response.
    pub(super) timeout: Duration,
}

impl Probe {
    /// Runs `action` while health is probed.
    pub(super) fn during<T>(self, action: impl FnOnce() -> Result<T>) -> Result<(T, Health)> {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let probing = scope.spawn(|| self.run(&over));
            let done = action();
            over.store(true, Ordering::Relaxed);
            let health = probing.join().map_err(|_| anyhow!("the probe panicked"))??;
            Ok((done?, health))
        })
    }

    fn run(self, over: &AtomicBool) -> Result<Health> {
        let first = memory_mib(self.process)?;
        let mut health = Health { memory_mib: (first, first), ..Health::default() };
        let mut kept = None;
        while !over.load(Ordering::Relaxed) {
            let began = Instant::now();
            for path in ["/livez", "/readyz"] {
                for connection in [&mut kept, &mut None] {
                    let sent = Instant::now();
                    health.probes += 1;
                    health.healthy += u32::from(self.ask(connection, path).is_some());
                    health.longest = health.longest.max(sent.elapsed());
                }
            }
            health.memory_mib.1 = health.memory_mib.1.max(memory_mib(self.process)?);
            thread::sleep(EVERY.saturating_sub(began.elapsed()));
        }
        Ok(health)
    }

    /// Sends a probe on the connection, or on a new one, which is kept after a 200.
    fn ask(self, kept: &mut Option<TcpStream>, path: &str) -> Option<()> {
        let Self { address, timeout, .. } = self;
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => TcpStream::connect_timeout(&address, timeout).ok()?,
        };
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(timeout)).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        // The last byte of the small document.
        while !answer.ends_with(b"}") {
            let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
            answer.extend_from_slice(piece.get(..count)?);
        }
        *kept = Some(stream);
        answer.starts_with(b"HTTP/1.1 200 ").then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_port_is_not_healthy() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let wait = || {
            thread::sleep(Duration::from_millis(50));
            Ok(())
        };
        let timeout = Duration::from_secs(1);
        let probe = Probe { address, process: std::process::id(), timeout };
        let ((), health) = probe.during(wait).unwrap();
        assert!(health.probes >= 4);
        assert_eq!(health.healthy, 0);
        assert!(health.memory_mib.0 > 0.1);
    }
}
