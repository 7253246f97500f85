//! A server as a child process: started on a free port, watched through `/proc`, killed at the end.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// Longest wait for a server's first answer; a store that was not closed may be read through.
const READY_WITHIN: Duration = Duration::from_mins(1);

/// A running server; dropped, it is killed.
pub(super) struct Server {
    child: Child,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// From its start to its first 200.
    pub(super) cold_start: Duration,
}

impl Server {
    /// Starts a server whose command line `arguments` makes of the address it shall listen on, and
    /// waits until a GET of `path` is answered 200.
    pub(super) fn start(
        program: &Path,
        arguments: impl FnOnce(SocketAddr) -> Vec<String>,
        path: &str,
    ) -> Result<Self> {
        let address = free_address()?;
        let started = Instant::now();
        let child = Command::new(program)
            .args(arguments(address))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let mut server = Self { child, address, cold_start: Duration::ZERO };
        while get(address, path).is_none_or(|status| status != 200) {
            if let Some(status) = server.child.try_wait()? {
                bail!("{} ended at once: {status}", program.display());
            }
            if started.elapsed() > READY_WITHIN {
                bail!("{} gave no 200 for GET {path}", program.display());
            }
            thread::sleep(Duration::from_micros(500));
        }
        server.cold_start = started.elapsed();
        Ok(server)
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, as an operator would, and waits.
    pub(super) fn stop(mut self) -> Result<()> {
        let status = Command::new("kill").arg(self.id().to_string()).status()?;
        if !status.success() {
            bail!("kill was refused");
        }
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > Duration::from_mins(1) {
                bail!("the server did not end within a minute");
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, and then there is nothing to do.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// A loopback address that nobody listens on.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

/// The status of a GET, or `None` if there was no answer.
fn get(address: SocketAddr, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(head.get(9..)?).ok()?.parse().ok()
}

/// The CPU time of each thread of a process until now.
#[derive(Default)]
pub(super) struct CpuTimes(BTreeMap<OsString, u64>);

impl CpuTimes {
    /// What the threads used since then. A thread that ended meanwhile is left out, with all that
    /// it used before.
    pub(super) fn since(&self, before: &Self) -> Duration {
        let used = |(thread, now): (&OsString, &u64)| {
            now.saturating_sub(before.0.get(thread).copied().unwrap_or(0))
        };
        Duration::from_nanos(self.0.iter().map(used).sum())
    }
}

/// The CPU times of a process.
pub(super) fn cpu_times(process: u32) -> Result<CpuTimes> {
    let mut times = BTreeMap::new();
    add_cpu_times(process, &mut times)?;
    Ok(CpuTimes(times))
}

/// The CPU times of a process and of those that it started.
pub(super) fn family_cpu_times(process: u32) -> Result<CpuTimes> {
    let mut times = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if id != process && parent(id) != Some(process) {
            continue;
        }
        match add_cpu_times(id, &mut times) {
            Ok(()) => {}
            // The child ended meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(CpuTimes(times))
}

/// Who started a process that still runs.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // "12 (name, with anything in it) S 11 ..."
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn add_cpu_times(process: u32, times: &mut BTreeMap<OsString, u64>) -> io::Result<()> {
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let thread = thread?;
        match fs::read_to_string(thread.path().join("schedstat")) {
            Ok(text) => {
                let first = text.split_whitespace().next().and_then(|first| first.parse().ok());
                times.insert(thread.file_name(), first.ok_or(ErrorKind::InvalidData)?);
            }
            // The thread ended meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What the processors of the machine have done since it started, in clock ticks.
pub(super) struct MachineTime {
    /// Time in which something ran.
    pub(super) busy: u64,
    /// All time.
    pub(super) all: u64,
}

/// The time of the whole machine.
pub(super) fn machine_time() -> Result<MachineTime> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().context("an empty /proc/stat")?;
    // "cpu user nice system idle iowait ..."; guests are counted in user already.
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).take(8).map(str::parse).collect::<Result<_, _>>()?;
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let all = ticks.iter().sum();
    Ok(MachineTime { busy: all - idle, all })
}

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Resident, without the pages of mapped data files.
    pub(super) resident_kib: u64,
    /// Resident pages of files under the data directory: shared with the page cache, and the
    /// kernel takes them back when it needs them.
    pub(super) mapped_kib: u64,
}

/// The memory of a process whose data lie under `data`.
pub(super) fn memory(process: u32, data: &Path) -> Result<Memory> {
    Ok(sum_mappings(&fs::read_to_string(format!("/proc/{process}/smaps"))?, data))
}

fn sum_mappings(smaps: &str, data: &Path) -> Memory {
    let mut memory = Memory { resident_kib: 0, mapped_kib: 0 };
    let mut is_data = false;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if first == "Rss:" {
            let kib = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            if is_data {
                memory.mapped_kib += kib;
            } else {
                memory.resident_kib += kib;
            }
        } else if !first.ends_with(':') {
            // "7f12-7f34 r--s 00000000 fe:00 1234 /path": the head of a mapping.
            is_data = words.nth(4).is_some_and(|path| Path::new(path).starts_with(data));
        }
    }
    memory
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        path::Path,
        process::{self, Command},
        time::Duration,
    };

    use super::{CpuTimes, Memory, cpu_times, family_cpu_times, memory, sum_mappings};

    #[test]
    fn mapped_data_files_are_told_apart() {
        let smaps = "55d0-55d1 r-xp 00000000 fe:00 11 /bin/roster\nRss: 100 kB\nPss: 90 kB\n\
                     7f00-7f01 rw-p 00000000 00:00 0\nRss: 20 kB\n\
                     7f02-7f03 r--s 00000000 fe:00 12 /data/d/roster.db\nRss: 3000 kB\n\
                     7f04-7f05 rw-s 00000000 fe:00 13 /data/d/roster.db-shm\nRss: 32 kB\n";
        let expected = Memory { resident_kib: 120, mapped_kib: 3032 };
        assert_eq!(sum_mappings(smaps, Path::new("/data/d")), expected);
    }

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        assert!(memory(process::id(), Path::new("/nowhere")).unwrap().resident_kib > 100);
        assert!(!cpu_times(process::id()).unwrap().since(&CpuTimes::default()).is_zero());
    }

    #[test]
    fn a_family_is_a_process_and_its_children() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (alone, family) = (cpu_times(process::id()), family_cpu_times(process::id()));
        let family = family.unwrap().0;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family.contains_key(OsStr::new(&child.id().to_string())));
        assert!(family.len() > alone.unwrap().0.len());
    }

    #[test]
    fn a_thread_that_ended_takes_nothing_from_the_others() {
        let times = |list: &[(&str, u64)]| {
            CpuTimes(list.iter().map(|(thread, used)| ((*thread).into(), *used)).collect())
        };
        let (before, after) = (times(&[("1", 100), ("2", 900)]), times(&[("1", 150), ("3", 20)]));
        assert_eq!(after.since(&before), Duration::from_nanos(70));
    }
}
