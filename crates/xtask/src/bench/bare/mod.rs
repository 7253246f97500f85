//! The baselines of the machine and the stores: a bare HTTP server, and loops over the service's
//! own tables without HTTP and rules.
//!
//! The loops write the rows that the service wrote for the same changes. They read these rows from
//! the service's tables beforehand, so that only the store is measured.

pub(super) mod hello;
pub(super) mod postgres;
pub(super) mod sqlite;

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use hdrhistogram::Histogram;

use super::cases::{Sample, Work};

/// The minimum and the maximum number of users that a loop creates and deletes.
const FRESH_USERS: (usize, usize) = (2_048, 16_384);

/// A loop over the tables of a store.
pub(super) trait Bare {
    /// Executes work for the given duration, with this number of concurrent callers.
    fn run(&mut self, work: Work, callers: usize, measure: Duration, seed: u64) -> Result<Sample>;
}

/// The number of users that a loop needs for writing during this time.
pub(super) fn fresh_users(measure: Duration) -> usize {
    let wanted = usize::try_from(measure.as_millis()).unwrap_or(usize::MAX).saturating_mul(16);
    wanted.clamp(FRESH_USERS.0, FRESH_USERS.1)
}

/// Times, from one nanosecond to one minute with three significant digits.
pub(super) struct Times(Histogram<u64>);

impl Times {
    /// No times.
    pub(super) fn new() -> Result<Self> {
        Ok(Self(Histogram::new_with_bounds(1, 60_000_000_000, 3)?))
    }

    /// Adds a time.
    pub(super) fn add(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanoseconds);
    }

    /// The sample of this number of operations in this time.
    pub(super) fn sample(&self, count: usize, spent: Duration) -> Result<Sample> {
        let count = f64::from(u32::try_from(count)?);
        let quantile = |at| Duration::from_nanos(self.0.value_at_quantile(at)).as_secs_f64() * 1e6;
        let (p50_us, p99_us) = (quantile(0.5), quantile(0.99));
        let rate = count / spent.as_secs_f64().max(1e-9);
        Ok(Sample { rate, p50_us, p99_us, ..Sample::default() })
    }
}

/// Appends 4 KiB to a file repeatedly, and syncs each time (fdatasync).
pub(super) fn append(folder: &Path, measure: Duration) -> Result<Sample> {
    let path = folder.join("append");
    let mut file = File::create(&path)?;
    let (started, mut times, mut count) = (Instant::now(), Times::new()?, 0);
    while started.elapsed() < measure {
        let began = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.add(began.elapsed());
        count += 1;
    }
    let sample = times.sample(count, started.elapsed());
    fs::remove_file(&path)?;
    sample
}
