//! The findings of a check: a line for each checked table or property.
//!
//! A fault names the table, the id and what is wrong. It never contains personal values.

use std::fmt;

/// The maximum number of faults that a line describes. Further faults are only counted.
const NAMED_MAX: usize = 20;

/// The findings of a check.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The lines, in the order of the checks.
    pub lines: Vec<Line>,
}

impl Findings {
    /// Whether there are no faults.
    pub fn is_sound(&self) -> bool {
        self.lines.iter().all(|line| line.faults == 0)
    }
}

/// Displays one line for each checked table or property.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The findings for one table or one property of the store.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name of the checked table or property.
    pub name: &'static str,
    /// The number of checked items.
    pub count: u64,
    /// How many faults were found.
    pub faults: u64,
    /// Descriptions of the first faults.
    pub named: Vec<String>,
}

impl Line {
    /// A line without any checked items.
    pub const fn new(name: &'static str) -> Self {
        Self { name, count: 0, faults: 0, named: Vec::new() }
    }

    /// Records a fault.
    pub fn fault(&mut self, place: &dyn fmt::Display, what: &str) {
        self.faults += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(format!("{place}: {what}"));
        }
    }

    /// Records a fault unless `holds` is true.
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

/// The displayed form of an id column. If the value does not have the length of an id, it is
/// printed in hexadecimal.
pub(super) fn name(id: &[u8]) -> String {
    let hexadecimal = || id.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    roster_core::UserId::from_slice(id).map_or_else(hexadecimal, |id| id.to_string())
}

/// A table and an id, as the location of a fault.
pub(super) fn place(table: &str, id: &[u8]) -> String {
    format!("{table} of {}", name(id))
}
