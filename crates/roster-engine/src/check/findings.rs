//! What a check found: a line for each thing that was looked at.
//!
//! A fault names table, id and what is wrong, never a value of a person.

use std::fmt;

/// Faults of one line that are named; further ones are counted.
const NAMED_MAX: usize = 20;

/// All that a check found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The lines, in the order they were looked at.
    pub lines: Vec<Line>,
}

impl Findings {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.lines.iter().all(|line| line.faults == 0)
    }
}

/// A line for each thing that was looked at.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// What was found in one table, or by one look at the whole.
#[derive(Clone, Debug)]
pub struct Line {
    /// What was looked at.
    pub name: &'static str,
    /// How many of them.
    pub count: u64,
    /// How many faults were found.
    pub faults: u64,
    /// The first of them, in words.
    pub named: Vec<String>,
}

impl Line {
    /// A line in which nothing was looked at yet.
    pub const fn new(name: &'static str) -> Self {
        Self { name, count: 0, faults: 0, named: Vec::new() }
    }

    /// Takes note of a fault.
    pub fn fault(&mut self, place: &dyn fmt::Display, what: &str) {
        self.faults += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(format!("{place}: {what}"));
        }
    }

    /// Takes note of a fault unless this holds.
    pub fn require(&mut self, holds: bool, place: &dyn fmt::Display, what: &str) {
        if !holds {
            self.fault(place, what);
        }
    }

    /// Adds the error that ended a read.
    pub fn end(&mut self, read: Result<(), impl fmt::Display>) {
        if let Err(error) = read {
            let name = self.name;
            self.fault(&name, &format!("cannot be read to the end: {error}"));
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<18} {:>12}  ", self.name, self.count)?;
        match self.faults {
            0 => f.write_str("ok"),
            1 => f.write_str("1 fault"),
            faults => write!(f, "{faults} faults"),
        }?;
        for fault in &self.named {
            write!(f, "\n  {fault}")?;
        }
        let named = u64::try_from(self.named.len()).unwrap_or(u64::MAX);
        match self.faults.saturating_sub(named) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// The name of an id column: in hexadecimal if it has another length than an id.
pub(super) fn name(id: &[u8]) -> String {
    let hexadecimal = || id.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    roster_core::UserId::from_slice(id).map_or_else(hexadecimal, |id| id.to_string())
}
