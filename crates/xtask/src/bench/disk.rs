//! What the disk allows: the time of one durable append of a page.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::report::median;

/// The median time of appending 4 KiB to a file and having it on the disk (fdatasync).
pub(super) fn durable_append(directory: &Path, measure: Duration) -> Result<Duration> {
    let path = directory.join("append");
    let mut file = File::create(&path)?;
    let block = [7; 4096];
    let (started, mut taken) = (Instant::now(), Vec::new());
    while started.elapsed() < measure {
        let began = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        taken.push(began.elapsed().as_secs_f64());
    }
    fs::remove_file(&path)?;
    median(taken).map(Duration::from_secs_f64).context("no append ended in time")
}
