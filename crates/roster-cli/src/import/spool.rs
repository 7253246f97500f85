//! The lines that failed, in a file until they are written as a table.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _};

use serde::{Deserialize, Serialize};

/// A line that failed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fault {
    pub(super) line: u64,
    /// Where the next line or row begins.
    pub(super) end: u64,
    pub(super) status: u16,
    pub(super) code: String,
    /// The column, or the member.
    pub(super) place: String,
    pub(super) detail: String,
    /// Whether the row would be read as another one if it was sent again.
    pub(super) is_unsafe: bool,
}

/// The faults so far, in a file.
pub(super) struct Spool {
    out: BufWriter<File>,
    bytes: u64,
}

impl Spool {
    /// The faults in a file, and its length.
    pub(super) fn new(file: File, bytes: u64) -> Self {
        Self { out: BufWriter::new(file), bytes }
    }

    pub(super) fn add(&mut self, fault: &Fault) -> io::Result<()> {
        self.bytes += write_fault(fault, &mut self.out)?;
        Ok(())
    }

    /// Writes what is in memory, and returns the length.
    pub(super) fn flush(&mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.bytes)
    }

    /// All faults, in the order of their lines.
    pub(super) fn faults(&mut self) -> io::Result<impl Iterator<Item = io::Result<Fault>>> {
        self.out.flush()?;
        let mut file = self.out.get_ref().try_clone()?;
        file.rewind()?;
        let lines = BufReader::new(file).lines();
        Ok(lines.map(|line| Ok(serde_json::from_str(&line?)?)))
    }
}

/// Writes a record of the spool.
fn write_fault(fault: &Fault, mut out: impl io::Write) -> io::Result<u64> {
    let mut line = serde_json::to_vec(fault)?;
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(u64::try_from(line.len()).unwrap_or_default())
}
