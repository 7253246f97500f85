//! A server as a child process: started on a free port, observed through `/proc`, killed at the
//! end.

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// The maximum wait for a server's first 200, and for its end.
const WITHIN: Duration = Duration::from_mins(1);

/// A running server, which is killed when this is dropped.
pub(super) struct Server {
    child: Child,
    /// The address on which it listens.
    pub(super) address: SocketAddr,
    /// The time from its start to its first 200.
    pub(super) cold_start: Duration,
}

impl Server {
    /// Starts the server with the command that `command` makes for a free address, and waits until
    /// a GET of `path` returns 200.
    pub(super) fn start(command: impl FnOnce(&str) -> Result<Command>, path: &str) -> Result<Self> {
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let mut command = command(&address.to_string())?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("starting {command:?}"))?;
        let mut server = Self { child, address, cold_start: Duration::ZERO };
        while get(address, path) != Some(200) {
            let ended = server.child.try_wait()?;
            ensure!(ended.is_none(), "{command:?} ended at once: {ended:?}");
            ensure!(started.elapsed() < WITHIN, "{command:?} gave no 200 for GET {path}");
            thread::sleep(Duration::from_micros(500));
        }
        server.cold_start = started.elapsed();
        Ok(server)
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the signal that an operator uses to stop it, and waits for its end.
    pub(super) fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let signalled = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(signalled.elapsed() < WITHIN, "the server did not end within a minute");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already. Then nothing is left to do.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// The status of a GET, or `None` if there was no response.
fn get(address: SocketAddr, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(head.get(9..)?).ok()?.parse().ok()
}

/// The CPU time so far of each thread of a process and of its children.
#[derive(Default)]
pub(super) struct CpuTimes(BTreeMap<String, u64>);

impl CpuTimes {
    /// The times of a process and of its child processes.
    pub(super) fn of(process: u32) -> Result<Self> {
        let mut times = Self::default();
        let is_child = |id: &u32| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // "12 (name, with anything in it) S 11 ..."
            stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
        };
        times.add(process)?;
        for entry in fs::read_dir("/proc")? {
            let id = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            if let Some(id) = id.filter(|id| is_child(id) == Some(process)) {
                times.add(id)?;
            }
        }
        Ok(times)
    }

    fn add(&mut self, process: u32) -> Result<()> {
        let threads = match fs::read_dir(format!("/proc/{process}/task")) {
            // The process has ended meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            threads => threads?,
        };
        for thread in threads {
            let thread = thread?;
            // A thread that has ended meanwhile has no file.
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let used = text.split_whitespace().next().and_then(|first| first.parse().ok());
            let id = thread.file_name().to_string_lossy().into_owned();
            self.0.extend(used.map(|used| (id, used)));
        }
        Ok(())
    }

    /// The CPU time since then. Threads that ended meanwhile are omitted, with all their time.
    pub(super) fn since(&self, before: &Self) -> Duration {
        let used = |(thread, now): (&String, &u64)| {
            now.saturating_sub(before.0.get(thread).copied().unwrap_or(0))
        };
        Duration::from_nanos(self.0.iter().map(used).sum())
    }
}

/// The average number of runnable processes of the machine in the last minute.
pub(super) fn machine_load() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').next().context("an empty /proc/loadavg")?.parse()?)
}

/// The resident memory of a process that is not mapped from files, in MiB.
pub(super) fn memory_mib(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).context("no RssAnon")?;
    Ok(kib.parse::<f64>()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use std::process::{self, Command};

    use super::{CpuTimes, memory_mib};

    #[test]
    fn a_process_has_memory_and_its_cpu_time_includes_that_of_its_children() {
        assert!(memory_mib(process::id()).unwrap() > 0.1);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let times = CpuTimes::of(process::id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(times.0.contains_key(&child.id().to_string()));
        assert!(times.0.contains_key(&process::id().to_string()));
        assert!(!times.since(&CpuTimes::default()).is_zero());
    }

    #[test]
    fn a_thread_that_ended_takes_nothing_from_the_others() {
        let times = |list: &[(&str, u64)]| {
            CpuTimes(list.iter().map(|(thread, used)| ((*thread).into(), *used)).collect())
        };
        let (before, after) = (times(&[("1", 100), ("2", 900)]), times(&[("1", 150), ("3", 20)]));
        assert_eq!(after.since(&before).as_nanos(), 70);
    }
}
